"""The rules for values: from every Arrow type and from Python, the same."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.intake import Decoder, convert
from headwater.intake.values import column_of
from headwater.model import INSTANT, Stream
from tests.intake.strategies import same, scalar_types, tables, types, values
from tests.intake.topics import decoder_of

LOCAL = pa.timestamp("us")
MONEY = pa.decimal128(12, 2)
MOMENT = datetime(2024, 1, 1, 12, tzinfo=UTC)
BERLIN = timezone(timedelta(hours=1))
BAD = object()
"""Stands for: the value doesn't fit."""


class Size(IntEnum):
    SMALL = 1


ARROW_RULES: list[tuple[pa.Array, pa.DataType, Any]] = [
    (pa.array([7], pa.int64()), pa.int8(), 7),
    (pa.array([300], pa.int64()), pa.int8(), BAD),
    (pa.array([2**63], pa.uint64()), pa.int64(), BAD),
    (pa.array([1.0]), pa.int32(), 1),
    (pa.array([1.5]), pa.int32(), BAD),
    (pa.array([float("nan")]), pa.int32(), BAD),
    (pa.array([Decimal("2.00")]), pa.int32(), 2),
    (pa.array(["1"]), pa.int32(), BAD),
    (pa.array([True]), pa.int32(), BAD),
    (pa.array([1]), pa.bool_(), BAD),
    (pa.array(["true"]), pa.bool_(), BAD),
    (pa.array([2**53 + 1]), pa.float64(), float(2**53)),
    (pa.array([Decimal("0.1")]), pa.float64(), 0.1),
    (pa.array([1e39]), pa.float32(), BAD),
    (pa.array([float("inf")]), pa.float32(), float("inf")),
    (pa.array(["1.5"]), pa.float64(), BAD),
    (pa.array(["inf"]), pa.float64(), BAD),
    (pa.array(["Infinity"]), pa.float64(), float("inf")),
    (pa.array(["-Infinity"]), pa.float32(), float("-inf")),
    (pa.array([0.1]), MONEY, Decimal("0.10")),
    (pa.array([12.345]), MONEY, BAD),
    (pa.array([0.1 + 0.2]), MONEY, BAD),
    (pa.array([float("nan")]), MONEY, BAD),
    (pa.array([float("inf")]), MONEY, BAD),
    (pa.array([5]), MONEY, Decimal("5.00")),
    (pa.array([10**10]), MONEY, BAD),
    (pa.array(["12.50"]), MONEY, Decimal("12.50")),
    (pa.array(["12.505"]), MONEY, BAD),
    (pa.array([Decimal("12.500")]), MONEY, Decimal("12.50")),
    (pa.array([Decimal("12.505")]), MONEY, BAD),
    (pa.array([1]), pa.string(), BAD),
    (pa.array([b"a"]), pa.string(), BAD),
    (pa.array(["a"], pa.large_string()), pa.string(), "a"),
    (pa.array(["a"], pa.string_view()), pa.string(), "a"),
    (pa.array(["a"]).dictionary_encode(), pa.string(), "a"),
    (pa.array(["aGk="]), pa.binary(), b"hi"),
    (pa.array(["aGk"]), pa.binary(), BAD),
    (pa.array([b"hi"], pa.binary(2)), pa.binary(), b"hi"),
    (pa.array(["2024-01-01"]), pa.date32(), date(2024, 1, 1)),
    (pa.array(["2024-1-1"]), pa.date32(), BAD),
    (pa.array([datetime(2024, 1, 1)]), pa.date32(), date(2024, 1, 1)),
    (pa.array([datetime(2024, 1, 1, 1)]), pa.date32(), BAD),
    (pa.array([MOMENT]), pa.date32(), BAD),
    (pa.array([19000]), pa.date32(), BAD),
    (pa.array([1704110400]), INSTANT, BAD),
    (pa.array([1704110400.0]), INSTANT, BAD),
    (pa.array(["2024-01-01T12:00:00Z"]), INSTANT, MOMENT),
    (pa.array(["2024-01-01 13:00:00+01:00"]), INSTANT, MOMENT),
    (pa.array(["2024-01-01T12:00:00"]), INSTANT, MOMENT),
    (pa.array(["2024-01-01"]), INSTANT, datetime(2024, 1, 1, tzinfo=UTC)),
    (pa.array(["2024-01-01T12:00:00.0000001Z"]), INSTANT, BAD),
    (pa.array(["noon"]), INSTANT, BAD),
    (pa.array([1704110400 * 10**9], pa.timestamp("ns")), INSTANT, MOMENT),
    (pa.array([1704110400 * 10**9 + 1], pa.timestamp("ns")), INSTANT, BAD),
    (pa.array([1704110400], pa.timestamp("s", "America/New_York")), INSTANT, MOMENT),
    (pa.array([date(2024, 1, 1)]), INSTANT, datetime(2024, 1, 1, tzinfo=UTC)),
    (pa.array(["2024-01-01T12:00:00"]), LOCAL, datetime(2024, 1, 1, 12)),
    (pa.array(["2024-01-01T12:00:00Z"]), LOCAL, BAD),
    (pa.array([MOMENT]), LOCAL, BAD),
    (pa.array([[1, 2]], pa.large_list(pa.int64())), pa.list_(pa.int8()), [1, 2]),
    (pa.array([[1, 2]], pa.list_(pa.int64(), 2)), pa.list_(pa.int8()), [1, 2]),
    (pa.array([[1, 300]]), pa.list_(pa.int8()), BAD),
    (pa.array([{"a": 1, "z": 0}]), pa.struct([("a", pa.int8()), ("b", pa.string())]), {"a": 1, "b": None}),
    (pa.array([{"a": "x"}]), pa.struct([("a", pa.int8())]), BAD),
    (pa.array([{"a": None}]), pa.struct([pa.field("a", pa.int8(), nullable=False), ("b", pa.int8())]), BAD),
    (pa.array([{"a": 1}]), pa.map_(pa.string(), pa.int64()), BAD),
    (pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64())), pa.map_(pa.string(), pa.int8()), BAD),
    (pa.array([[1]]), pa.string(), BAD),
    (pa.array(["x"]), pa.list_(pa.string()), BAD),
    (pa.array([{"a": 1}]), pa.list_(pa.int64()), BAD),
]


def name_of(rule: tuple[pa.Array, pa.DataType, Any]) -> str:
    return f"{rule[0].type} {rule[0][0]} to {rule[1]}"[:70]


@pytest.mark.parametrize("rule", ARROW_RULES, ids=name_of)
def test_an_arrow_value_fits_or_is_marked(rule: tuple[pa.Array, pa.DataType, Any]) -> None:
    array, kind, expected = rule
    with_null = pa.concat_arrays([array, pa.nulls(1, array.type), array]) if len(array) else array
    found = convert(with_null, kind)
    assert found.values.type == kind
    found.values.validate(full=True)
    if expected is BAD:
        assert found.bad is not None
        assert (found.values.to_pylist(), found.bad.to_pylist()) == ([None] * 3, [True, False, True])
    else:
        assert (found.values.to_pylist(), found.bad) == ([expected, None, expected], None)


PYTHON_RULES: list[tuple[Any, pa.DataType, Any]] = [
    (1, pa.int32(), 1),
    (2**40, pa.int32(), BAD),
    (2**70, pa.int64(), BAD),
    (10**30, pa.decimal128(38, 0), Decimal(10**30)),
    (10**400, pa.float64(), BAD),
    (True, pa.int32(), BAD),
    (1, pa.bool_(), BAD),
    (Size.SMALL, pa.int32(), 1),
    (np.int16(3), pa.int32(), 3),
    (np.float32(0.5), pa.float64(), 0.5),
    (np.bool_(True), pa.bool_(), True),
    (1.0, pa.int32(), 1),
    (1.5, pa.int32(), BAD),
    (1e39, pa.float32(), BAD),
    (Decimal("1.10"), MONEY, Decimal("1.10")),
    (Decimal("1.101"), MONEY, BAD),
    (Decimal("NaN"), MONEY, BAD),
    (Decimal("sNaN"), MONEY, BAD),
    (Decimal("1E+3"), MONEY, Decimal("1000.00")),
    (1.1, MONEY, Decimal("1.10")),
    ("1.10", MONEY, Decimal("1.10")),
    (1, pa.string(), BAD),
    (b"a", pa.string(), BAD),
    ("\ud800", pa.string(), BAD),
    (b"a", pa.binary(), b"a"),
    (bytearray(b"a"), pa.binary(), b"a"),
    ("YQ==", pa.binary(), b"a"),
    ("a", pa.binary(), BAD),
    (date(2024, 1, 1), pa.date32(), date(2024, 1, 1)),
    (datetime(2024, 1, 1, 5), pa.date32(), BAD),
    (datetime(2024, 1, 1), pa.date32(), date(2024, 1, 1)),
    (19000, pa.date32(), BAD),
    (1704110400, INSTANT, BAD),
    (MOMENT, INSTANT, MOMENT),
    (datetime(2024, 1, 1, 12), INSTANT, MOMENT),
    (datetime(2024, 1, 1, 13, tzinfo=BERLIN), INSTANT, MOMENT),
    (pd.Timestamp("2024-01-01 12:00", tz="UTC"), INSTANT, MOMENT),
    (pd.Timestamp("2024-01-01 12:00:00.000000001", tz="UTC"), INSTANT, BAD),
    (pd.NaT, INSTANT, None),
    (pd.NA, pa.int32(), None),
    (MOMENT, LOCAL, BAD),
    (datetime(2024, 1, 1, 12), LOCAL, datetime(2024, 1, 1, 12)),
    ([1, "x"], pa.list_(pa.int32()), BAD),
    ((1, None), pa.list_(pa.int32()), [1, None]),
    (np.array([1, 2]), pa.list_(pa.int32()), [1, 2]),
    ({"a": 1}, pa.map_(pa.string(), pa.int32()), [("a", 1)]),
    ({1: "x"}, pa.map_(pa.int32(), pa.string()), [(1, "x")]),
    ([("a", 1)], pa.map_(pa.string(), pa.int32()), [("a", 1)]),
    ([("a", 1), ("a", 2)], pa.map_(pa.string(), pa.int32()), BAD),
    ([1], pa.map_(pa.string(), pa.int32()), BAD),
    ({None: 1}, pa.map_(pa.string(), pa.int32()), BAD),
    ({"x": {"y": [1]}}, pa.struct([("x", pa.struct([("y", pa.list_(pa.int8()))]))]), {"x": {"y": [1]}}),
    ({"x": 1}, pa.list_(pa.int32()), BAD),
    (object(), pa.string(), BAD),
    (object(), pa.list_(pa.string()), BAD),
]


def shown(value: object) -> str:
    """A value as it is in every process: an object without a text of its own is shown with its address."""
    return "" if type(value) is object else repr(value)


@pytest.mark.parametrize(
    "rule", PYTHON_RULES, ids=lambda rule: f"{type(rule[0]).__name__} {shown(rule[0])} to {rule[1]}"[:70]
)
def test_a_python_value_fits_or_is_marked(rule: tuple[Any, pa.DataType, Any]) -> None:
    value, kind, expected = rule
    found = column_of([value, None, value], kind)
    assert found.values.type == kind
    found.values.validate(full=True)
    if expected is BAD:
        assert found.bad is not None
        assert (found.values.to_pylist(), found.bad.to_pylist()) == ([None] * 3, [True, False, True])
    else:
        assert (found.values.to_pylist(), found.bad) == ([expected, None, expected], None)


def test_values_of_many_classes_in_one_column_keep_their_places() -> None:
    found = column_of([1, "2.5", None, Decimal("3.5"), True, 4.25, b"5"], MONEY)
    assert found.values.to_pylist() == [Decimal(1), Decimal("2.5"), None, Decimal("3.5"), None, Decimal("4.25"), None]
    assert found.bad is not None
    assert found.bad.to_pylist() == [False, False, False, False, True, False, True]


def test_strings_that_are_not_utf8_in_arrow_memory_are_marked() -> None:
    offsets, data = pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"a\xff")
    found = convert(pa.Array.from_buffers(pa.string(), 2, [None, offsets, data]), pa.string())
    assert (found.values.to_pylist(), found.bad.to_pylist() if found.bad else None) == (["a", None], [False, True])


def test_zoned_and_local_texts_may_be_mixed() -> None:
    found = convert(pa.array(["2024-01-01T12:00:00", "2024-01-01T13:00:00+01:00", "2024-01-01", None]), INSTANT)
    assert found.values.to_pylist() == [MOMENT, MOMENT, datetime(2024, 1, 1, tzinfo=UTC), None]


@pytest.mark.parametrize(
    ("value", "kind", "reason"),
    [
        ([1, 2, "x"], pa.list_(pa.int32()), 'column "a[2]" is "x", which doesn\'t fit INT'),
        ({"b": {"c": 1.5}}, pa.struct([("b", pa.struct([("c", pa.int32())]))]),
         'column "a.b.c" is 1.5, which doesn\'t fit INT'),
        ({"k": "v"}, pa.map_(pa.string(), pa.date32()), "column \"a['k']\" is \"v\", which doesn't fit DATE"),
        ({"b": [1]}, pa.string(), 'column "a" is {"b":[1]}, which doesn\'t fit STRING'),
        ("y" * 1000, pa.int32(), 'column "a" is "' + "y" * 77 + '...", which doesn\'t fit INT'),
    ],
)  # fmt: skip
def test_the_reason_names_the_innermost_value_by_its_path(value: Any, kind: pa.DataType, reason: str) -> None:
    assert decoder_of(kind).decode([{"a": value}]).dead["reason"].to_pylist() == [reason]


@given(tables(types()))
def test_rows_as_python_values_are_the_rows_of_the_table(found: tuple[Stream, pa.Table]) -> None:
    stream, table = found
    decoded = Decoder(stream).decode(table.to_pylist())
    assert decoded.dead.to_pylist() == []
    assert same(decoded.rows, table)


@given(tables(types()))
def test_an_arrow_table_of_the_declared_types_comes_through_unchanged(found: tuple[Stream, pa.Table]) -> None:
    stream, table = found
    chunked = pa.concat_tables([table.slice(0, 2), table.slice(2)])
    assert same(Decoder(stream).decode(chunked).rows, table)


@given(scalar_types(), scalar_types(), st.data())
def test_arrow_and_python_obey_the_same_rules(source: pa.DataType, kind: pa.DataType, data: st.DataObject) -> None:
    array = pa.array(data.draw(st.lists(values(source), max_size=5)), source)
    from_arrow, from_python = convert(array, kind), column_of(array.to_pylist(), kind)
    if pa.types.is_float32(source) and pa.types.is_decimal(kind):
        return  # Python has no 32-bit floats: the shortest spelling of 0.1 differs
    assert repr(from_arrow.values.to_pylist()) == repr(from_python.values.to_pylist())
    marks = [None if found.bad is None else found.bad.to_pylist() for found in (from_arrow, from_python)]
    assert marks[0] == marks[1]
