"""Events of an earlier version on their way in: read by the columns of that version, then upcast, once and for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import NotUpcast, UpcastFailed, WrongType
from headwater.intake.converted import Converted
from headwater.intake.dead import Letter, shorten
from headwater.intake.layout import layout_of
from headwater.intake.parsed import Originals, Parsed
from headwater.intake.resolve import misfits, resolve
from headwater.intake.values import describe_misfit
from headwater.log.upcast import Upcasts
from headwater.model import Stream, Table, Topic

_PIECES = 8


@dataclass(frozen=True)
class _Some:
    """The events that some parsed rows were made from; `rows` are their indices."""

    originals: Originals
    rows: Sequence[int]

    def content(self, row: int) -> bytes:
        return self.originals.content(self.rows[row])

    def value(self, row: int, name: str) -> Any:
        return self.originals.value(self.rows[row], name)

    def index(self, row: int) -> int:
        return self.originals.index(self.rows[row])

    def position(self, row: int) -> str:
        return self.originals.position(self.rows[row])


class Earlier:
    """One earlier version of a topic: how its events are laid out, and how they become today's."""

    def __init__(self, topic: Topic, version: int) -> None:
        self._upcasts = Upcasts(topic, version)
        self._today = layout_of(topic)
        self.layout = layout_of(_declared(topic, self._upcasts))

    def brought(self, parsed: Parsed, beside: Mapping[str, pa.Array]) -> Parsed:
        """The rows in today's columns, with letters for rows that don't fit their version or that an upcast fails on.

        `beside` are the columns that come from beside the events, which no upcast makes.
        """
        columns, refused = resolve(self.layout, parsed), self._misfits(parsed)
        good = [row for row in range(len(columns[0].values)) if row not in refused]
        names = self.layout.names[: self.layout.payload]
        rows = pa.Table.from_arrays([column.values for column in columns[: len(names)]], names=list(names))
        parts: list[pa.Table] = []
        kept: list[int] = []
        self._upcast(rows.take(pa.array(good, pa.int64())), good, parts, kept, refused)
        originals = parsed.originals
        letters = [
            Letter(originals.index(row), originals.content(row), reason, error, originals.position(row))
            for row, (error, reason) in refused.items()
        ]
        some = _Some(originals, kept)
        made = self._columns(parts, columns, some, beside)
        return Parsed(made, some, [*parsed.letters, *letters], explicit=True, unknown=parsed.unknown)

    def _misfits(self, parsed: Parsed) -> dict[int, tuple[type[Any], str]]:
        """Why rows aren't rows of their version."""
        reasons: dict[int, tuple[type[Any], str]] = {}
        for at, bad in misfits(self.layout, parsed):
            name, kind = self.layout.names[at], self.layout.kinds[at]
            for row in pc.indices_nonzero(bad).to_pylist():
                reason = describe_misfit(name, parsed.originals.value(row, name), kind, shorten)
                reasons[row] = WrongType, f"{reasons[row][1]}; {reason}" if row in reasons else reason
        return reasons

    def _upcast(
        self,
        rows: pa.Table,
        indices: Sequence[int],
        parts: list[pa.Table],
        kept: list[int],
        refused: dict[int, tuple[type[Any], str]],
    ) -> None:
        """Upcast rows; if it fails on them, ever smaller pieces, until those that it fails on stand alone."""
        try:
            parts.append(self._upcasts(rows))
            kept += indices
        except UpcastFailed as failed:
            if len(indices) == 1:
                refused[indices[0]] = NotUpcast, f"{failed.summary}. {failed.detail or ''}".strip()
                return
            step = -(-len(indices) // _PIECES)
            for at in range(0, len(indices), step):
                self._upcast(rows.slice(at, step), indices[at : at + step], parts, kept, refused)

    def _columns(
        self, parts: list[pa.Table], columns: list[Converted], some: _Some, beside: Mapping[str, pa.Array]
    ) -> list[Converted]:
        today, count = self._today, len(some.rows)
        whole = pa.concat_tables(parts).combine_chunks() if parts else None
        made = []
        for name, kind in zip(today.names, today.kinds, strict=True):
            if name in beside:
                indices = [some.index(row) for row in range(count)]
                made.append(Converted(beside[name].take(pa.array(indices, pa.int64()))))
            elif whole is not None and name in whole.column_names and count:
                made.append(Converted(whole[name].chunk(0)))
            else:
                made.append(Converted(pa.nulls(count, kind)))
        if today.is_table:
            operations = columns[self.layout.operation].values
            made[today.operation] = Converted(operations.take(pa.array(some.rows, pa.int64())))
        return made


def _declared(topic: Topic, upcasts: Upcasts) -> Topic:
    """The topic as it was in an earlier version, without what only today's rows are held against."""
    columns = tuple(replace(column, nullable=True) for column in upcasts.columns)
    kept = next((column for column in columns if column.name == topic.keeps_in), None)
    has_no_room = topic.keeps_in is not None and (kept is None or not pa.types.is_map(kept.type))
    unknown = "ignore" if has_no_room else topic.unknown_fields
    if isinstance(topic, Table):
        key = tuple(name for name in topic.primary_key if name in {column.name for column in columns})
        return Table(name=topic.name, columns=columns, primary_key=key, unknown_fields=unknown, intake=topic.intake)
    return Stream(name=topic.name, columns=columns, unknown_fields=unknown, intake=topic.intake)
