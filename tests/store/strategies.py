"""Columns of every type that a view can have, with all the values that Arrow can hold of it."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from headwater.model import INSTANT, Variant
from tests.intake.strategies import present

LONG = 2**63 - 1
NUMBERED: dict[pa.DataType, tuple[pa.DataType, int, int]] = {
    pa.date32(): (pa.int32(), -(2**31), 2**31 - 1),
    INSTANT: (pa.int64(), -LONG, LONG),
    pa.timestamp("us"): (pa.int64(), -LONG, LONG),
    pa.time64("us"): (pa.int64(), 0, 86_400_000_000 - 1),
    pa.duration("us"): (pa.int64(), -LONG - 1, LONG),
}
"""Types that are a number underneath: its type and range. Python's own dates end at the year 9999."""
COMMON = {pa.date32(): (0, 20_000), pa.time64("us"): (0, 86_399_000_000), pa.duration("us"): (-(10**13), 10**13)}
PLAIN = [
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.binary(),
    pa.decimal128(12, 2), pa.decimal128(15, 0), pa.decimal128(15, 15), pa.decimal128(18, 0), pa.decimal128(19, 0),
    pa.decimal128(22, 2), pa.decimal128(38, 0), pa.decimal128(38, 20), pa.decimal128(38, 38), pa.null(),
    pa.month_day_nano_interval(), *NUMBERED,
]  # fmt: skip


def scalar_types() -> st.SearchStrategy[pa.DataType]:
    return st.sampled_from(PLAIN)


def types() -> st.SearchStrategy[pa.DataType]:
    return st.recursive(scalar_types(), _nested, max_leaves=4) | st.just(Variant())


def _nested(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    keys = st.sampled_from([pa.string(), pa.int32(), pa.date32(), pa.bool_(), pa.decimal128(12, 2), pa.binary()])
    fields = st.lists(inner, min_size=1, max_size=3).map(
        lambda kinds: pa.struct([(f"f {place}", kind) for place, kind in enumerate(kinds)])
    )
    return st.one_of(inner.map(pa.list_), fields, st.builds(pa.map_, keys, inner))


@st.composite
def arrays(draw: st.DrawFn, kind: pa.DataType, count: int) -> pa.Array:
    """So many values of a type, NULLs among them."""
    if isinstance(kind, Variant):
        return pa.ExtensionArray.from_storage(kind, draw(arrays(kind.storage_type, count)))
    if kind in NUMBERED:
        number, least, most = NUMBERED[kind]
        chosen = st.none() | st.integers(*COMMON.get(kind, (0, 2 * 10**15))) | _rounded(least, most)
        return pa.array(draw(st.lists(chosen, min_size=count, max_size=count)), number).cast(kind)
    return pa.array(draw(st.lists(st.none() | _values(kind), min_size=count, max_size=count)), kind)


def _rounded(least: int, most: int) -> st.SearchStrategy[int]:
    """Numbers of which many are whole milliseconds, seconds or days."""
    units = st.sampled_from([1, 1_000, 1_000_000, 86_400_000_000])
    return st.builds(lambda number, unit: number // unit * unit, st.integers(0, most), units) | st.integers(least, most)


def _values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_null(kind):
        return st.none()
    if kind == pa.month_day_nano_interval():
        numbers = st.integers(-(2**31), 2**31 - 1)
        return st.tuples(numbers, st.just(0) | numbers, st.just(0) | st.integers(-LONG, LONG))
    if kind == pa.time64("us"):
        return st.times()
    if kind == pa.duration("us"):
        most = timedelta(microseconds=LONG)
        return st.timedeltas(-most, most)
    if pa.types.is_decimal(kind):
        most = 10**kind.precision - 1
        near = [10**15 - 1, 10**15, 10**15 + 1, 2**53 + 1, 2**63 - 1, 2**63, 10**17, 5 * 10**16]
        edges = st.sampled_from([0, most, *(value for value in near if value <= most)])
        signed = st.builds(lambda value, sign: value * sign, edges | st.integers(0, 10**6), st.sampled_from([1, -1]))
        return (signed | st.integers(-most, most)).map(lambda units: _decimal(units, kind.scale))
    if pa.types.is_list(kind):
        return st.lists(st.none() | _values(kind.value_type), max_size=3)
    if pa.types.is_struct(kind):
        return st.fixed_dictionaries({field.name: st.none() | _values(field.type) for field in kind})
    if pa.types.is_map(kind):
        entries = st.dictionaries(_values(kind.key_type), st.none() | _values(kind.item_type), max_size=3)
        return entries.map(lambda found: list(found.items()))
    return present(kind)


def _decimal(units: int, scale: int) -> Decimal:
    sign, digits = int(units < 0), tuple(int(digit) for digit in str(abs(units)))
    return Decimal((sign, digits, -scale))


def identical(first: pa.Array, second: pa.Array) -> bool:
    """The same type and the same values, where NaN is NaN and −0.0 is not 0.0."""
    if first.type != second.type or len(first) != len(second):
        return False
    if first.type in NUMBERED:
        number = NUMBERED[first.type][0]
        return bool(first.cast(number).equals(second.cast(number)))
    if isinstance(first.type, Variant):
        return identical(first.storage, second.storage)
    return repr(first.to_pylist()) == repr(second.to_pylist())
