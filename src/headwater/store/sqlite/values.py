"""Values of each type in SQLite: exactly, and so that a person who opens the file can use it.

A *codec* turns a column of Arrow values into what SQLite keeps, and back. SQLite has five kinds of value (NULL,
INTEGER, REAL, TEXT, BLOB) and a column's declared type only says what it tries to convert ("affinity"), so a codec
declares a type only where the conversion can't lose anything:

    BOOLEAN           INTEGER 0 or 1
    integers          INTEGER
    FLOAT, DOUBLE     REAL; NaN is the text NaN, behind every number as in Spark. No declared type: as REAL, −0.0 loses
                      its sign
    DECIMAL           a number up to 15 digits, TEXT beyond: see `headwater.store.sqlite.decimals`
    STRING, BINARY    TEXT, BLOB
    DATE, TIME, TIMESTAMP, TIMESTAMP_NTZ     ISO 8601 in UTC, sorted as text: see `headwater.store.instants`
    INTERVAL DAY TO SECOND                   seconds, as a DECIMAL
    INTERVAL YEAR TO MONTH                   months
    ARRAY, MAP, STRUCT, VARIANT              JSON text: see `headwater.store.nested`

Every value has one spelling, so equal keys are equal in SQLite.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.model import Variant, spell_type
from headwater.store import instants, nested
from headwater.store.plain import plain
from headwater.store.sqlite import decimals
from headwater.store.sqlite.plain import Plain, shortcut
from headwater.store.unfit import Unfit

Values = list[Any]
NOT_A_NUMBER = "NaN"


@dataclass(frozen=True)
class Codec:
    """The codec of one type. `decode` raises `Unfit` for values that are not of the type.

    `declared` is the column's type in CREATE TABLE. `wide`: numbers that SQLite can't compute with exactly are TEXT;
    a client that is to sort, compare and add them is shown the nearest REAL instead.
    """

    kind: pa.DataType
    declared: str
    encode: Callable[[pa.Array], Values]
    decode: Callable[[Values], pa.Array]
    wide: bool = False

    def plain(self, values: Sequence[Any]) -> Sequence[Any]:
        """The values that `encode` made these of, as JSON has them."""
        short = self._shortcut(values)
        return plain(self.decode(list(values))) if short is None else short

    @cached_property
    def _shortcut(self) -> Plain:
        return shortcut(self.kind, self.wide)

    def decode_strictly(self, values: Values) -> pa.Array:
        """As `decode`, of values that may come from elsewhere: `Unfit` unless each one is spelled as `encode` does."""
        array = self.decode(values)
        if not all(map(_same, self.encode(array), values)):
            raise Unfit(self.kind)
        return array


def _same(kept: Any, encoded: Any) -> bool:
    if isinstance(kept, int | float) and isinstance(encoded, int | float):
        return bool(kept == encoded)
    return type(kept) is type(encoded) and bool(kept == encoded)


@lru_cache(maxsize=1024)
def codec_of(kind: pa.DataType) -> Codec:
    """The codec of a type.

    >>> codec_of(pa.bool_()).encode(pa.array([True, None]))
    [1, None]
    """
    if isinstance(kind, Variant) or pa.types.is_nested(kind):
        return Codec(kind, "TEXT", lambda array: nested.encode(array, kind), lambda values: nested.decode(values, kind))
    if pa.types.is_decimal128(kind):
        wide = decimals.is_wide(kind)
        declared = "" if wide else f"DECIMAL({kind.precision}, {kind.scale})"
        return Codec(kind, declared, decimals.encode, lambda values: decimals.decode(values, kind), wide)
    if pa.types.is_timestamp(kind) or pa.types.is_date32(kind) or pa.types.is_time64(kind):
        return Codec(kind, spell_type(kind), instants.encode, lambda values: instants.decode(values, kind))
    if pa.types.is_floating(kind):
        return Codec(kind, "", _encode_floats, lambda values: _decode_floats(values, kind))
    if pa.types.is_boolean(kind):
        return Codec(kind, "BOOLEAN", lambda array: array.cast(pa.int8()).to_pylist(), _decode_booleans)
    if pa.types.is_duration(kind):
        return Codec(kind, "", _encode_durations, _decode_durations, wide=True)
    if pa.types.is_interval(kind):
        return Codec(kind, "", _encode_months, _decode_months)
    return Codec(kind, _PLAIN[kind], pa.Array.to_pylist, lambda values: _decode_plain(values, kind))


_PLAIN = {
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.string(): "TEXT",
    pa.binary(): "BLOB",
    pa.null(): "",
}


def _decode_plain(values: Values, kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, OverflowError) as cause:
        raise Unfit(kind) from cause


def _decode_booleans(values: Values) -> pa.Array:
    return _decode_plain([None if value is None else value == 1 for value in values], pa.bool_())


def _encode_floats(array: pa.Array) -> Values:
    values: Values = array.cast(pa.float64()).to_pylist()
    if pc.any(pc.is_nan(array)).as_py():
        return [NOT_A_NUMBER if value != value else value for value in values]  # NaN alone differs from itself
    return values


def _decode_floats(values: Values, kind: pa.DataType) -> pa.Array:
    numbers = [float("nan") if value == NOT_A_NUMBER else value for value in values]
    doubles = _decode_plain(numbers, pa.float64())
    return doubles.cast(kind, safe=False)


def _encode_durations(array: pa.Array) -> Values:
    return decimals.encode(decimals.from_unscaled(array.cast(pa.int64()), decimals.SECONDS))


def _decode_durations(values: Values) -> pa.Array:
    kind = pa.duration("us")
    try:
        return decimals.to_unscaled(decimals.decode(values, decimals.SECONDS)).cast(kind)
    except pa.ArrowInvalid as cause:
        raise Unfit(kind) from cause


def _encode_months(array: pa.Array) -> Values:
    """Months alone are a number, as Spark's year-month intervals are; others all three parts as JSON."""
    return [_months(value) if value is not None else None for value in array.to_pylist()]


def _months(value: tuple[int, int, int]) -> int | str:
    months, days, nanoseconds = value
    return json.dumps(list(value), separators=(",", ":")) if days or nanoseconds else months


def _decode_months(values: Values) -> pa.Array:
    parts = [tuple(json.loads(value)) if isinstance(value, str) else value for value in values]
    whole = [(value, 0, 0) if isinstance(value, int) else value for value in parts]
    return _decode_plain(whole, pa.month_day_nano_interval())


def infer(values: Values) -> pa.Array:
    """Values of no declared type, typed by what they are; text if they are of several kinds."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pa.array(np.array([np.nan if v is None else v for v in values], np.float64), mask=_nulls(values))
    if len(kinds) <= 1:
        return pa.array(values)
    return pa.array([value if value is None else _spell(value) for value in values], pa.string())


def _spell(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _nulls(values: Values) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.array([value is None for value in values], np.bool_)
