from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given

from headwater import findings
from headwater.model import INSTANT, Variant
from headwater.sql import arrow_type, parse_column, parse_type, spell, sqlglot_type
from tests.sql.models import types


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("BOOLEAN", pa.bool_()),
        ("BYTE", pa.int8()),
        ("tinyint", pa.int8()),
        ("SHORT", pa.int16()),
        ("SMALLINT", pa.int16()),
        ("INT", pa.int32()),
        ("INTEGER", pa.int32()),
        ("LONG", pa.int64()),
        ("BIGINT", pa.int64()),
        ("FLOAT", pa.float32()),
        ("REAL", pa.float32()),
        ("DOUBLE", pa.float64()),
        ("DECIMAL", pa.decimal128(10, 0)),
        ("DEC(5)", pa.decimal128(5, 0)),
        ("NUMERIC(12,2)", pa.decimal128(12, 2)),
        ("STRING", pa.string()),
        ("VARCHAR(3)", pa.string()),
        ("CHAR(3)", pa.string()),
        ("BINARY", pa.binary()),
        ("BYTES", pa.binary()),
        ("VARBINARY", pa.binary()),
        ("DATE", pa.date32()),
        ("TIMESTAMP", INSTANT),
        ("TIMESTAMP(3)", INSTANT),
        ("TIMESTAMP_LTZ", INSTANT),
        ("TIMESTAMP_LTZ(3)", INSTANT),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", INSTANT),
        ("TIMESTAMP_NTZ", pa.timestamp("us")),
        ("TIME", pa.time64("us")),
        ("TIME(6)", pa.time64("us")),
        ("INTERVAL", pa.month_day_nano_interval()),
        ("INTERVAL YEAR TO MONTH", pa.month_day_nano_interval()),
        ("INTERVAL MONTH", pa.month_day_nano_interval()),
        ("INTERVAL DAY TO SECOND", pa.duration("us")),
        ("INTERVAL HOUR", pa.duration("us")),
        ("VARIANT", Variant()),
        ("VOID", pa.null()),
        ("ARRAY<INT>", pa.list_(pa.int32())),
        ("MAP<STRING, ARRAY<INT>>", pa.map_(pa.string(), pa.list_(pa.int32()))),
        (
            "STRUCT<a: INT, `b c`: STRING NOT NULL>",
            pa.struct([("a", pa.int32()), pa.field("b c", pa.string(), nullable=False)]),
        ),
        ("STRUCT<a INT, list ARRAY<DATE>>", pa.struct([("a", pa.int32()), ("list", pa.list_(pa.date32()))])),
        ("ROW<a INT, b ROW<c BYTES>>", pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.binary())]))])),
        ("ARRAY<INT NOT NULL>", pa.list_(pa.field("item", pa.int32(), nullable=False))),
        (
            "MAP<STRING, ARRAY<STRUCT<a: INT NOT NULL, b: DATE>> NOT NULL>",
            pa.map_(
                pa.string(),
                pa.field(
                    "value",
                    pa.list_(pa.struct([pa.field("a", pa.int32(), nullable=False), ("b", pa.date32())])),
                    nullable=False,
                ),
            ),
        ),
        ("ROW(a INT)", pa.struct([("a", pa.int32())])),
    ],
)
def test_a_type_is_read(text: str, kind: pa.DataType) -> None:
    assert parse_type(text) == kind
    assert parse_type(spell(sqlglot_type(kind))) == kind


def test_elements_that_may_not_be_null_are_told_apart() -> None:
    kind = parse_type("MAP<STRING, ARRAY<INT NOT NULL> NOT NULL>")
    assert not kind.item_field.nullable and not kind.item_type.value_field.nullable
    assert parse_type("MAP<STRING, ARRAY<INT>>").item_field.nullable
    assert spell(sqlglot_type(kind)) == "MAP<STRING, ARRAY<INT NOT NULL> NOT NULL>"


@given(types(loggable=False))
def test_a_type_is_written_so_that_it_reads_back(kind: pa.DataType) -> None:
    assert arrow_type(sqlglot_type(kind)) == kind
    assert parse_type(spell(sqlglot_type(kind))) == kind


@pytest.mark.parametrize("text", ["STRNG", "JSON", "DECIMAL(39, 2)", "DECIMAL(3, 5)", "GEOMETRY"])
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(findings.UnknownType):
        parse_type(text)


def test_a_column_is_read_with_its_properties() -> None:
    column = parse_column("a b", "ARRAY<INT> NOT NULL COMMENT 'it''s'")
    assert (column.name, column.type, column.nullable, column.comment) == ("a b", pa.list_(pa.int32()), False, "it's")
