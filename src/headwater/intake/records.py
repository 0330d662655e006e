"""Records: messages that a binary format has made into mappings, on their way to typed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headwater.intake.batch import Batch
from headwater.intake.converted import Converted
from headwater.intake.dead import Letter
from headwater.intake.layout import Layout
from headwater.intake.messages import Messages, Poison, Records
from headwater.intake.rows import find_unknown
from headwater.intake.values import column_of


@dataclass(frozen=True)
class RecordOriginals:
    """The messages that rows were read from; `places` are those of the rows among them."""

    messages: Messages
    rows: Sequence[Mapping[str, Any]]
    places: Sequence[int]
    where: str

    def content(self, row: int) -> bytes:
        """The message as it was."""
        return _content(self.messages, self.places[row])

    def value(self, row: int, name: str) -> Any:
        """The value under that name."""
        return self.rows[row].get(name)

    def index(self, row: int) -> int:
        """The message's place among those that came with it."""
        return self.places[row]

    def position(self, row: int) -> str:
        """The sequence that the message stands in, and its number there."""
        return _position(self.messages, self.where, self.places[row])


def read_records(layout: Layout, records: Records, where: str) -> Batch:
    """The rows of records, and letters for those that could not be read."""
    messages, rows, places, letters = records.messages, [], [], []
    for place, row in enumerate(records.rows):
        if isinstance(row, Poison):
            at = _position(messages, where, place)
            letters.append(Letter(place, _content(messages, place), row.reason, row.error, at))
        else:
            rows.append(row)
            places.append(place)
    pairs = enumerate(zip(layout.names, layout.kinds, strict=True))
    columns = [column_of(_values(layout, at, rows), kind) for at, (_, kind) in pairs]
    unknown = find_unknown(layout, rows, places, columns)
    for name, values in messages.beside.items():
        columns[layout.names.index(name)] = Converted(values.take(pa.array(places, pa.int64())))
    return Batch(columns, RecordOriginals(messages, rows, places, where), letters, explicit=True, unknown=unknown)


def _values(layout: Layout, at: int, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The values of a column, or of one under an alias; its default where a record has no field for it."""
    name = layout.names[at]
    if at not in layout.defaults:
        return [row.get(name) for row in rows]
    default, names = layout.defaults[at].as_py(), layout.names_of(name)
    return [row.get(name) if any(one in row for one in names) else default for row in rows]


def _content(messages: Messages, place: int) -> bytes:
    return messages.raw[place].as_py() or b""


def _position(messages: Messages, where: str, place: int) -> str:
    return f"{where}:{messages.offsets[place]}"
