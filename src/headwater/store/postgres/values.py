"""Values of each type in PostgreSQL: as a value of PostgreSQL's own type, wherever it has one.

    BOOLEAN boolean        TINYINT, SMALLINT smallint     INT integer          BIGINT bigint
    FLOAT real             DOUBLE double precision        DECIMAL numeric      STRING text          BINARY bytea
    DATE date              TIMESTAMP timestamptz          TIMESTAMP_NTZ timestamp                   TIME time
    INTERVAL interval      ARRAY of one of these, but for INTERVAL: an array of it
    other ARRAYs, STRUCT, VARIANT: jsonb                  MAP, and what holds one: json, which keeps its order

Values travel as CSV, which PostgreSQL and Arrow both read and write by the column. A *codec* turns a column of Arrow
values into one that Arrow writes to CSV as PostgreSQL reads it, and the text that PostgreSQL writes back into values.
What PostgreSQL can't hold is refused by it: a NUL character in a text, a year before 4713 BC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.model import Variant
from headwater.store import nested
from headwater.store.postgres import arrays
from headwater.store.unfit import Unfit

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31 in days since 1970: what Arrow spells as PostgreSQL does."""
DAY = 86_400_000_000
LOCAL = pa.timestamp("us")
MIDNIGHT = "1970-01-01 "
_PARTS = re.compile(
    r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)W)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?)(\d+)(?:\.(\d+))?S)?)?"
)


@dataclass(frozen=True)
class Codec:
    """The codec of one type. `decode` takes text, and raises `Unfit` for what is not of the type.

    `declared` is the column's type in PostgreSQL, as `format_type` spells it. `comparable`: it has an equality.
    """

    kind: pa.DataType
    declared: str
    encode: Callable[[pa.Array], pa.Array]
    decode: Callable[[pa.Array], pa.Array]
    comparable: bool = True


def codec_of(kind: pa.DataType) -> Codec:
    """The codec of a type.

    >>> codec_of(pa.decimal128(12, 2)).declared
    'numeric(12,2)'
    """
    if arrays.can_be_array(kind):
        inner = codec_of(kind.value_type)
        return Codec(kind, f"{inner.declared}[]", arrays.encode(inner.encode), arrays.decode(kind, inner.decode))
    if isinstance(kind, Variant) or pa.types.is_nested(kind):
        ordered = _holds_a_map(kind)
        return Codec(kind, "json" if ordered else "jsonb", _encode_nested(kind), _decode_nested(kind), not ordered)
    if pa.types.is_decimal128(kind):
        return Codec(kind, f"numeric({kind.precision},{kind.scale})", _same, _cast(kind))
    if pa.types.is_timestamp(kind):
        zone = "with" if kind.tz else "without"
        return Codec(kind, f"timestamp {zone} time zone", _encode_days, _decode_days(kind))
    if kind == pa.date32():
        return Codec(kind, "date", _encode_days, _decode_days(kind))
    if kind == pa.time64("us"):
        return Codec(kind, "time without time zone", _same, _decode_times)
    if kind == pa.duration("us"):
        return Codec(kind, "interval", _encode_durations, _decode_durations)
    if kind == pa.month_day_nano_interval():
        return Codec(kind, "interval", _encode_months, _decode_months)
    if kind == pa.binary():
        return Codec(kind, "bytea", _encode_bytes, _decode_bytes)
    if kind == pa.bool_():
        return Codec(kind, "boolean", _same, lambda texts: pc.equal(texts, "t"))
    if kind == pa.null():
        return Codec(kind, "text", _same, _decode_nothing)
    return Codec(kind, _PLAIN[kind], _same, _cast(kind))


_PLAIN = {
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.string(): "text",
}


def _same(array: pa.Array) -> pa.Array:
    return array


def _cast(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    def decode(texts: pa.Array) -> pa.Array:
        try:
            return texts.cast(kind)
        except pa.ArrowException as cause:
            raise Unfit(kind) from cause

    return decode


def _decode_nothing(texts: pa.Array) -> pa.Array:
    if texts.null_count < len(texts):
        raise Unfit(pa.null())
    return pa.nulls(len(texts))


def _holds_a_map(kind: pa.DataType) -> bool:
    if isinstance(kind, Variant) or not pa.types.is_nested(kind):
        return False
    inner = [kind.field(position).type for position in range(kind.num_fields)]
    return bool(pa.types.is_map(kind)) or any(map(_holds_a_map, inner))


def _encode_nested(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    return lambda array: pa.array(nested.encode(array, kind), pa.string())


def _decode_nested(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    return lambda texts: nested.decode(texts.to_pylist(), kind)


def _encode_days(array: pa.Array) -> pa.Array:
    """As they are if Arrow spells all of them as PostgreSQL does; else as text. The session's time zone is UTC.

    Arrow spells timestamps without a zone fifty times faster.
    """
    is_date = pa.types.is_date32(array.type)
    numbers = array.cast(pa.int32()).cast(pa.int64()) if is_date else array.cast(pa.int64())
    unit = 1 if is_date else DAY
    bounds = pc.min_max(numbers).as_py()
    if bounds["min"] is None or (bounds["min"] >= FIRST_DAY * unit and bounds["max"] < (LAST_DAY + 1) * unit):
        return array if is_date else numbers.cast(LOCAL)
    texts = [None if number is None else _distant(number, is_date) for number in numbers.to_pylist()]
    return pa.array(texts, pa.string())


def _distant(number: int, is_date: bool) -> str:
    """A date or timestamp of any year as PostgreSQL writes it; there is no year 0, so 1 BC is the year before 1."""
    text = str(np.datetime64(number, "D" if is_date else "us")).replace("T", " ")
    year, rest = text[1:].split("-", 1) if text.startswith("-") else text.split("-", 1)
    counted = -int(year) if text.startswith("-") else int(year)
    if counted > 0:
        return f"{counted:04}-{rest}"
    return f"{1 - counted:04}-{rest} BC"


def _decode_days(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    def decode(texts: pa.Array) -> pa.Array:
        try:
            return texts.cast(kind)
        except pa.ArrowException:
            return _decode_distant(texts, kind)

    return decode


def _decode_distant(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    is_date = pa.types.is_date32(kind)
    try:
        numbers = [None if text is None else _number(text, is_date) for text in texts.to_pylist()]
        return pa.array(numbers, pa.int32() if is_date else pa.int64()).cast(kind)
    except (ValueError, OverflowError, pa.ArrowException) as cause:
        raise Unfit(kind) from cause


def _number(text: str, is_date: bool) -> int:
    plain, before_christ, _ = text.partition(" BC")
    year, rest = plain.removesuffix("+00").split("-", 1)
    counted = 1 - int(year) if before_christ else int(year)
    spelled = f"{'-' if counted < 0 else ''}{abs(counted):04}-{rest.replace(' ', 'T')}"
    return int(np.datetime64(spelled, "D" if is_date else "us").astype(np.int64))


def _decode_times(texts: pa.Array) -> pa.Array:
    kind = pa.time64("us")
    try:
        return pc.binary_join_element_wise(pa.scalar(MIDNIGHT), texts, "").cast(LOCAL).cast(pa.int64()).cast(kind)
    except pa.ArrowException as cause:
        raise Unfit(kind) from cause


def _encode_durations(array: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(array.cast(pa.int64()).cast(pa.string()), "microseconds", " ")


def _decode_durations(texts: pa.Array) -> pa.Array:
    kind = pa.duration("us")
    parts = [None if text is None else _parts(text, kind) for text in texts.to_pylist()]
    if any(part is not None and part[0] for part in parts):
        raise Unfit(kind)
    try:
        microseconds = [None if part is None else part[1] * DAY + part[2] for part in parts]
        return pa.array(microseconds, pa.int64()).cast(kind)
    except (OverflowError, pa.ArrowException) as cause:
        raise Unfit(kind) from cause


def _encode_months(array: pa.Array) -> pa.Array:
    return pa.array([None if value is None else _spelled(*value) for value in array.to_pylist()], pa.string())


def _spelled(months: int, days: int, nanoseconds: int) -> str:
    microseconds, rest = divmod(nanoseconds, 1000)
    if rest:
        raise Unfit(pa.month_day_nano_interval())
    return f"{months} months {days} days {microseconds} microseconds"


def _decode_months(texts: pa.Array) -> pa.Array:
    kind = pa.month_day_nano_interval()
    parts = [None if text is None else _parts(text, kind) for text in texts.to_pylist()]
    return pa.array([None if part is None else (part[0], part[1], part[2] * 1000) for part in parts], kind)


def _parts(text: str, kind: pa.DataType) -> tuple[int, int, int]:
    """Months, days and microseconds of an interval in ISO 8601, as PostgreSQL writes it."""
    match = _PARTS.fullmatch(text)
    if match is None:
        raise Unfit(kind)
    years, months, weeks, days, hours, minutes = (int(part or 0) for part in match.groups()[:6])
    sign, seconds, fraction = match.groups()[6:]
    exact = int(seconds or 0) * 1_000_000 + int((fraction or "").ljust(6, "0"))
    whole = (hours * 60 + minutes) * 60_000_000 + (-exact if sign else exact)
    return years * 12 + months, weeks * 7 + days, whole


def _encode_bytes(array: pa.Array) -> pa.Array:
    return pa.array([None if value is None else f"\\x{value.hex()}" for value in array.to_pylist()], pa.string())


def _decode_bytes(texts: pa.Array) -> pa.Array:
    try:
        values = [None if text is None else bytes.fromhex(text.removeprefix("\\x")) for text in texts.to_pylist()]
    except ValueError as cause:
        raise Unfit(pa.binary()) from cause
    return pa.array(values, pa.binary())


def infer(texts: pa.Array, oid: int, modifier: int) -> pa.Array:
    """Values of a type that PostgreSQL names by a number; text if Arrow has nothing for it."""
    if oid == _NUMERIC:
        return _numbers(texts, modifier)
    kind = _BY_NUMBER.get(oid)
    try:
        return texts if kind is None else codec_of(kind).decode(texts)
    except Unfit:
        return texts


def _numbers(texts: pa.Array, modifier: int) -> pa.Array:
    """With the declared digits, if there are some; else with as many as the values have."""
    precision, scale = ((modifier - 4) >> 16) & 0xFFFF, (modifier - 4) & 0x7FF
    try:
        if modifier >= 4:
            return texts.cast(pa.decimal128(precision, scale))
        digits = [tuple(map(len, text.lstrip("-").partition(".")[::2])) for text in texts.drop_null().to_pylist()]
        before, after = (max((pair[side] for pair in digits), default=1) for side in (0, 1))
        return texts.cast(pa.decimal128(before + after, after))
    except (ValueError, pa.ArrowException):
        return _floats(texts)


def _floats(texts: pa.Array) -> pa.Array:
    numbers: Any = texts.cast(pa.float64())
    return numbers


_NUMERIC = 1700
_BY_NUMBER = {
    16: pa.bool_(),
    17: pa.binary(),
    20: pa.int64(),
    21: pa.int16(),
    23: pa.int32(),
    26: pa.int64(),
    700: pa.float32(),
    701: pa.float64(),
    1082: pa.date32(),
    1083: pa.time64("us"),
    1114: pa.timestamp("us"),
    1184: pa.timestamp("us", "UTC"),
}
