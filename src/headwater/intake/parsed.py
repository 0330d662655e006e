"""Events as they were parsed: columns in declared types, and the way back from each row to what it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from headwater.intake.converted import Converted, concatenate
from headwater.intake.dead import Letter
from headwater.intake.unknown import Unknown


class Originals(Protocol):
    """The events that parsed rows were made from. Asked only for rows that become dead letters."""

    def content(self, row: int) -> bytes:
        """The bytes of the row as they came, or the JSON of what came as values."""

    def value(self, row: int, name: str) -> Any:
        """The value as it came."""

    def index(self, row: int) -> int:
        """The row's index among everything that came with it."""

    def position(self, row: int) -> str:
        """Where the row came from, for people: `orders.jsonl:17`."""


@dataclass(frozen=True)
class Parsed:
    """Rows that could be read, and letters for what could not. `columns` follow the layout's names.

    If `explicit`, a writer's schema says which fields there are: its NULLs are values. `unknown` are the fields
    of the events that no column declares.
    """

    columns: list[Converted]
    originals: Originals
    letters: list[Letter] = field(default_factory=list)
    explicit: bool = False
    unknown: Unknown = field(default_factory=Unknown)


@dataclass(frozen=True)
class Part:
    """Columns of some of the lines of a block; `lines` says which. `unknown` are the fields that no column declares."""

    columns: list[Converted]
    lines: pa.Array
    unknown: Unknown = field(default_factory=Unknown)


def merge(parts: Sequence[Part]) -> Part:
    """The parts of one block as one, in the order of its lines."""
    if len(parts) == 1:
        return parts[0]
    lines = pa.concat_arrays([part.lines for part in parts])
    order = pc.sort_indices(lines)
    columns = [concatenate(column) for column in zip(*(part.columns for part in parts), strict=True)]
    unknown = Unknown()
    for part in parts:
        unknown.add(part.unknown)
    return Part([_take(column, order) for column in columns], lines.take(order), unknown)


def _take(column: Converted, order: pa.Array) -> Converted:
    return Converted(column.values.take(order), None if column.bad is None else column.bad.take(order))
