"""Compatibility: which earlier versions a new schema must get on with, and in which direction.

`BACKWARD` is what readers need that are updated first: the new schema reads what was written with the old one.
`FORWARD` is what writers need that are updated first: the old schema reads what is written with the new one. `FULL` is
both. Each is about the latest version, or, `…_TRANSITIVE`, about all of them. `NONE` asks for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headwater.schemas.level import Level
from headwater.schemas.written import Written


@dataclass(frozen=True)
class Version:
    """An earlier schema and its number."""

    number: int
    schema: Written


def find_problems(level: Level, new: Written, earlier: Sequence[Version]) -> list[str]:
    """The problems of a new schema with earlier ones, oldest first; ValueError if one isn't a schema."""
    if level is Level.NONE:
        return []
    problems: list[str] = []
    for version in reversed(earlier if level.is_transitive else earlier[-1:]):
        if not level.startswith("FORWARD"):
            problems += [f"reading version {version.number}: {why}" for why in reading_problems(new, version.schema)]
        if not level.startswith("BACKWARD"):
            problems += [f"read by version {version.number}: {why}" for why in reading_problems(version.schema, new)]
    return problems


def reading_problems(reader: Written, writer: Written) -> list[str]:
    """Where a reader can't read what a writer writes; nothing if it can."""
    if reader.language != writer.language:
        return [f"it is {writer.language}, and the reader's is {reader.language}"]
    return _rules(reader.language)(reader, writer)


def _rules(language: str) -> Callable[[Written, Written], list[str]]:
    if language == "AVRO":
        from headwater.schemas.avro_reading import avro_problems

        return avro_problems
    if language == "JSON":
        from headwater.schemas.json_reading import json_problems

        return json_problems
    from headwater.schemas.protobuf_reading import protobuf_problems

    return protobuf_problems
