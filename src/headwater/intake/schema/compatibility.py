"""Compatibility: which earlier versions a new schema must get on with, and in which direction.

`BACKWARD` is what readers need that are updated first: the new schema reads what was written with the old one.
`FORWARD` is what writers need that are updated first: the old schema reads what is written with the new one. `FULL` is
both. Each is about the latest version, or, `…_TRANSITIVE`, about all of them. `NONE` asks for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from headwater.intake.schema.written import Written


class Level(StrEnum):
    """How much compatibility a subject asks for."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def is_transitive(self) -> bool:
        """Whether it is about all versions, not only the latest."""
        return self.endswith("_TRANSITIVE")


@dataclass(frozen=True)
class Version:
    """An earlier schema and its number."""

    number: int
    schema: Written


def find_problems(level: Level, new: Written, earlier: Sequence[Version]) -> list[str]:
    """What keeps a new schema from getting on with earlier ones, oldest first; ValueError if one isn't a schema."""
    if level is Level.NONE:
        return []
    found: list[str] = []
    for version in reversed(earlier if level.is_transitive else earlier[-1:]):
        if not level.startswith("FORWARD"):
            found += [f"reading version {version.number}: {why}" for why in reading_problems(new, version.schema)]
        if not level.startswith("BACKWARD"):
            found += [f"read by version {version.number}: {why}" for why in reading_problems(version.schema, new)]
    return found


def reading_problems(reader: Written, writer: Written) -> list[str]:
    """Where a reader can't read what a writer writes; nothing if it can."""
    if reader.language != writer.language:
        return [f"it is {writer.language}, and the reader's is {reader.language}"]
    return _rules(reader.language)(reader, writer)


def _rules(language: str) -> Callable[[Written, Written], list[str]]:
    if language == "AVRO":
        from headwater.intake.schema.avro_reading import avro_problems

        return avro_problems
    if language == "JSON":
        from headwater.intake.schema.json_reading import json_problems

        return json_problems
    from headwater.intake.schema.protobuf_reading import protobuf_problems

    return protobuf_problems
