"""Parquet from outside: how much its rows will be is worked out from its pages before any of them is decompressed.

A file is a *footer*, which says where the columns of each row group are, and *pages*, each with a header of its own.
Few bytes can stand for many in three ways: a page that is compressed, a dictionary whose long value is named again and
again, and runs, of NULLs or of the same value. So the headers of all pages are read, and of dictionaries how long their
longest value is; what is said of sizes anywhere else is not believed. From that follows how many rows may be read at a
time within the *budget*. Where one row may be more than that, the file is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headwater.errors import TooLarge
from headwater.intake.arrow_stream import BATCH_OF_FILE, Budget, check_schema
from headwater.intake.thrift import CutShort, Reader, Struct

FOOTER_BYTES = 64 * 1024 * 1024
"""The most bytes that the footer of a file may have."""
COLUMN_CHUNKS = 1_000_000
"""The most columns that all row groups of a file may have together."""
PAGES = 10_000_000
_MAGIC = b"PAR1"
_TAIL = 8
_HEADERS = (1024, 16 * 1024, 16 * 1024 * 1024)
"""The bytes of a page's header that are looked at; more each time, if it has more."""
_READ_DICTIONARY = 16 * 1024 * 1024
"""Of a dictionary with more bytes, the longest value is taken to be all of it."""
_FIXED, _BYTE_ARRAY = 7, 6
_DATA, _INDEX, _DICTIONARY, _DATA_V2 = range(4)
_DICTIONARIES, _PREFIXES = (2, 8), 7
"""The encodings whose values are named by a dictionary, and the one whose values share their beginnings."""
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_WIDTH = 16
"""The most bytes that a number, an instant or the offset of a text takes."""


@dataclass(frozen=True)
class Page:
    """A page as it will be: so many values, so many bytes, and as many for `each` value beside them."""

    values: int
    bytes: int
    each: int

    def size(self, values: int) -> int:
        """The bytes that it takes, of which so many values are wanted."""
        return self.bytes + min(values, self.values) * self.each


@dataclass(frozen=True)
class ColumnChunk:
    """The pages of a column in one row group. In one that is `repeated`, nobody knows which rows a page has."""

    pages: list[Page]
    repeated: bool

    def size(self, rows: int) -> int:
        """The most bytes that so many rows, one behind the other, take."""
        if self.repeated:
            return sum(page.size(page.values) for page in self.pages)
        ends = list(accumulate(page.values for page in self.pages))
        first = held = most = 0
        for end, page in zip(ends, self.pages, strict=True):
            while ends[first] + rows <= end - page.values:  # too far before this page to be read with its first row
                held -= self.pages[first].size(rows)
                first += 1
            held += page.size(rows)
            most = max(most, held)
        return most


def batches(source: Any, batch_rows: int, budget: Budget = BATCH_OF_FILE) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The batches of a file with the number of rows that it has; `TooLarge` if they are more than the budget.

    ValueError, or whatever Arrow raises, if it is no file of Parquet. A source can be read from any place.
    """
    footer = _footer(source)
    leaves = list(_leaves(footer.get(2, [])))
    groups = _checked_groups(footer, source.size(), budget)
    sizes = [_rows_at_a_time(source, group, leaves, batch_rows, budget) for group in groups]
    with pq.ParquetFile(source) as file:
        check_schema(file.schema_arrow, budget)
        for number, rows in enumerate(sizes):
            for batch in file.iter_batches(batch_size=rows, row_groups=[number]):
                yield batch, file.metadata.num_rows


def _footer(source: Any) -> Struct:
    size = source.size()
    source.seek(max(0, size - _TAIL))
    tail = source.read(_TAIL)
    if tail[4:] != _MAGIC:
        raise ValueError("it doesn't end as a file of Parquet does")
    (length,) = struct.unpack("<I", tail[:4])
    if length > FOOTER_BYTES:
        raise _too_large(FOOTER_BYTES, "bytes of metadata")
    if length > size - _TAIL:
        raise ValueError("it is shorter than its metadata")
    source.seek(size - _TAIL - length)
    return Reader(source.read(length)).struct()


def _checked_groups(footer: Struct, size: int, budget: Budget) -> list[Struct]:
    groups: list[Struct] = footer.get(4, [])
    if len(footer.get(2, [])) > 4 * budget.columns:
        raise _too_large(budget.columns, "columns")
    if sum(len(group.get(1, [])) for group in groups) > COLUMN_CHUNKS:
        raise _too_large(COLUMN_CHUNKS, "columns of row groups")
    for group in groups:
        if sum(max(0, chunk.get(3, {}).get(7, 0)) for chunk in group.get(1, [])) > size:
            raise ValueError("a row group has more bytes than the file")
    return groups


def _leaves(schema: list[Struct]) -> Iterator[tuple[bool, int]]:
    """Of each column whether it is repeated, and how many bytes each of its values takes in any case."""
    open_groups: list[list[int]] = []  # of each how many children are still to come, and whether it is repeated
    for number, element in enumerate(schema):
        repeated = bool(open_groups and open_groups[-1][1]) or (element.get(3) == 2 and number > 0)
        if open_groups:
            open_groups[-1][0] -= 1
        if element.get(5):
            open_groups.append([element[5], int(repeated)])
        else:
            width = element.get(2, 0) if element.get(1) == _FIXED else 0
            yield repeated, _WIDTH + max(0, width)
        while open_groups and open_groups[-1][0] <= 0:
            open_groups.pop()


def _rows_at_a_time(source: Any, group: Struct, leaves: list[tuple[bool, int]], batch_rows: int, budget: Budget) -> int:
    chunks = group.get(1, [])
    if len(chunks) != len(leaves):
        raise ValueError("a row group has other columns than the file")
    columns = [
        ColumnChunk(list(_pages(source, chunk.get(3, {}), width)), repeated)
        for chunk, (repeated, width) in zip(chunks, leaves, strict=True)
    ]
    if sum(page.values for column in columns if column.repeated for page in column.pages) > budget.values:
        raise _too_large(budget.values, "values of lists")
    rows = batch_rows
    while sum(column.size(rows) for column in columns) > budget.bytes:
        if rows == 1:
            raise _too_large(budget.bytes, "bytes")
        rows = max(1, rows // 4)
    return rows


def _pages(source: Any, chunk: Struct, width: int) -> Iterator[Page]:
    """The pages of a column in one row group, as their headers say, in the order in which they are read."""
    begin, dictionary = chunk.get(9, 0), chunk.get(11, 0)
    at = dictionary if 0 < dictionary < begin else begin
    end, seen, longest, count = at + max(0, chunk.get(7, 0)), 0, 0, 0
    while at < end and seen < chunk.get(5, 0):
        header, length = _header(source, at)
        body, plain = header.get(3, -1), header.get(2, -1)
        if body < 0 or plain < 0 or count >= PAGES:
            raise ValueError("the size of a page makes no sense")
        inner = header.get({_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}.get(header.get(1, -1), 0), {})
        values = inner.get(1, 0)
        if values < 0:
            raise ValueError("the size of a page makes no sense")
        if header.get(1) == _DICTIONARY:
            longest = max(longest, _longest(source, chunk, at + length, body, plain))
            yield Page(0, plain, 0)
        elif header.get(1) in (_DATA, _DATA_V2):
            encoding = inner.get(2 if header[1] == _DATA else 4)
            more = longest if encoding in _DICTIONARIES else plain if encoding == _PREFIXES else 0
            yield Page(values, plain, width + more)
            seen += values
        at, count = at + length + body, count + 1


def _header(source: Any, at: int) -> tuple[Struct, int]:
    """The header of the page that begins at a place, and how many bytes it has."""
    for size in _HEADERS:
        source.seek(at)
        reader = Reader(source.read(size))
        try:
            return reader.struct(), reader.at
        except CutShort:
            continue
    raise ValueError("the header of a page is not whole")


def _longest(source: Any, chunk: Struct, at: int, body: int, plain: int) -> int:
    """The most bytes that the longest value of a dictionary has."""
    if chunk.get(1) != _BYTE_ARRAY:
        return 0
    codec = chunk.get(4, 0)
    if plain > _READ_DICTIONARY or (codec and codec not in _CODECS):
        return plain
    source.seek(at)
    held = source.read(body)
    if codec:
        held = pa.decompress(held, plain, _CODECS[codec], asbytes=True)
    place = longest = 0
    while place + 4 <= len(held):
        (length,) = struct.unpack_from("<I", held, place)
        longest, place = max(longest, length), place + 4 + length
    return min(longest, plain)


def _too_large(most: int, what: str) -> TooLarge:
    return TooLarge(
        f"the file is more than {most:,} {what}",
        detail="That is how much a row of it, or a row group of lists, may become when it is read.",
        hint="Write it anew, with smaller row groups.",
    )
