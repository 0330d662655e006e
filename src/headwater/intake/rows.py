"""Rows that came as values: mappings and dataclass instances, or Arrow tables and whatever exports itself as Arrow."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from headwater.errors import ArgumentRefused, TooLarge, UnreadableEvent
from headwater.intake.convert import convert
from headwater.intake.converted import Converted
from headwater.intake.dead import Letter
from headwater.intake.layout import Layout
from headwater.intake.parsed import Parsed
from headwater.intake.unknown import Unknown, fields_of_rows, have_none, kept_fields, masks_of_table, names_by_row
from headwater.intake.values import as_mapping, column_of
from headwater.json_text import row_as_json

_ROWS_AT_ONCE = 1_048_576
MOST_DEAD_BYTES = 256 * 1024 * 1024
"""The most bytes that the dead letters of so many rows have together; spelled out, a small table can be many."""


@dataclass(frozen=True)
class RowOriginals:
    """The mappings that rows were made from; `indices` is None if every one of them is a row."""

    rows: Sequence[Mapping[str, Any]]
    indices: Sequence[int] | None
    where: str
    first: int = 0
    numbered: bool = False

    def content(self, row: int) -> bytes:
        """The row as JSON."""
        return row_as_json(self.rows[row])

    def value(self, row: int, name: str) -> Any:
        """The value as it was given."""
        return self.rows[row].get(name)

    def index(self, row: int) -> int:
        """The row's index in the list."""
        return row if self.indices is None else self.indices[row]

    def position(self, row: int) -> str:
        """`rows[3]`, or `orders.avro:4` for a file."""
        return _position(self.where, self.first + self.index(row), self.numbered)


def _position(where: str, number: int, numbered: bool) -> str:
    return f"{where}:{number}" if numbered else f"{where}[{number}]"


def read_rows(layout: Layout, rows: Sequence[Any], where: str, first: int = 0, *, numbered: bool = False) -> Parsed:
    """The rows of mappings and dataclass instances; anything else in the list becomes a letter.

    They are `numbered` if they are of a file.
    """
    if all(type(row) is dict for row in rows):
        columns, unknown = read_mappings(layout, rows, range(len(rows)))
        return Parsed(columns, RowOriginals(rows, None, where, first, numbered), unknown=unknown)
    kept, indices, letters = [], [], []
    for index, row in enumerate(rows):
        if isinstance(row, Mapping) or (dataclasses.is_dataclass(row) and not isinstance(row, type)):
            kept.append(as_mapping(row))
            indices.append(index)
        else:
            reason = f"the row is a value of type {type(row).__name__}, not a mapping of columns to values"
            position = _position(where, first + index, numbered)
            letters.append(Letter(index, row_as_json(row), reason, UnreadableEvent, position))
    columns, unknown = read_mappings(layout, kept, indices)
    return Parsed(columns, RowOriginals(kept, indices, where, first, numbered), letters, unknown=unknown)


def read_mappings(
    layout: Layout, rows: Sequence[Mapping[str, Any]], indices: Sequence[int]
) -> tuple[list[Converted], Unknown]:
    """The columns of mappings that stand at these indices, and the fields that none of them is."""
    pairs = zip(layout.names, layout.kinds, strict=True)
    columns = [column_of([row.get(name) for row in rows], kind) for name, kind in pairs]
    return columns, find_unknown(layout, rows, indices, columns)


def find_unknown(
    layout: Layout, rows: Sequence[Mapping[str, Any]], indices: Sequence[int], columns: list[Converted]
) -> Unknown:
    """The fields of mappings that no column declares; they are put into the column that keeps them, if one does."""
    if have_none(rows, layout.known):
        return Unknown()
    if layout.kept_in is not None:
        name, kind = layout.names[layout.kept_in], layout.kinds[layout.kept_in]
        columns[layout.kept_in] = column_of([kept_fields(row, layout.known, row.get(name)) for row in rows], kind)
    return fields_of_rows(zip(indices, rows, strict=True), layout.known, named=layout.refuses_unknown)


@dataclass(frozen=True)
class ArrowOriginals:
    """The table that rows were made from."""

    table: pa.Table
    where: str
    first: int
    numbered: bool
    topic: str
    kept: list[int] = field(default_factory=lambda: [0])
    """The bytes that the rows asked for have together."""

    def content(self, row: int) -> bytes:
        """The row as JSON."""
        columns = zip(self.table.column_names, self.table.columns, strict=True)
        content = row_as_json({name: _value(column[row]) for name, column in columns})
        self.kept[0] += len(content)
        if self.kept[0] > MOST_DEAD_BYTES:
            raise TooLarge(
                f'the events for "{self.topic}" that can\'t be read are more than {MOST_DEAD_BYTES:,} bytes',
                detail=f"The last one of them is at {self.position(row)}. Nothing was appended.",
                hint="See what is wrong with one of them, or append fewer at a time.",
            )
        return content

    def value(self, row: int, name: str) -> Any:
        """The value as it was given; what Python has no value for is shown as text."""
        at = self.table.schema.get_field_index(name)
        return None if at < 0 else _value(self.table.column(at)[row])

    def index(self, row: int) -> int:
        """The row's index in the table."""
        return row

    def position(self, row: int) -> str:
        """`rows[3]` for a table, `orders.parquet:4` for a file."""
        return _position(self.where, self.first + row, self.numbered)


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError, KeyError, TypeError, NotImplementedError, pa.ArrowException):
        return _as_text(scalar)


def _as_text(scalar: pa.Scalar) -> str:
    """A string that isn't UTF-8 with the odd bytes escaped, an instant with nanoseconds as it is printed."""
    try:
        return _printed(scalar)
    except (ValueError, OverflowError, KeyError, TypeError, NotImplementedError, pa.ArrowException):
        return f"a value of type {scalar.type}"


def _printed(scalar: pa.Scalar) -> str:
    if pa.types.is_timestamp(scalar.type) or pa.types.is_duration(scalar.type) or pa.types.is_time(scalar.type):
        return str(scalar.cast(pa.string()).as_py())
    held = scalar.as_buffer() if hasattr(scalar, "as_buffer") else str(scalar).encode()
    return bytes(held).decode("utf-8", "backslashreplace")


def read_table(layout: Layout, table: pa.Table, where: str, first: int | None = None) -> Iterator[Parsed]:
    """The rows of an Arrow table, in parts. Columns are found by name; one that isn't there is NULL in every row.

    `first` is the number of the table's first row if it is part of a file.
    """
    doubled = {name for name in table.column_names if table.column_names.count(name) > 1} & set(layout.names)
    if doubled:
        raise ArgumentRefused(f'{where} has more than one column "{min(doubled)}"', topic=layout.topic)
    for start in range(0, table.num_rows, _ROWS_AT_ONCE):
        # not more than there are: a table without columns would have them then
        part = table.slice(start, min(_ROWS_AT_ONCE, table.num_rows - start))
        originals = ArrowOriginals(part, where, (first or 0) + start, first is not None, layout.topic)
        columns = [_column(part, name, kind) for name, kind in zip(layout.names, layout.kinds, strict=True)]
        yield Parsed(columns, originals, unknown=find_unknown_columns(layout, part, columns))


def find_unknown_columns(layout: Layout, table: pa.Table, columns: list[Converted]) -> Unknown:
    """The columns of a table that the topic doesn't declare, as `find_unknown` does for mappings."""
    masks = masks_of_table(table, layout.known)
    named = names_by_row(masks) if masks and (layout.refuses_unknown or layout.kept_in is not None) else {}
    if named and layout.kept_in is not None:
        name, kind = layout.names[layout.kept_in], layout.kinds[layout.kept_in]
        rows = [_plain_row(table, row) if row in named else {} for row in range(table.num_rows)]
        own = _plain_values(table, name)
        kept = [kept_fields(row, layout.known, held) for row, held in zip(rows, own, strict=True)]
        columns[layout.kept_in] = column_of(kept, kind)
    counts = Counter({name: mask.true_count for name, mask in masks.items()})
    return Unknown(counts, named if layout.refuses_unknown else {})


def _plain_row(table: pa.Table, row: int) -> dict[str, Any]:
    return {name: _value(column[row]) for name, column in zip(table.column_names, table.columns, strict=True)}


def _plain_values(table: pa.Table, name: str) -> list[Any]:
    at = table.schema.get_field_index(name)
    held = [None] * table.num_rows if at < 0 else [_value(value) for value in table.column(at)]
    return [dict(value) if isinstance(value, list) else value for value in held]


def _column(table: pa.Table, name: str, kind: pa.DataType) -> Converted:
    if name not in table.column_names:
        return Converted(pa.nulls(table.num_rows, kind))
    return convert(table.column(name), kind)


def as_table(data: Any) -> pa.Table | None:
    """The table that `data` is or can export itself as (pandas, Polars, DuckDB, …); None if it can't.

    A pandas frame can't when a column mixes classes.
    """
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    if hasattr(data, "__arrow_c_stream__"):
        try:
            return pa.RecordBatchReader.from_stream(data).read_all()
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            return None
    if hasattr(data, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(data)])
    return None


def frame_rows(frame: Any) -> list[dict[str, Any]]:
    """The rows of a pandas frame one by one, with its missing values as None."""
    rows: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return rows
