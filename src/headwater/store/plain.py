"""Values as JSON has them, of every type: what an answer in JSON shows of a row.

Numbers that are exact in JSON, texts and booleans stay as they are. Instants are texts in ISO 8601, a TIMESTAMP in UTC
with its offset; decimals are texts with all their digits; BINARY is base64; durations are spelled as they are
declared; what isn't a number goes by its name. An array is a list, a struct an object, a map a list of pairs.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headwater.json_text import finite
from headwater.model import spell_duration

_NATIVE = (pa.types.is_integer, pa.types.is_string, pa.types.is_boolean, pa.types.is_null)


def plain(values: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of an array.

    >>> plain(pa.array([b"key", None]))
    ['a2V5', None]
    """
    listed: list[Any] = values.to_pylist()
    return listed if any(is_native(values.type) for is_native in _NATIVE) else list(map(plain_value, listed))


def plain_value(value: Any) -> Any:
    """A value of Python, and those in it.

    >>> plain_value([Decimal("9.50"), float("nan")])
    ['9.50', 'NaN']
    """
    spell = _SPELLINGS.get(type(value))
    return value if spell is None else spell(value)


def plain_or_text(value: Any) -> Any:
    """A value that `json` doesn't know, as it does."""
    plain = plain_value(value)
    return str(value) if plain is value else plain


def spell_bytes(value: bytes) -> str:
    """Bytes in base64."""
    return base64.b64encode(value).decode()


def readable(value: bytes) -> str:
    """Bytes that are likely a text, as those of a dead letter: the text, or else base64 that says so.

    >>> readable(b"late"), readable(b"\\xff")
    ('late', 'base64:/w==')
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "base64:" + spell_bytes(value)


def _list(values: Any) -> list[Any]:
    return list(map(plain_value, values))


_SPELLINGS: Mapping[type, Callable[[Any], Any]] = {
    datetime: datetime.isoformat,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: spell_duration,
    Decimal: str,
    bytes: spell_bytes,
    float: finite,
    list: _list,
    tuple: _list,
    pa.MonthDayNano: _list,
    dict: lambda value: {name: plain_value(item) for name, item in value.items()},
}
