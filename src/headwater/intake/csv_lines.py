"""CSV: a header and records, read by Arrow's reader as text, which `convert` takes into the declared types.

An empty field is NULL; an empty field in quotes is an empty string. A field of a nested type holds JSON.
"""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from headwater.errors import ArgumentRefused, UnreadableEvent
from headwater.intake.chunk import Chunk, Records
from headwater.intake.convert import convert
from headwater.intake.converted import Converted
from headwater.intake.dead import Letter
from headwater.intake.json_lines import examine_messages, parse_value
from headwater.intake.layout import Layout
from headwater.intake.lines import LineOriginals, Lines, examine, join, read_in_pieces
from headwater.intake.messages import Separated
from headwater.intake.parsed import Parsed, Part, merge
from headwater.intake.rows import find_unknown_columns
from headwater.intake.unknown import Unknown
from headwater.intake.values import column_of

_DELIMITERS = {"csv": ",", "tsv": "\t"}


@dataclass(frozen=True)
class Header:
    """The columns of a file, and how its fields are separated."""

    names: tuple[str, ...]
    delimiter: str

    def fields(self, record: str) -> list[str]:
        """The fields of one record."""
        return _fields(record, self.delimiter)

    def leaves_open(self, record: str) -> bool:
        """Tells whether a quoted field starts in the record and doesn't end in it."""
        reader = csv.reader(io.StringIO(record, newline=""), delimiter=self.delimiter, strict=True)
        try:
            deque(reader, maxlen=0)
        except csv.Error as error:
            return "unexpected end of data" in str(error)
        return False


def _fields(record: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(record, newline=""), delimiter=delimiter), [])
    except csv.Error:  # a field longer than Python's reader takes
        return record.split(delimiter)


@dataclass(frozen=True)
class CsvOriginals(LineOriginals):
    """The records that rows were read from, each at the number of the line that it starts on."""

    header: Header

    def value(self, row: int, name: str) -> Any:
        """The text of the field."""
        fields = self.header.fields(self.lines.texts[self.index(row)].as_py())
        return dict(zip(self.header.names, fields, strict=False)).get(name)


class CsvLines:
    """Reads chunks of CSV files for one topic."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def read(self, chunk: Chunk, where: str) -> Iterator[Parsed]:
        """The rows of a chunk, and letters for the records that aren't rows."""
        assert isinstance(chunk.data, Records)
        header = self._header(chunk, where)
        records = _split_where_quotes_are_stray(chunk.data, header, self._table)
        examined, letters = examine(pa.array(records.raw, pa.binary()), where, records.numbers)
        lines = _without_line_end(examined)
        whole, refused = self._read(lines, header)
        originals = CsvOriginals(lines, whole.lines, header)
        yield Parsed(whole.columns, originals, letters + refused, unknown=whole.unknown)

    def read_messages(self, separated: Separated, where: str) -> Parsed:
        """The rows of messages, each one record that may hold newlines, and letters for all others, empty ones too."""
        messages, header = separated.messages, Header(separated.names, separated.delimiter)
        lines, letters = examine_messages(messages, where, _without_line_end)
        whole, refused = self._read(lines, header)
        columns = list(whole.columns)
        for name, values in messages.beside.items():
            columns[self._layout.names.index(name)] = Converted(values.take(whole.lines))
        return Parsed(columns, CsvOriginals(lines, whole.lines, header), letters + refused, unknown=whole.unknown)

    def _read(self, lines: Lines, header: Header) -> tuple[Part, list[Letter]]:
        """The rows of records, and letters for those that aren't rows; blank ones are neither."""
        present, odd = lines.present(), _with_odd_quotes(lines.texts)
        parts = [self._part(None, header, pa.array([], pa.uint64()))]
        doubtful = pc.indices_nonzero(pc.and_(present, odd)).to_pylist()
        plain = pc.indices_nonzero(pc.and_not(present, odd))
        texts = lines.texts.take(plain)
        for start, stop, table in read_in_pieces(len(texts), lambda a, b: self._table(texts.slice(a, b - a), header)):
            indices = plain.slice(start, stop - start)
            if table is None:
                doubtful += indices.to_pylist()
            else:
                parts.append(self._part(table, header, indices))
        careful, refused = self._one_by_one(lines, doubtful, header)
        return merge(parts + careful), refused

    def _header(self, chunk: Chunk, where: str) -> Header:
        assert isinstance(chunk.data, Records)
        text = chunk.data.header.decode("utf-8", "replace").rstrip("\r")
        delimiter = _DELIMITERS[chunk.format]
        fields = _fields(text, delimiter)
        names = tuple(name if name in self._layout.names else name.strip() for name in fields)
        missing = [name for name in self._layout.needed if not set(names) & set(self._layout.names_of(name))]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if missing or doubled:
            raise _plainly_wrong(self._layout, where, names, missing, doubled)
        return Header(names, delimiter)

    def _table(self, texts: pa.Array, header: Header) -> pa.Table | None:
        """The records as text columns; None if Arrow's reader refuses, or finds more or fewer rows than records."""
        wanted = list(header.names)
        block = join(texts).to_pybytes() + b"\n"  # without it the reader takes a last empty field for a quoted one
        try:
            table = pa_csv.read_csv(
                pa.BufferReader(block),
                read_options=pa_csv.ReadOptions(
                    column_names=list(header.names), use_threads=False, block_size=len(block) + 1
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

    def _part(self, table: pa.Table | None, header: Header, indices: pa.Array) -> Part:
        columns = self._columns(table, header, len(indices))
        if table is None or set(header.names) <= set(self._layout.names):
            return Part(columns, indices)
        unknown = find_unknown_columns(self._layout, table, columns)
        numbers = indices.to_pylist() if unknown.named else []
        named = {numbers[row]: names for row, names in unknown.named.items()}
        return Part(columns, indices, Unknown(unknown.counts, named))

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

    def _one_by_one(self, lines: Lines, indices: Sequence[int], header: Header) -> tuple[list[Part], list[Letter]]:
        parts, letters = [], []
        for index in indices:
            record = lines.texts[index].as_py()
            table = None if header.leaves_open(record) else self._table(lines.texts.slice(index, 1), header)
            if table is None:
                letters.append(lines.letter(index, UnreadableEvent, _why(header, record)))
            else:
                parts.append(self._part(table, header, pa.array([index], pa.uint64())))
        return parts, letters


def _without_line_end(lines: Lines) -> Lines:
    return replace(lines, texts=pc.ascii_rtrim(lines.texts, "\r\n"))


def _with_odd_quotes(texts: pa.Array) -> pa.Array:
    """Records in which Arrow's reader may take the end of the text for the end of a quoted field."""
    return pc.equal(pc.bit_wise_and(pc.count_substring(texts, '"'), 1), 1).fill_null(False)


def _why(header: Header, record: str) -> str:
    if header.leaves_open(record):
        return "the record is not CSV: a quote is not closed"
    count, expected = len(header.fields(record)), len(header.names)
    if count == expected:
        return "the record is not CSV: a line end is out of place"
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
