"""What a new schema would break: columns of streams, and the places where views read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.model import INSTANT
from headwater.operate.impact import impact
from headwater.schemas.columns import fields_of, takes
from headwater.schemas.written import Written

STREAM = """
CREATE STREAM payments (
  id STRING, card STRING ALIAS card_no, amount DECIMAL(9, 2), country STRING DEFAULT 'AT', key STRING, at TIMESTAMP,
  WATERMARK FOR at AS at
) WITH (connector = 'kafka', topic = 'payments', brokers = 'none:1', format = '{format}', message_key = 'key');
CREATE STREAM others (id STRING) WITH (connector = 'kafka', topic = 'others', brokers = 'none:1', format = 'avro');
CREATE MATERIALIZED VIEW spend AS
  SELECT card, window_end, sum(amount) AS spent
  FROM TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '1' MINUTE)
  GROUP BY card, window_end;
CREATE MATERIALIZED VIEW ids AS SELECT id, country, key FROM payments;
"""
INSTANTS = {"type": "long", "logicalType": "timestamp-micros"}
DECIMALS = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}


def avro(**fields: Any) -> Written:
    named = [{"name": name, "type": kind} for name, kind in fields.items()]
    return Written("AVRO", json.dumps({"type": "record", "name": "P", "fields": named}))


def broken(folder: Path, schema: Written, form: str = "avro") -> tuple[tuple[str, ...], list[str]]:
    (folder / "headwater.toml").write_text('name = "shop"')
    (folder / "a.sql").write_text(STREAM.format(format=form))
    with hw.open(folder) as project:
        assert [found.summary for found in project.check().findings if found.severity == "error"] == []
        found = impact(project.declared, "payments-value", schema)
    return found.columns, [f"{one.origin.line if one.origin else None}: {one.summary}" for one in found.findings]


def test_a_schema_with_all_that_is_read_breaks_nothing(tmp_path: Path) -> None:
    schema = avro(id="string", card_no=["null", "string"], amount=DECIMALS, at=INSTANTS, more="int")
    columns, views = broken(tmp_path, schema)
    assert views == []
    assert columns == ('"payments": column "country" has no field, and would be its default, \'AT\'',)


def test_a_field_that_goes_breaks_the_views_that_read_it(tmp_path: Path) -> None:
    columns, views = broken(tmp_path, avro(id="string", card="string", country="string", at=INSTANTS))
    assert columns == ('"payments": column "amount" has no field, and would be NULL',)
    assert views == ['8: view "spend" reads an unknown column "amount"']


def test_a_type_that_a_column_doesn_t_take_breaks_the_views_that_compute_with_it(tmp_path: Path) -> None:
    fields = {"id": "string", "card": "string", "country": "string", "at": INSTANTS}
    columns, views = broken(tmp_path, avro(**fields, amount={"type": "array", "items": "int"}))
    assert columns == ('"payments": column "amount" is DECIMAL(9, 2), and its field ARRAY<INT>',)
    assert len(views) == 1 and views[0].startswith('8: view "spend"')


def test_without_the_event_time_a_window_breaks(tmp_path: Path) -> None:
    fields = dict.fromkeys(("id", "card", "country"), "string")
    _, views = broken(tmp_path, avro(**fields, amount=DECIMALS))
    assert any('view "spend"' in text for text in views)
    assert not any('view "ids"' in text for text in views)


def test_protobuf_and_json_schema_say_what_their_fields_are() -> None:
    proto = """syntax = "proto3"; import "google/protobuf/timestamp.proto";
        message P { string id = 1; repeated int64 ns = 2; map<string, bool> m = 3; google.protobuf.Timestamp at = 4;
                    Q q = 5; bytes raw = 6; oneof o { uint32 u = 7; } }
        message Q { float f = 1; P again = 2; }"""
    assert fields_of(Written("PROTOBUF", proto)) == {
        "id": pa.string(), "ns": pa.list_(pa.int64()), "m": pa.map_(pa.string(), pa.bool_()), "at": INSTANT,
        "q": None, "raw": pa.binary(), "u": pa.int64(),
    }  # fmt: skip
    schema = {"properties": {"id": {"type": ["string", "null"]}, "n": {"type": "integer"}, "any": {}, "tags":
              {"type": "array", "items": {"type": "number"}}, "o": {"type": "object", "properties": {}}}}  # fmt: skip
    assert fields_of(Written("JSON", json.dumps(schema))) == {
        "id": pa.string(), "n": pa.int8(), "any": None, "tags": pa.list_(pa.float64()), "o": pa.struct([]),
    }  # fmt: skip
    assert fields_of(Written("AVRO", '"string"')) is None


@pytest.mark.parametrize(
    ("given", "column", "taken"),
    [
        (pa.int32(), pa.int64(), True),
        (pa.int64(), pa.int32(), False),
        (pa.int64(), pa.float64(), True),
        (pa.float64(), pa.decimal128(12, 2), True),
        (pa.float64(), pa.int64(), False),
        (pa.string(), INSTANT, True),
        (pa.string(), pa.int32(), False),
        (pa.binary(), pa.string(), True),
        (None, pa.int32(), True),
        (pa.struct([("a", pa.int32()), ("b", pa.int32())]), pa.struct([("a", pa.int64())]), True),
        (pa.struct([("a", pa.int32())]), pa.struct([("b", pa.int64())]), False),
        (pa.list_(pa.string()), pa.list_(pa.int32()), False),
    ],
    ids=str,
)
def test_a_column_takes_some_types(given: pa.DataType | None, column: pa.DataType, taken: bool) -> None:
    assert takes(column, given) is taken
