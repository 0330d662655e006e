"""A table: the fold of a changelog by key."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.model.topic import Topic


@dataclass(frozen=True, kw_only=True)
class Table(Topic):
    """The newest row per primary key of a changelog; *versioned* when its changes have event time and watermark."""

    primary_key: tuple[str, ...]

    @property
    def versioned(self) -> bool:
        """Whether `FOR SYSTEM_TIME AS OF` can ask for the row as it was at an instant."""
        return self.time is not None and self.watermark is not None
