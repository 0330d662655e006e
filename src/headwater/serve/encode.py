"""Values as JSON: instants in ISO 8601, exact decimals as text, bytes as base64, what isn't a number as its name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import orjson
import pyarrow as pa
from fastapi import Response

from headwater.model import Column
from headwater.query.refusal import refused
from headwater.store.plain import plain_or_text, plain_value

_AT_A_TIME = 5_000
"""So many values of rows are spelled before other threads come to run."""


def to_json(value: Any) -> bytes:
    """A value as JSON text.

    >>> from decimal import Decimal
    >>> to_json({"spent": Decimal("9.50"), "ratio": float("nan")})
    b'{"spent":"9.50","ratio":"NaN"}'
    """
    try:
        return _dump(value)
    except ValueError:  # a number that JSON doesn't have
        return _dump(plain_value(value))


def _dump(value: Any) -> bytes:
    """A value as text; the rows in it a few at a time: nobody else comes to run while `json` spells a value."""
    if isinstance(value, dict) and any(isinstance(part, list) and len(part) > 1 for part in value.values()):
        return b"{" + b",".join(_spelled({name: 0})[1:-2] + _dump(part) for name, part in value.items()) + b"}"
    if isinstance(value, list) and len(value) > 1:
        step = max(1, _AT_A_TIME // max(1, len(value[0]) if isinstance(value[0], dict) else 1))
        return b"[" + b",".join(_spelled(value[at : at + step])[1:-1] for at in range(0, len(value), step)) + b"]"
    return _spelled(value)


def _spelled(value: Any) -> bytes:
    return json.dumps(value, default=plain_or_text, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def rows_to_json(
    columns: Sequence[Column], parts: Iterable[Sequence[Sequence[Any]]], limit: int, most: int
) -> tuple[bytes, bool]:
    """The first rows as a list of objects, of values as JSON has them, and whether there are more.

    An answer of more than so many bytes is refused.
    """
    dump = _spelled if any(_has_floats(column.type) for column in columns) else orjson.dumps
    names, spelled, left, size = [column.name for column in columns], list[bytes](), limit, 0
    at_a_time = max(1, _AT_A_TIME // max(1, len(names)))
    for part in parts:
        rows = [dict(zip(names, row, strict=True)) for row in zip(*part, strict=True)]
        for at in range(0, min(len(rows), left), at_a_time):
            spelled.append(dump(rows[at : min(at + at_a_time, left)])[1:-1])
            size += len(spelled[-1])
            if size > most:
                raise refused(f"Its answer has more than {most / 2**20:,.0f} MB.", "Ask for fewer rows.")
        left -= len(rows)
    return b"[" + b",".join(spelled) + b"]", left < 0


@lru_cache(maxsize=1024)
def _has_floats(kind: pa.DataType) -> bool:
    """Tells whether there are numbers in values of a type of which texts may differ though they mean the same."""
    parts = (kind.field(number).type for number in range(kind.num_fields))
    return bool(pa.types.is_floating(kind)) or any(map(_has_floats, parts))


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response in JSON."""
    return Response(to_json(value), status, headers, "application/json")
