"""CSV, bytes as they are, Debezium's envelope, and tombstones: what becomes of a message in each."""

from __future__ import annotations

import base64
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from headwater.intake import Decoded, Decoder
from headwater.intake.kafka.codec import codec_of
from headwater.intake.messages import Messages
from headwater.model import Stream, Table
from headwater.schemas.known import Draft
from headwater.sql import parse_declarations
from tests.intake.kafka.test_intake import Make
from tests.servers.registry import start_registry

TABLE = "CREATE TABLE cards (id BIGINT PRIMARY KEY, owner STRING, at TIMESTAMP, WATERMARK FOR at AS at)"
STREAM = "CREATE STREAM cards (id BIGINT, owner STRING, at TIMESTAMP)"
NOON = 1_767_268_800_000


def decode(declared: str, options: str, values: list[bytes | None]) -> Decoded:
    text = f"{declared} WITH (connector = 'kafka', topic = 't', {options});"
    (topic,) = parse_declarations(text, "t.sql").declarations
    assert isinstance(topic, Stream | Table)
    codec = codec_of(topic, {})
    assert codec is not None
    messages = Messages(pa.array(values, pa.binary()), range(len(values)))
    return Decoder(topic).decode(codec.read(messages), source="t[0]", where="t[0]")


def letters(decoded: Decoded) -> list[tuple[str, str]]:
    return [(letter["position"], letter["reason"]) for letter in decoded.dead.to_pylist()]


# CSV


def test_a_message_is_one_record_of_csv_with_its_columns_in_order() -> None:
    values = [b"1,Ann,2026-01-01T00:00:00Z\r\n", b'2,"Bo, the ""second""\nof his name",', b"3,,", b'4,"",']
    rows = decode(STREAM, "format = 'csv'", [*values]).rows
    assert rows["owner"].to_pylist() == ["Ann", 'Bo, the "second"\nof his name', None, ""]
    assert rows["id"].to_pylist() == [1, 2, 3, 4]


def test_a_record_may_have_its_fields_in_another_order_and_others_between_them() -> None:
    decoded = decode(STREAM, "format = 'csv', fields = 'owner, ignored, id', delimiter = 'tab'", [b"Ann\tx\t7"])
    assert decoded.rows.to_pylist() == [{"id": 7, "owner": "Ann", "at": None}]


def test_a_poisoned_record_costs_itself_only() -> None:
    good = [b"%d,Ann," % number for number in range(100)]
    poisoned = [b"1,2", b"x,Ann,", b'1,"Ann,', b"1,A,\n2,B,", None, b"\n", b"\xff,A,", b"  "]
    decoded = decode(STREAM, "format = 'csv'", [*good, *poisoned, *good])
    assert decoded.rows["id"].to_pylist() == [*range(100), *range(100)]
    assert letters(decoded) == [
        ("t[0]:100", "the record has 2 fields, and the header has 3"),
        ("t[0]:101", 'column "id" is "x", which doesn\'t fit BIGINT'),
        ("t[0]:102", "the record is not CSV: a quote is not closed"),
        ("t[0]:103", "the record is not CSV: a line end is out of place"),
        ("t[0]:104", "the message has no value"),
        ("t[0]:105", "the message has no value"),
        ("t[0]:106", "the message is not UTF-8"),
        ("t[0]:107", "the record has 1 field, and the header has 3"),
    ]


# Debezium


def change(op: str, before: Any = None, after: Any = None) -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "source": {"ts_ms": NOON, "table": "cards"}, "ts_ms": NOON + 5}


def test_a_change_is_the_row_after_it_and_a_deletion_that_of_its_key() -> None:
    rows = [
        change("r", after={"id": 1, "owner": "Ann", "at": "2026-01-01T00:00:00Z"}),
        change("u", {"id": 1}, {"id": 1, "owner": "Bo", "at": "2026-01-01T00:00:01Z"}),
        change("d", {"id": 1, "owner": "Bo", "at": "2026-01-01T00:00:01Z"}),
    ]
    values = [json.dumps(row).encode() for row in rows]
    found = decode(TABLE, "envelope = 'debezium'", [*values]).rows.to_pylist()
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert [(row["id"], row["owner"], row["_op"]) for row in found] == [
        (1, "Ann", "upsert"),
        (1, "Bo", "upsert"),
        (1, None, "delete"),
    ]
    assert found[2]["at"] == noon


@pytest.mark.parametrize("told", ["2026-01-01T12:00:01Z", "2026-01-01 12:00:01"])
def test_a_deletion_is_not_before_the_row_that_it_deletes_whichever_clock_told_its_time(told: str) -> None:
    (row,) = decode(
        TABLE, "envelope = 'debezium'", [json.dumps(change("d", {"id": 1, "at": told})).encode()]
    ).rows.to_pylist()
    assert row["at"] == datetime(2026, 1, 1, 12, 0, 1, tzinfo=UTC)


def test_a_stream_takes_no_deletions_and_nobody_takes_what_is_no_change() -> None:
    poisoned = [change("d", {"id": 1}), change("t"), {"id": 1}, change("c"), {"payload": change("m")}]
    values = [json.dumps(row).encode() for row in [*poisoned, change("c", None, {"id": 2})]]
    decoded = decode(STREAM, "envelope = 'debezium'", [*values, b"{"])
    assert decoded.rows["id"].to_pylist() == [2]
    assert letters(decoded) == [
        ("t[0]:0", "the message deletes a row, and a stream has no row to delete"),
        ("t[0]:1", "the message is no change of a row: its op is 't'"),
        ("t[0]:2", "the message is no change of a row: its op is None"),
        ("t[0]:3", "the message has no row after the change"),
        ("t[0]:4", "the message is no change of a row: its op is 'm'"),
        ("t[0]:6", "the message is not JSON: expecting property name enclosed in double quotes at character 2"),
    ]


def test_a_schema_beside_a_change_says_what_its_fields_are() -> None:
    micros, connect = "io.debezium.time.MicroTimestamp", "org.apache.kafka.connect.data"
    fields = [
        {"field": "id", "type": "int64"},
        {"field": "at", "type": "int64", "name": micros},
        {"field": "day", "type": "int32", "name": "io.debezium.time.Date"},
        {"field": "amount", "type": "bytes", "name": f"{connect}.Decimal", "parameters": {"scale": "2"}},
        {"field": "seen", "type": "int64", "name": f"{connect}.Timestamp"},
    ]
    amount = base64.b64encode((-1250).to_bytes(2, "big", signed=True)).decode()
    row = {"id": 1, "at": NOON * 1000 + 1, "day": 20_484, "amount": amount, "seen": NOON}
    schema = {"type": "struct", "fields": [{"field": "before"}, {"field": "after", "fields": fields}]}
    message = {"schema": schema, "payload": change("c", None, row)}
    wrong = {"schema": schema, "payload": change("c", None, {**row, "amount": "?"})}
    declared = "CREATE STREAM s (id INT, at TIMESTAMP, day DATE, amount DECIMAL(9, 2), seen TIMESTAMP_NTZ)"
    decoded = decode(declared, "envelope = 'debezium'", [json.dumps(one).encode() for one in (message, wrong)])
    assert decoded.rows.to_pylist() == [
        {
            "id": 1,
            "at": datetime(2026, 1, 1, 12, 0, 0, 1, tzinfo=UTC),
            "day": date(2026, 1, 31),
            "amount": Decimal("-12.50"),
            "seen": datetime(2026, 1, 1, 12),
        }
    ]
    assert letters(decoded) == [
        ("t[0]:1", 'the message doesn\'t fit the schema beside it: field "amount" is not base64')
    ]


def test_a_change_in_avro_is_opened_and_debezium_s_instants_are_read() -> None:
    value = {
        "type": "record",
        "name": "Value",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "at", "type": {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}},
        ],
    }
    nullable = [{"name": "before", "type": ["null", value]}, {"name": "after", "type": ["null", "Value"]}]
    envelope = {"type": "record", "name": "Envelope", "fields": [*nullable, {"name": "op", "type": "string"}]}
    with start_registry() as registry:
        serializer = AvroSerializer(SchemaRegistryClient({"url": registry.url}), json.dumps(envelope))
        place = SerializationContext("t", MessageField.VALUE)
        message = serializer({"before": None, "after": {"id": 7, "at": NOON * 1000}, "op": "c"}, place)
        options = f"format = 'avro', registry = '{registry.url}', envelope = 'debezium'"
        rows = decode(STREAM, options, [message]).rows  # type: ignore[list-item]
    assert rows.to_pylist() == [{"id": 7, "owner": None, "at": datetime(2026, 1, 1, 12, tzinfo=UTC)}]


# Through a broker


def test_messages_are_taken_as_they_are_with_what_is_beside_them(shop: Make) -> None:
    declared = "CREATE STREAM payments (body BINARY NOT NULL, text STRING, trace MAP<STRING, BINARY>, at TIMESTAMP)"
    beside = "message_value = 'body', message_headers = 'trace', message_time = 'at'"
    payments = shop(declared=declared, options=f"format = 'raw', {beside}", partitions=1)
    payments.send([b"\xff\0", None, b""], headers={"trace": b"1"})
    with payments.open() as project:
        (taken,) = project.take_in()
        assert (taken.rows, taken.dead) == (2, 1)
        found = project.read("payments").select(["body", "trace"]).to_pylist()
        assert found == [{"body": body, "trace": [("trace", b"1")]} for body in (b"\xff\0", b"")]
        assert project.dead("payments")["reason"].to_pylist() == ['column "body" has no value and must have one']


def test_a_message_without_a_value_deletes_its_key_in_any_format(shop: Make) -> None:
    key = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}]}
    row = {"type": "record", "name": "Row", "fields": [*key["fields"], {"name": "owner", "type": "string"}]}  # type: ignore[misc]
    with start_registry() as registry:
        client = SchemaRegistryClient({"url": registry.url})
        keys, rows = (AvroSerializer(client, json.dumps(schema)) for schema in (key, row))
        long = AvroSerializer(client, '"long"')
        options = f"format = 'avro', registry = '{registry.url}'"
        declared = "CREATE TABLE payments (id BIGINT PRIMARY KEY, owner STRING)"
        payments = shop(declared=declared, options=options, partitions=1)
        place = SerializationContext(payments.topic, MessageField.VALUE)
        for number in range(1, 5):
            payments.send([rows({"id": number, "owner": "Ann"}, place)])  # type: ignore[list-item]
        payments.send([None], key=keys({"id": 1}, SerializationContext("k", MessageField.KEY)))
        payments.send([None], key=long(2, SerializationContext("l", MessageField.KEY)))
        payments.send([None], key=b"3")
        payments.send([None], key=b"\0\0\0\0\x63\x08")
        with payments.open() as project:
            (taken,) = project.take_in()
            assert (taken.rows, taken.dead) == (7, 1)
            found = project.read("payments").to_pylist()
    assert [(row["id"], row["_op"]) for row in found[4:]] == [(1, "delete"), (2, "delete"), (3, "delete")]


def test_a_topic_without_a_registry_is_read_with_the_project_s_own(shop: Make) -> None:
    declared = "CREATE STREAM payments (id STRING, cents INT)"
    payments = shop(declared=declared, options="format = 'protobuf'", partitions=1)
    text = 'syntax = "proto3"; message Payment { string id = 1; int32 cents = 2; }'
    with payments.open() as project:
        number = project.schemas.register(f"{payments.topic}-value", Draft("PROTOBUF", text)).number
        payments.send([b"\0" + number.to_bytes(4, "big") + b"\0" + b"\x0a\x02p1\x10\x07", b"\0\0\0\0\x09\0"])
        (taken,) = project.take_in()
        assert (taken.rows, taken.dead) == (1, 1)
        assert project.read("payments", columns=["id", "cents"]).to_pylist() == [{"id": "p1", "cents": 7}]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ("format = 'raw'", "takes messages as they are and into no column"),
        ("format = 'csv', envelope = 'debezium'", "reads an envelope from 'csv'"),
        ("format = 'avro', fields = 'id'", "gives option \"fields\" beside format 'avro'"),
        ("format = 'csv', delimiter = '::'", 'gives option "delimiter" a value that it can\'t take'),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: str, what: str) -> None:
    parsed = parse_declarations(f"{STREAM} WITH (connector = 'kafka', topic = 't', {options});", "t.sql")
    assert [finding.summary for finding in parsed.findings] == [f'stream "cards" {what}']
