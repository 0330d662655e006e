"""DECIMAL in SQLite, which has no decimals: a number where one is exact, else text.

A value of up to 15 significant digits is a REAL: every such decimal has a double of its own, and the double gives the
decimal back. A whole number that fits 64 bits is as exact as an INTEGER. Any other value is TEXT with all its digits.
A type is *wide* if it has values of that last kind; its column has no declared type, because a numeric one would turn
long digits into a REAL on the way in.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.store.unfit import Unfit

EXACT_DIGITS = 15
EXACT_LIMIT = 10**EXACT_DIGITS
EXACT_POWER = 22
"""10**22 is the largest power of ten that a double holds exactly: dividing by it rounds once, hence correctly."""
LONG_DIGITS = 18
"""Whole numbers of so many digits always fit 64 bits."""
SECONDS = pa.decimal128(19, 6)
"""Microseconds in 64 bits, as seconds."""


def is_wide(kind: pa.DataType) -> bool:
    """Tells whether some values of the type can't be kept as numbers.

    >>> is_wide(pa.decimal128(12, 2)), is_wide(pa.decimal128(22, 2)), is_wide(pa.decimal128(18, 0))
    (False, True, False)
    """
    return bool(kind.precision > (LONG_DIGITS if kind.scale == 0 else EXACT_DIGITS))


def encode(array: pa.Array) -> list[Any]:
    """Numbers, and text where a number would not be exact."""
    scale = array.type.scale
    if not 0 <= scale <= EXACT_POWER:
        return [None if value is None else _number_or_text(value) for value in array.to_pylist()]
    low, high = _words(array)
    long = high == low >> 63
    exact = long if scale == 0 else long & (low < EXACT_LIMIT) & (low > -EXACT_LIMIT)
    values = _with_nulls((low if scale == 0 else low / 10.0**scale).tolist(), array)
    for position in np.flatnonzero(~exact).tolist():
        values[position] = _number_or_text(array[position].as_py())
    return values


def _number_or_text(value: Decimal) -> int | float | str:
    if value == value.to_integral_value() and value.copy_abs() < 2**63:
        return int(value)
    return float(value) if _significant(value) <= EXACT_DIGITS else f"{value:f}"


def _significant(value: Decimal) -> int:
    """The number of digits that count; `Decimal.normalize` would round to the context's precision."""
    return len("".join(map(str, value.as_tuple().digits)).strip("0"))


def decode(values: list[Any], kind: pa.DataType) -> pa.Array:
    """The decimals that `encode` made these of."""
    numbers = _all_small(values, kind)
    if numbers is not None:
        unscaled = np.rint(numbers * 10.0**kind.scale)
        if not bool(np.all(unscaled / 10.0**kind.scale == numbers)):
            raise Unfit(kind)
        mask = np.array([value is None for value in values], np.bool_)
        return from_unscaled(pa.array(unscaled.astype(np.int64), mask=mask), kind)
    try:
        return pa.array([None if value is None else _exactly(value, kind) for value in values], kind)
    except (InvalidOperation, pa.ArrowException, TypeError, ValueError) as cause:
        raise Unfit(kind) from cause


def _all_small(values: list[Any], kind: pa.DataType) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """The values as doubles if each is a number of no more digits than a double holds exactly."""
    if not 0 <= kind.scale <= EXACT_POWER or any(isinstance(value, str | bytes) for value in values):
        return None
    numbers = np.array([0 if value is None else value for value in values], np.float64)
    limit = min(EXACT_LIMIT, 10.0**kind.precision) / 10.0**kind.scale
    return numbers if bool(np.all(np.abs(numbers) < limit)) else None


def _exactly(value: Any, kind: pa.DataType) -> Decimal:
    number = Decimal(repr(value) if isinstance(value, float) else value)
    if isinstance(value, float) and _significant(number) > EXACT_DIGITS:
        raise Unfit(kind)
    return number


def _words(array: pa.Array) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.int64]]]:
    """The lower and upper 64 bits of the unscaled integers; zero where the value is NULL."""
    words = np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset : 2 * (array.offset + len(array))]
    valid = np.asarray(array.is_valid())
    return np.where(valid, words[::2], 0), np.where(valid, words[1::2], 0)


def _with_nulls(values: list[Any], array: pa.Array) -> list[Any]:
    if array.null_count:
        for position in np.flatnonzero(np.asarray(array.is_null())).tolist():
            values[position] = None
    return values


def from_unscaled(integers: pa.Array, kind: pa.DataType) -> pa.Array:
    """Decimals from their unscaled integers (int64)."""
    low = np.asarray(integers.fill_null(0))
    words = np.empty(2 * len(low), np.int64)
    words[::2], words[1::2] = low, low >> 63
    whole = pa.Array.from_buffers(kind, len(low), [None, pa.py_buffer(words)])
    return whole if not integers.null_count else pc.if_else(integers.is_valid(), whole, pa.scalar(None, kind))


def to_unscaled(array: pa.Array) -> pa.Array:
    """The unscaled integers (int64) of decimals; `pa.ArrowInvalid` if one doesn't fit."""
    low, high = _words(array)
    if not bool(np.all(high == low >> 63)):
        raise pa.ArrowInvalid("beyond 64 bits")
    return pa.array(low, mask=np.asarray(array.is_null()))
