"""Poison: lines that can't be taken as events, each made from a good one by the mistakes that producers make."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from headwater.intake.fill import Random
from headwater.intake.layout import Layout
from headwater.json_text import json_lines_of

Spoiler = Callable[[Layout, bytes, str], bytes]


def poison_line(layout: Layout, row: pa.Table, random: Random) -> bytes:
    """A line made from the row that no decoder of the topic takes."""
    line = json_lines_of(row).rstrip(b"\n")
    spoilers = _ALWAYS + (_WITH_TIME if layout.time is not None else ())
    column = layout.names[int(random.integers(layout.payload))]
    return spoilers[int(random.integers(len(spoilers)))](layout, line, column)


def _with(line: bytes, name: str, spelled: bytes) -> bytes:
    """The line with another value for one column."""
    members: dict[str, Any] = json.loads(line)
    members.pop(name, None)
    rest = json.dumps(members).encode()[1:-1]
    return b"{" + json.dumps(name).encode() + b":" + spelled + (b"," if rest else b"") + rest + b"}"


def _truncated(_: Layout, line: bytes, __: str) -> bytes:
    return line[: max(1, len(line) // 2)].rstrip(b"}")


def _not_utf8(_: Layout, line: bytes, __: str) -> bytes:
    return line[:-1] + b',"\xff\xfe":0}'


def _array(_: Layout, line: bytes, __: str) -> bytes:
    return b"[" + line + b"]"


def _null(_: Layout, __: bytes, ___: str) -> bytes:
    return b"null"


def _two(_: Layout, line: bytes, __: str) -> bytes:
    return line + b" " + line


def _wrong_type(layout: Layout, line: bytes, column: str) -> bytes:
    """No scalar type takes an object with this member, and no nested type takes a number."""
    nested = pa.types.is_nested(layout.kinds[layout.names.index(column)])
    return _with(line, column, b"0.5" if nested else b'{"unexpected":[]}')


def _overflow(layout: Layout, line: bytes, column: str) -> bytes:
    kind = layout.kinds[layout.names.index(column)]
    too_much = b"NaN" if pa.types.is_decimal(kind) else b"1e999"
    return _with(line, column, too_much)


def _time(layout: Layout, line: bytes, spelled: bytes) -> bytes:
    assert layout.time is not None
    return _with(line, layout.names[layout.time], spelled)


_ALWAYS: tuple[Spoiler, ...] = (_truncated, _not_utf8, _array, _null, _two, _wrong_type, _overflow)
_WITH_TIME: tuple[Spoiler, ...] = (
    lambda layout, line, _: _time(layout, line, b"null"),
    lambda layout, line, _: _time(layout, line, b'"1969-07-20T20:17:40Z"'),
    lambda layout, line, _: _time(layout, line, b'"yesterday"'),
)
