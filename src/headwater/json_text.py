"""JSON text: values and rows spelled so that decoding them gives the same, and what a text tells unread.

Flat columns are spelled whole columns at a time; nested ones and binary ones value by value. DECIMAL is written as a
number with all its digits, TIMESTAMP and DATE as ISO 8601, BINARY as base64, MAP as an object; a NULL is left out.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_CONTROLS = r"[\x00-\x1f]"
_IN_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')


class Number(str):
    """A number of a JSON text, as it was written: exact, whatever its length."""

    __slots__ = ()


def depth_of(text: str) -> int:
    """The number of levels of objects and arrays in a text; counted, so that none is too many."""
    deepest = depth = 0
    for bracket in re.findall(r"[\[\]{}]", _IN_STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def json_lines_of(table: pa.Table) -> bytes:
    """The table as JSON lines, each ended by a newline.

    >>> json_lines_of(pa.table({"id": ["a", None], "n": [1, 2]}))
    b'{"id":"a","n":1}\\n{"n":2}\\n'
    """
    if not table.num_rows or not table.num_columns:
        return b"{}\n" * int(table.num_rows)
    members = [_members(field.name, column) for field, column in zip(table.schema, table.columns, strict=True)]
    # each member brings its comma along: Arrow's own skipping of NULLs loses rows in which all are NULL
    lines = pc.binary_join_element_wise(pa.scalar("{"), *members, pa.scalar("}\n"), "")
    lines = pc.replace_substring(lines, "{,", "{", max_replacements=1)
    whole = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines), "")
    block: bytes = whole[0].as_buffer().to_pybytes()
    return block


def _members(name: str, column: pa.ChunkedArray) -> pa.Array:
    """`,"name":value` for each row, nothing where the value is NULL."""
    prefix = pa.scalar(f",{json.dumps(name, ensure_ascii=False)}:")
    return pc.binary_join_element_wise(prefix, texts_of(column.combine_chunks()), "").fill_null("")


def texts_of(column: pa.Array) -> pa.Array:
    """Each value as JSON text, NULL where it is NULL."""
    kind = column.type
    if pa.types.is_string(kind):
        return _strings(column)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _quoted(column.cast(pa.string()))
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.string())
    if pa.types.is_floating(kind) and not pc.any(pc.invert(pc.is_finite(column))).as_py():
        return column.cast(pa.string())
    return pa.array([None if value is None else spell(value) for value in _plain_values(column)], pa.string())


def _plain_values(column: pa.Array) -> list[Any]:
    """Python values, with maps as mappings."""
    values: list[Any] = column.to_pylist(maps_as_pydicts="strict")
    return values


def _strings(column: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(column, _CONTROLS)).as_py():
        return pa.array([None if text is None else json.dumps(text) for text in column.to_pylist()], pa.string())
    for character in ("\\", '"'):
        column = pc.replace_substring(column, character, f"\\{character}")
    return _quoted(column)


def _quoted(column: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(pa.scalar('"'), column, pa.scalar('"'), "")


def finite(value: float) -> float | str:
    """A number as JSON can have it: what isn't one goes by its name.

    >>> finite(0.5), finite(float("nan")), finite(float("-inf"))
    (0.5, 'NaN', '-Infinity')
    """
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def row_as_json(row: Any) -> bytes:
    """One row that came as values, for a dead letter: whatever it holds, this gives bytes that a person can read."""
    try:
        return spell(row).encode("utf-8", "backslashreplace")
    except (TypeError, ValueError, RecursionError):
        return repr(row).encode("utf-8", "backslashreplace")


def spell(value: Any) -> str:
    """A Python value as JSON, exactly: the digits of a Decimal are kept."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else json.dumps(str(value))
    if isinstance(value, Mapping):
        members = (f"{json.dumps(_key(key), ensure_ascii=False)}:{spell(item)}" for key, item in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(spell, value)) + "]"
    return json.dumps(value, default=_other, ensure_ascii=False)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    return spell(key).strip('"') if isinstance(key, bool | int | float | Decimal | date | bytes) else str(key)


def _other(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    return value.item() if hasattr(value, "item") else str(value)
