"""Spark's types: text, Arrow and sqlglot, there and back."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater import model
from headwater.plan.spark_type import (
    BIGINT,
    BINARY,
    BOOLEAN,
    CALENDAR_INTERVAL,
    DATE,
    DAY_TO_SECOND,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNKNOWN,
    VARIANT,
    VOID,
    YEAR_TO_MONTH,
    SparkType,
    array,
    decimal,
    from_arrow,
    from_sqlglot,
    interval,
    map_of,
    parse_type,
    struct,
    to_arrow,
    to_sqlglot,
)  # fmt: skip
from headwater.sql import Headwater

SCALARS = [
    BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, TIME, VOID,
    VARIANT, DAY_TO_SECOND, YEAR_TO_MONTH, decimal(12, 2),
]  # fmt: skip
KEYS = st.sampled_from([INT, STRING, DATE, decimal(5, 0)])
NAMES = st.lists(st.sampled_from(["a", "b_c", "Name", "x y"]), min_size=1, max_size=3, unique=True)


def structs(kinds: st.SearchStrategy[SparkType]) -> st.SearchStrategy[SparkType]:
    """Structs whose fields are of these types."""
    return NAMES.flatmap(
        lambda names: st.tuples(*[kinds] * len(names)).map(lambda parts: struct(*zip(names, parts, strict=True)))
    )


TYPES = st.recursive(
    st.sampled_from(SCALARS),
    lambda kinds: st.one_of(kinds.map(array), st.tuples(KEYS, kinds).map(lambda pair: map_of(*pair)), structs(kinds)),
    max_leaves=6,
)


@given(TYPES)
def test_arrow_keeps_every_type_that_can_be_declared(kind: SparkType) -> None:
    assert from_arrow(to_arrow(kind)) == kind


@given(TYPES)
def test_sqlglot_keeps_every_type_that_can_be_declared(kind: SparkType) -> None:
    assert from_sqlglot(to_sqlglot(kind)) == kind


@given(TYPES)
def test_a_type_is_read_back_from_the_text_that_our_dialect_writes(kind: SparkType) -> None:
    assert parse_type(to_sqlglot(kind).sql(dialect=Headwater)) == kind


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("array<decimal(12,2)>", "array<decimal(12,2)>"),
        ("STRUCT<a: INT, `x y`: TIMESTAMP>", "struct<a:int,x y:timestamp>"),
        ("a INT NOT NULL COMMENT 'the first', b MAP<STRING, LONG>", "struct<a:int,b:map<string,bigint>>"),
        ("interval day to second", "interval day to second"),
        ("INTERVAL YEAR", "interval year"),
        ("interval", "interval"),
        ("DECIMAL", "decimal(10,0)"),
        ("varchar(10)", "string"),
        ("string collate UTF8_LCASE", "string"),
        ("timestamp_ltz", "timestamp"),
        ("time(3)", "time(3)"),
    ],
)
def test_a_type_is_read_as_spark_reads_it(text: str, spelled: str) -> None:
    assert str(parse_type(text)) == spelled


@pytest.mark.parametrize("text", ["", "array<", "blob", "map<string>", "struct<a>", "decimal(", "1 2 3 ?"])
def test_a_text_that_is_no_type_is_refused(text: str) -> None:
    if text:
        with pytest.raises(ValueError):
            parse_type(text)
    else:
        assert parse_type(text) == struct()


def test_the_fields_of_an_interval_are_lost_in_arrow_and_kept_in_the_type() -> None:
    assert to_arrow(interval("day", "day")) == to_arrow(DAY_TO_SECOND) == pa.duration("us")
    assert interval("day", "day") != DAY_TO_SECOND
    assert to_arrow(CALENDAR_INTERVAL) == pa.month_day_nano_interval()


def test_the_empty_map_has_a_type_in_arrow() -> None:
    assert to_arrow(map_of(VOID, VOID)) == pa.map_(pa.string(), pa.null())


def test_a_type_that_spark_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="uint8 has no Spark SQL type"):
        from_arrow(pa.uint8())


def test_an_unknown_type_is_unknown_wherever_it_stands() -> None:
    assert not array(UNKNOWN).is_known
    assert not struct(("a", INT), ("b", map_of(STRING, UNKNOWN))).is_known
    assert array(INT).is_known
    assert isinstance(to_arrow(VARIANT), model.Variant)
