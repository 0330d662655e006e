"""The levels of compatibility that a subject may ask for; `compatibility` says what they mean."""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """The compatibility that a subject asks for."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def is_transitive(self) -> bool:
        """Tells whether it is about all versions, not only the latest."""
        return self.endswith("_TRANSITIVE")
