"""Layout: the bytes of which events of a binary log are made, and how a table is told before rows of it come.

A *table map* comes before the rows of a statement: the types of the columns, and, with `binlog_row_metadata = FULL`,
their names and whatever else is needed to read them. So rows are read as they were when they were written, whatever
has become of the table since.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

TINY, SHORT, LONG, FLOAT, DOUBLE, LONGLONG, INT24, DATE, YEAR, NEWDATE = 1, 2, 3, 4, 5, 8, 9, 10, 13, 14
VARCHAR, BIT, TIMESTAMP2, DATETIME2, TIME2 = 15, 16, 17, 18, 19
JSON, NEWDECIMAL, ENUM, SET, TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, BLOB = 245, 246, 247, 248, 249, 250, 251, 252
VAR_STRING, STRING, GEOMETRY = 253, 254, 255
_BLOBS = (TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, BLOB)
_NUMBERS = (TINY, SHORT, INT24, LONG, LONGLONG, FLOAT, DOUBLE, NEWDECIMAL)
_CHARACTERS = (STRING, VAR_STRING, VARCHAR, *_BLOBS)
_METADATA = {FLOAT: 1, DOUBLE: 1, VARCHAR: 2, STRING: 2, VAR_STRING: 2, NEWDECIMAL: 2, BIT: 2, JSON: 1, GEOMETRY: 1}
_METADATA |= dict.fromkeys((*_BLOBS, TIMESTAMP2, DATETIME2, TIME2), 1)
_SIGNEDNESS, _DEFAULT_CHARSET, _CHARSETS, _NAMES, _SETS, _ENUMS = 1, 2, 3, 4, 5, 6
_DEFAULT_CHARSET_OF_WORDS, _CHARSETS_OF_WORDS = 10, 11


class LayoutUnknown(Exception):
    """The bytes aren't laid out in a way that is known; the text says which way it is."""


class Bytes:
    """The bytes of an event, read from their beginning."""

    def __init__(self, content: bytes, at: int = 0) -> None:
        self._content, self._at = content, at

    @property
    def is_over(self) -> bool:
        """Tells whether all were read."""
        return self._at >= len(self._content)

    def take(self, count: int) -> bytes:
        """The next bytes."""
        taken = self._content[self._at : self._at + count]
        if len(taken) < count:
            raise LayoutUnknown("an event that ends too soon")
        self._at += count
        return taken

    def rest(self) -> bytes:
        """All that weren't read."""
        return self.take(len(self._content) - self._at)

    def little(self, count: int, *, signed: bool = False) -> int:
        """A number of so many bytes, the least of them first."""
        return int.from_bytes(self.take(count), "little", signed=signed)

    def big(self, count: int) -> int:
        """A number of so many bytes, the greatest of them first."""
        return int.from_bytes(self.take(count), "big")

    def packed(self) -> int:
        """A number of as many bytes as it needs."""
        first = self.little(1)
        return first if first < 251 else self.little({252: 2, 253: 3, 254: 8}[first])

    def text(self) -> bytes:
        """Bytes behind a packed number that counts them."""
        return self.take(self.packed())

    def bits(self, count: int) -> list[bool]:
        """Bits, the least of each byte first."""
        taken = self.take((count + 7) // 8)
        return [bool(taken[at >> 3] >> (at & 7) & 1) for at in range(count)]


@dataclass(frozen=True)
class ColumnMap:
    """A column as the binary log tells it: its type, what the type needs, and, of words, their collation and words."""

    type: int
    meta: bytes
    name: str = ""
    is_unsigned: bool = False
    collation: int | None = None
    words: Sequence[bytes] = ()


@dataclass(frozen=True)
class TableMap:
    """A table as the binary log tells it, `name` with its database."""

    name: str
    columns: Sequence[ColumnMap] = field(default_factory=tuple)


def table_name(body: Bytes) -> str:
    """The name that a table map begins with."""
    parts = []
    for _ in range(2):
        parts.append(body.take(body.little(1)).decode())
        body.take(1)
    return ".".join(parts)


def read_table_map(name: str, body: Bytes, *, counts_geometry: bool) -> TableMap:
    """The table behind its name; `counts_geometry` is MariaDB's way, for which a geometry has a collation."""
    types = body.take(body.packed())
    metadata = Bytes(body.text())
    columns = [_column(kind, metadata) for kind in types]
    body.take((len(columns) + 7) // 8)
    parts: dict[int, Bytes] = {}
    while not body.is_over:
        kind = body.little(1)
        parts[kind] = Bytes(body.text())
    if _NAMES not in parts:
        raise LayoutUnknown("a table without the names of its columns: binlog_row_metadata isn't FULL")
    characters = (*_CHARACTERS, GEOMETRY) if counts_geometry else _CHARACTERS
    numbers = [at for at, column in enumerate(columns) if column.type in _NUMBERS]
    for at, sign in zip(numbers, _signs(parts.get(_SIGNEDNESS), len(numbers)), strict=True):
        columns[at] = replace(columns[at], is_unsigned=sign)
    for kinds, common, each in (
        (characters, _DEFAULT_CHARSET, _CHARSETS),
        ((ENUM, SET), _DEFAULT_CHARSET_OF_WORDS, _CHARSETS_OF_WORDS),
    ):
        chosen = [at for at, column in enumerate(columns) if column.type in kinds]
        for at, collation in zip(chosen, _collations(parts.get(common), parts.get(each), len(chosen)), strict=True):
            columns[at] = replace(columns[at], collation=collation)
    for kind, part in ((SET, _SETS), (ENUM, _ENUMS)):
        lists = _words(parts.get(part))
        for at, column in enumerate(columns):
            if column.type == kind:
                columns[at] = replace(column, words=next(lists, ()))
    names = parts[_NAMES]
    return TableMap(name, tuple(replace(column, name=names.text().decode()) for column in columns))


def _column(kind: int, metadata: Bytes) -> ColumnMap:
    meta = metadata.take(_METADATA.get(kind, 0))
    if kind == STRING and meta[0] in (ENUM, SET):
        return ColumnMap(meta[0], meta[1:])
    if kind in (*_NUMBERS, *_METADATA, DATE, NEWDATE, YEAR):
        return ColumnMap(kind, meta)
    if kind in (7, 11, 12):
        raise LayoutUnknown("a time in the format that servers had before MySQL 5.6: ALTER TABLE … FORCE makes it anew")
    raise LayoutUnknown(f"a column of the type {kind}")


def _signs(part: Bytes | None, count: int) -> Iterator[bool]:
    """The numbers without a sign; each byte has its greatest bit first."""
    if part is None:
        return iter([False] * count)
    content = part.rest()
    return iter([bool(content[at >> 3] >> (7 - (at & 7)) & 1) for at in range(count)])


def _collations(common: Bytes | None, each: Bytes | None, count: int) -> Sequence[int | None]:
    if each is not None:
        return [each.packed() for _ in range(count)]
    if common is None:
        return [None] * count
    collations: list[int | None] = [common.packed()] * count
    while not common.is_over:
        at = common.packed()
        collations[at] = common.packed()
    return collations


def _words(part: Bytes | None) -> Iterator[Sequence[bytes]]:
    while part is not None and not part.is_over:
        yield tuple(part.text() for _ in range(part.packed()))


def read_rows(
    body: Bytes, table: TableMap, read: Callable[[ColumnMap, Bytes], object], images: int
) -> Iterator[list[dict[str, object]]]:
    """The rows of an event, each in so many images of it: those before and after a change."""
    width = body.packed()
    if width != len(table.columns):
        raise LayoutUnknown(f"rows of {table.name} with another number of columns than it has")
    for _ in range(images):
        if not all(body.bits(width)):
            raise LayoutUnknown(f"rows of {table.name} without some of their columns: binlog_row_image isn't FULL")
    while not body.is_over:
        yield [_image(body, table, read) for _ in range(images)]


def _image(body: Bytes, table: TableMap, read: Callable[[ColumnMap, Bytes], object]) -> dict[str, object]:
    nulls = body.bits(len(table.columns))
    return {
        column.name: None if is_null else read(column, body)
        for column, is_null in zip(table.columns, nulls, strict=True)
    }


def double(content: bytes) -> float:
    """A number of eight bytes, or of four."""
    number: float = struct.unpack("<d" if len(content) == 8 else "<f", content)[0]
    return number
