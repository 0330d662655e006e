"""Records: messages that a binary format has made into mappings, on their way to typed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headwater.intake.converted import Converted
from headwater.intake.dead import Letter
from headwater.intake.layout import Layout
from headwater.intake.messages import Messages, Poison, Records
from headwater.intake.parsed import Parsed
from headwater.intake.rows import find_unknown
from headwater.intake.values import column_of


@dataclass(frozen=True)
class RecordOriginals:
    """The messages that rows were read from; `indices` are those of the rows among them."""

    messages: Messages
    rows: Sequence[Mapping[str, Any]]
    indices: Sequence[int]
    where: str

    def content(self, row: int) -> bytes:
        """The message as it was."""
        return _content(self.messages, self.indices[row])

    def value(self, row: int, name: str) -> Any:
        """The value under that name."""
        return self.rows[row].get(name)

    def index(self, row: int) -> int:
        """The message's index among those that came with it."""
        return self.indices[row]

    def position(self, row: int) -> str:
        """The sequence that the message stands in, and its number there."""
        return _position(self.messages, self.where, self.indices[row])


def read_records(layout: Layout, records: Records, where: str) -> Parsed:
    """The rows of records, and letters for those that could not be read."""
    messages, rows, indices, letters = records.messages, [], [], []
    for index, row in enumerate(records.rows):
        if isinstance(row, Poison):
            at = _position(messages, where, index)
            letters.append(Letter(index, _content(messages, index), row.reason, row.error, at))
        else:
            rows.append(row)
            indices.append(index)
    pairs = enumerate(zip(layout.names, layout.kinds, strict=True))
    columns = [column_of(_values(layout, at, rows), kind) for at, (_, kind) in pairs]
    unknown = find_unknown(layout, rows, indices, columns)
    for name, values in messages.beside.items():
        columns[layout.names.index(name)] = Converted(values.take(pa.array(indices, pa.int64())))
    return Parsed(columns, RecordOriginals(messages, rows, indices, where), letters, explicit=True, unknown=unknown)


def _values(layout: Layout, at: int, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The values of a column, or of one under an alias; its default where a record has no field for it."""
    name = layout.names[at]
    if at not in layout.defaults:
        return [row.get(name) for row in rows]
    default, names = layout.defaults[at].as_py(), layout.names_of(name)
    return [row.get(name) if any(one in row for one in names) else default for row in rows]


def _content(messages: Messages, index: int) -> bytes:
    return messages.raw[index].as_py() or b""


def _position(messages: Messages, where: str, index: int) -> str:
    return f"{where}:{messages.offsets[index]}"
