"""Random types, values of them, and tables, for properties of every format."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from headwater.model import INSTANT, Column, Stream

SCALARS: list[pa.DataType] = [
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(12, 2),
    pa.decimal128(38, 10), pa.decimal128(5, 5), pa.string(), pa.binary(), pa.date32(), INSTANT, pa.timestamp("us"),
]  # fmt: skip


def scalar_types() -> st.SearchStrategy[pa.DataType]:
    return st.sampled_from(SCALARS)


def types() -> st.SearchStrategy[pa.DataType]:
    """Scalars, and lists, structs and maps of them."""
    return st.recursive(scalar_types(), _nested, max_leaves=4)


def _nested(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    keys = st.sampled_from([pa.string(), pa.int32(), pa.date32(), pa.bool_(), pa.decimal128(12, 2)])
    fields = st.lists(inner, min_size=1, max_size=3).map(
        lambda kinds: pa.struct([(f"f{place}", kind) for place, kind in enumerate(kinds)])
    )
    return st.one_of(inner.map(pa.list_), fields, st.builds(pa.map_, keys, inner))


def values(kind: pa.DataType, text: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Any]:
    """Python values that a column of the type can hold, None among them."""
    return st.none() | present(kind, text)


def present(kind: pa.DataType, text: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Any]:
    if pa.types.is_list(kind):
        return st.lists(values(kind.value_type, text), max_size=3)
    if pa.types.is_struct(kind):
        return st.fixed_dictionaries({field.name: values(field.type, text) for field in kind})
    if pa.types.is_map(kind):
        entries = st.dictionaries(present(kind.key_type, text), values(kind.item_type, text), max_size=3)
        return entries.map(lambda found: list(found.items()))
    if pa.types.is_integer(kind):
        return st.integers(-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1)
    if pa.types.is_decimal(kind):
        most = 10**kind.precision - 1
        return st.integers(-most, most).map(lambda units: Decimal(units).scaleb(-kind.scale, _WIDE))
    return _SIMPLE[kind] if kind != pa.string() or text is None else text


_WIDE = Context(prec=50)
_SIMPLE: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.string(): st.text(max_size=12),
    pa.binary(): st.binary(max_size=8),
    pa.date32(): st.dates(),
    INSTANT: st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)),
    pa.timestamp("us"): st.datetimes(),
}


@st.composite
def streams(draw: st.DrawFn, kinds: st.SearchStrategy[pa.DataType]) -> Stream:
    found = draw(st.lists(kinds, min_size=1, max_size=5))
    names = draw(st.lists(st.text("abcxyzäß \"'\\", min_size=1, max_size=4), min_size=len(found), max_size=len(found),
                          unique=True))  # fmt: skip
    columns = tuple(Column(name, kind) for name, kind in zip(names, found, strict=True))
    return Stream(name="random", columns=columns)


@st.composite
def tables(
    draw: st.DrawFn, kinds: st.SearchStrategy[pa.DataType], text: st.SearchStrategy[str] | None = None
) -> tuple[Stream, pa.Table]:
    """A stream and rows of it."""
    stream = draw(streams(kinds))
    count = draw(st.integers(0, 6))
    arrays = [
        pa.array(draw(st.lists(values(column.type, text), min_size=count, max_size=count)), column.type)
        for column in stream.columns
    ]
    return stream, pa.Table.from_arrays(arrays, schema=stream.schema)


def same(first: pa.Table, second: pa.Table) -> bool:
    """Whether two tables hold the same values, where NaN is NaN."""
    return first.schema == second.schema and repr(first.to_pylist()) == repr(second.to_pylist())
