"""CSV: a header and records, read by Arrow's reader as text, which `convert` takes into the declared types.

An empty field is NULL; an empty field in quotes is an empty string. A field of a nested type holds JSON.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from headwater.errors import ArgumentRefused, UnreadableEvent
from headwater.intake.batch import Batch, Part, merge
from headwater.intake.convert import Converted, convert
from headwater.intake.dead import Letter
from headwater.intake.files import Chunk, Records
from headwater.intake.json_lines import parse_value
from headwater.intake.layout import Layout
from headwater.intake.lines import Lines, examine, join, read_in_pieces
from headwater.intake.values import column_of

_DELIMITERS = {"csv": ",", "tsv": "\t"}


@dataclass(frozen=True)
class Header:
    """The columns of a file, and how its fields are separated."""

    names: tuple[str, ...]
    delimiter: str

    def fields(self, record: str) -> list[str]:
        """The fields of one record."""
        return next(csv.reader(record.splitlines(keepends=True), delimiter=self.delimiter), [])


@dataclass(frozen=True)
class CsvOriginals:
    """The records that rows were read from."""

    lines: Lines
    places: pa.Array
    header: Header

    def content(self, row: int) -> bytes:
        """The record as it was."""
        found: bytes = self.lines.raw[self.index(row)].as_py()
        return found

    def value(self, row: int, name: str) -> Any:
        """The text of the field."""
        return self.header.fields(self.lines.texts[self.index(row)].as_py())[self.header.names.index(name)]

    def index(self, row: int) -> int:
        """The record's place in its chunk."""
        place: int = self.places[row].as_py()
        return place

    def position(self, row: int) -> str:
        """The file and the number of the line that the record starts on."""
        return self.lines.position(self.index(row))


class CsvLines:
    """Reads chunks of CSV files for one topic."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def read(self, chunk: Chunk, where: str) -> Iterator[Batch]:
        """The rows of a chunk, and letters for the records that aren't rows."""
        assert isinstance(chunk.data, Records)
        header = self._header(chunk, where)
        records = _split_where_quotes_are_stray(chunk.data, header, self._table)
        lines, letters = examine(pa.array(records.raw, pa.binary()), where, records.numbers)
        found = pc.indices_nonzero(lines.present())
        texts = lines.texts.take(found)
        parts = [Part(self._columns(None, header, 0), found.slice(0, 0))]
        for start, stop, table in read_in_pieces(len(texts), lambda a, b: self._table(texts.slice(a, b - a), header)):
            places = found.slice(start, stop - start)
            if table is not None:
                parts.append(Part(self._columns(table, header, stop - start), places))
            else:
                careful, refused = self._one_by_one(lines, places, header)
                parts += careful
                letters += refused
        whole = merge(parts)
        yield Batch(whole.columns, CsvOriginals(lines, whole.lines, header), letters)

    def _header(self, chunk: Chunk, where: str) -> Header:
        assert isinstance(chunk.data, Records)
        text = chunk.data.header.decode("utf-8", "replace").rstrip("\r")
        delimiter = _DELIMITERS[chunk.format]
        names = tuple(name.strip() for name in next(csv.reader([text], delimiter=delimiter), []))
        missing = [name for name in self._layout.needed if name not in names]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if missing or doubled:
            raise _plainly_wrong(self._layout, where, names, missing, doubled)
        return Header(names, delimiter)

    def _table(self, texts: pa.Array, header: Header) -> pa.Table | None:
        """The records as text columns; None if Arrow's reader refuses, or finds more or fewer rows than records."""
        wanted = [name for name in self._layout.names if name in header.names]
        buffer = join(texts)
        try:
            table = pa_csv.read_csv(
                pa.BufferReader(buffer),
                read_options=pa_csv.ReadOptions(
                    column_names=list(header.names), use_threads=False, block_size=buffer.size + 1
                ),
                parse_options=pa_csv.ParseOptions(delimiter=header.delimiter, newlines_in_values=True),
                convert_options=pa_csv.ConvertOptions(
                    column_types={name: pa.string() for name in header.names},
                    include_columns=wanted,
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid:
            return None
        return table if table.num_rows == len(texts) else None

    def _columns(self, table: pa.Table | None, header: Header, count: int) -> list[Converted]:
        columns = []
        for name, kind in zip(self._layout.names, self._layout.kinds, strict=True):
            if table is None or name not in header.names:
                columns.append(Converted(pa.nulls(count, kind)))
            elif pa.types.is_nested(kind):
                columns.append(_from_json(table.column(name), kind))
            else:
                columns.append(convert(table.column(name), kind, text=True))
        return columns

    def _one_by_one(self, lines: Lines, places: pa.Array, header: Header) -> tuple[list[Part], list[Letter]]:
        parts, letters = [], []
        for at, place in enumerate(places.to_pylist()):
            table = self._table(lines.texts.slice(place, 1), header)
            if table is None:
                letters.append(lines.letter(place, UnreadableEvent, _why(header, lines.texts[place].as_py())))
            else:
                parts.append(Part(self._columns(table, header, 1), places.slice(at, 1)))
        return parts, letters


def _why(header: Header, record: str) -> str:
    count, expected = len(header.fields(record)), len(header.names)
    if count == expected:
        return "the record is not CSV: a quote or a line end is out of place"
    return f"the record has {count} {'field' if count == 1 else 'fields'}, and the header has {expected}"


def _split_where_quotes_are_stray(records: Records, header: Header, read: Any) -> Records:
    """The records, with those cut into their lines again that make no record together."""
    if not any(b"\n" in record for record in records.raw):
        return records
    raw: list[bytes] = []
    numbers: list[int] = []
    for record, number in zip(records.raw, records.numbers, strict=True):
        parts = [record] if b"\n" not in record or _is_record(record, header, read) else record.split(b"\n")
        raw += parts
        numbers += range(number, number + len(parts))
    return Records(records.header, raw, numbers)


def _is_record(record: bytes, header: Header, read: Any) -> bool:
    try:
        return read(pa.array([record.decode()]), header) is not None
    except UnicodeDecodeError:
        return False


def _from_json(column: pa.ChunkedArray, kind: pa.DataType) -> Converted:
    return column_of([None if text is None else parse_value(text) for text in column.to_pylist()], kind)


def _plainly_wrong(
    layout: Layout, where: str, names: Sequence[str], missing: Sequence[str], doubled: Sequence[str]
) -> ArgumentRefused:
    quoted = ", ".join(f'"{name}"' for name in missing or doubled)
    problem = "has no column" if missing else "names twice the column"
    return ArgumentRefused(
        f'the header of "{where}" {problem} {quoted}',
        detail=f'The header is {", ".join(names)}; "{layout.topic}" has {", ".join(layout.names[: layout.payload])}.',
        hint="check that this is the file you meant, and that its first line names its columns.",
        topic=layout.topic,
    )
