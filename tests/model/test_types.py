from __future__ import annotations

import pyarrow as pa
import pytest

from headwater.model import INSTANT, Column, Variant, can_be_logged, schema_of, spell_type


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.bool_(), "BOOLEAN"),
        (pa.int8(), "TINYINT"),
        (pa.int64(), "BIGINT"),
        (pa.float32(), "FLOAT"),
        (pa.decimal128(12, 2), "DECIMAL(12, 2)"),
        (INSTANT, "TIMESTAMP"),
        (pa.timestamp("us"), "TIMESTAMP_NTZ"),
        (pa.duration("us"), "INTERVAL DAY TO SECOND"),
        (pa.list_(pa.map_(pa.string(), pa.date32())), "ARRAY<MAP<STRING, DATE>>"),
        (pa.struct([("a", pa.int32()), ("b", pa.string())]), "STRUCT<a: INT, b: STRING>"),
        (Variant(), "VARIANT"),
        (pa.null(), "VOID"),
    ],
)
def test_a_type_is_named_as_spark_sql_does(kind: pa.DataType, name: str) -> None:
    assert spell_type(kind) == name


@pytest.mark.parametrize("kind", [pa.uint8(), pa.timestamp("ns"), pa.large_string(), pa.time32("s")])
def test_a_type_that_spark_sql_lacks_has_no_name(kind: pa.DataType) -> None:
    with pytest.raises(ValueError, match="has no Spark SQL type"):
        spell_type(kind)


@pytest.mark.parametrize(
    ("kind", "logged"),
    [
        (pa.string(), True),
        (INSTANT, True),
        (pa.list_(pa.struct([("a", pa.map_(pa.string(), pa.int8()))])), True),
        (pa.struct([]), False),
        (pa.list_(pa.null()), False),
        (pa.map_(pa.string(), pa.duration("us")), False),
        (pa.time64("us"), False),
        (pa.month_day_nano_interval(), False),
        (Variant(), False),
    ],
)
def test_the_log_keeps_what_a_delta_table_can(kind: pa.DataType, logged: bool) -> None:
    assert can_be_logged(kind) is logged


def test_variants_are_one_type() -> None:
    assert Variant() == Variant()
    assert hash(Variant()) == hash(Variant())
    assert Column("a", Variant()) in {Column("a", Variant())}


def test_columns_make_a_schema_in_their_order() -> None:
    columns = (Column("b", pa.string(), nullable=False), Column("a", pa.int32()))
    assert schema_of(columns) == pa.schema([pa.field("b", pa.string(), nullable=False), pa.field("a", pa.int32())])
    assert [str(column) for column in columns] == ["b STRING NOT NULL", "a INT"]
