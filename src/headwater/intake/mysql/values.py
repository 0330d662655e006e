"""Values of rows in a binary log, spelled as the server spells them in a query, so that a snapshot tells the same."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from headwater.intake.mysql.layout import (
    BIT,
    BLOB,
    DATE,
    DATETIME2,
    DOUBLE,
    ENUM,
    FLOAT,
    GEOMETRY,
    INT24,
    JSON,
    LONG,
    LONG_BLOB,
    LONGLONG,
    MEDIUM_BLOB,
    NEWDATE,
    NEWDECIMAL,
    SET,
    SHORT,
    STRING,
    TIME2,
    TIMESTAMP2,
    TINY,
    TINY_BLOB,
    VAR_STRING,
    VARCHAR,
    YEAR,
    Bytes,
    ColumnMap,
    LayoutUnknown,
    double,
)

BINARY = "binary"
CODECS = {
    "utf8mb4": "utf-8",
    "utf8mb3": "utf-8",
    "utf8": "utf-8",
    "ascii": "ascii",
    "latin1": "latin-1",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
}
"""The character sets that are read, and what Python calls them."""
_DIGITS = 9
_BYTES_OF_DIGITS = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
_INTEGERS = {TINY: 1, SHORT: 2, INT24: 3, LONG: 4, LONGLONG: 8}
_LATIN1 = "".join(bytes((byte,)).decode("cp1252", "replace").replace("\ufffd", chr(byte)) for byte in range(256))
"""The texts of the bytes of latin1, which is Windows-1252 and, where that has nothing, ISO 8859-1."""


class Spelling:
    """The spelling of values, with the character sets of collations by their numbers."""

    def __init__(self, charsets: Mapping[int, str]) -> None:
        self._charsets = charsets

    def read(self, column: ColumnMap, body: Bytes) -> object:
        """The next value, which is one of a column: a number, a text, or, of bytes, their base64."""
        kind = column.type
        if kind in _INTEGERS:
            return body.little(_INTEGERS[kind], signed=not column.is_unsigned)
        if kind in _FIXED:
            return _FIXED[kind](column, body)
        if kind == ENUM:
            number = body.little(column.meta[0])
            return self.text(column, column.words[number - 1]) if number else ""
        if kind == SET:
            bits = body.little(column.meta[0])
            chosen = [word for at, word in enumerate(column.words) if bits >> at & 1]
            return ",".join(str(self.text(column, word)) for word in chosen)
        return self.text(column, self._bytes(column, body))

    def text(self, column: ColumnMap, content: bytes) -> str:
        """A text, or bytes as base64."""
        charset = BINARY if column.collation is None else self._charsets.get(column.collation, "")
        if charset == BINARY:
            return base64.b64encode(content).decode()
        if charset not in CODECS:
            raise LayoutUnknown(f"a text in the character set {charset or column.collation} ({column.name})")
        if charset == "latin1":
            return content.decode("latin-1").translate(_LATIN1)
        return codecs.decode(content, CODECS[charset], "surrogatepass")

    def _bytes(self, column: ColumnMap, body: Bytes) -> bytes:
        if column.type in (TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, BLOB, JSON, GEOMETRY):
            return body.take(body.little(column.meta[0]))
        longest = _longest(column)
        content = body.take(body.little(1 if longest < 256 else 2))
        if column.type == STRING and self._charsets.get(column.collation or 0) == BINARY:
            return content.ljust(longest, b"\0")  # its zeros at the end aren't told
        return content


def _longest(column: ColumnMap) -> int:
    """The most bytes of a text."""
    first, second = column.meta
    if column.type == VARCHAR:
        return first | second << 8
    if column.type in (STRING, VAR_STRING):
        return second | ((first & 0x30) ^ 0x30) << 4
    raise LayoutUnknown(f"a column of the type {column.type}")


def _decimal(column: ColumnMap, body: Bytes) -> str:
    """A number of exact digits: nine in four bytes, those left over before and behind in as many as they need."""
    precision, scale = column.meta
    whole, left = divmod(precision - scale, _DIGITS)
    behind, rest = divmod(scale, _DIGITS)
    groups = [left, *[_DIGITS] * whole], [*[_DIGITS] * behind, rest]
    size = sum(_BYTES_OF_DIGITS[digits] for part in groups for digits in part)
    content = body.take(size)
    is_negative = not content[0] & 0x80
    content = bytes((content[0] ^ 0x80, *content[1:]))
    told = Bytes(bytes(byte ^ 0xFF for byte in content) if is_negative else content)
    before, after = (
        "".join(f"{told.big(_BYTES_OF_DIGITS[digits]):0{digits}}" for digits in part if digits) for part in groups
    )
    return f"{'-' if is_negative else ''}{before.lstrip('0') or '0'}{'.' if after else ''}{after}"


def _date(column: ColumnMap, body: Bytes) -> str:  # noqa: ARG001
    packed = body.little(3)
    return f"{packed >> 9:04}-{packed >> 5 & 15:02}-{packed & 31:02}"


def _fraction(column: ColumnMap, body: Bytes) -> str:
    """The digits behind a second, as many as the column has."""
    digits = column.meta[0]
    if not digits:
        return ""
    number = body.big((digits + 1) // 2)
    return f".{number // 10 if digits % 2 else number:0{digits}}"


def _datetime(column: ColumnMap, body: Bytes) -> str:
    packed = body.big(5) - 0x8000000000
    months, clock = packed >> 22, packed & 0x1FFFF
    date = f"{months // 13:04}-{months % 13:02}-{packed >> 17 & 31:02}"
    return f"{date} {clock >> 12:02}:{clock >> 6 & 63:02}:{clock & 63:02}{_fraction(column, body)}"


def _timestamp(column: ColumnMap, body: Bytes) -> str:
    seconds = body.big(4)
    fraction = _fraction(column, body)
    if not seconds and not fraction.strip(".0"):
        return f"0000-00-00 00:00:00{fraction}"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}{fraction}"


def _time(column: ColumnMap, body: Bytes) -> str:
    """A time of day or a span, in one number with its fraction, less than the middle if it is negative."""
    digits = column.meta[0]
    size = (digits + 1) // 2
    told = body.big(3 + size) - (0x800000 << 8 * size)
    packed, fraction = divmod(abs(told), 1 << 8 * size)
    behind = f".{fraction // 10 if digits % 2 else fraction:0{digits}}" if digits else ""
    sign = "-" if told < 0 else ""
    return f"{sign}{packed >> 12 & 0x3FF:02}:{packed >> 6 & 63:02}:{packed & 63:02}{behind}"


def _year(column: ColumnMap, body: Bytes) -> int:  # noqa: ARG001
    told = body.little(1)
    return 1900 + told if told else 0


def _bits(column: ColumnMap, body: Bytes) -> int:
    bits, whole = column.meta
    return body.big(whole + bool(bits))


def _double(column: ColumnMap, body: Bytes) -> float:
    return double(body.take(column.meta[0]))


_FIXED: Mapping[int, Callable[[ColumnMap, Bytes], object]] = {
    FLOAT: _double,
    DOUBLE: _double,
    NEWDECIMAL: _decimal,
    DATE: _date,
    NEWDATE: _date,
    DATETIME2: _datetime,
    TIMESTAMP2: _timestamp,
    TIME2: _time,
    YEAR: _year,
    BIT: _bits,
}
