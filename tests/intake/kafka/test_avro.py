"""Avro in Confluent's wire format, written by the stock serializer, read with the schemas of a registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.common._httpx_compat import httpx
from confluent_kafka.serialization import MessageField, SerializationContext
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.read import SchemaResolutionError
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import SourceRefused, SourceUnavailable
from headwater.intake import Decoded, Decoder
from headwater.intake.kafka.avro import AvroCodec
from headwater.intake.kafka.registry import Registry
from headwater.intake.messages import Messages
from headwater.kafka.registry import NO_ANSWER
from headwater.model import Kafka, Stream
from headwater.schemas.written import Written
from headwater.sql import parse_declarations
from tests.intake.kafka.test_intake import Make
from tests.servers.registry import RegistryServer, start_registry

STREAM = """CREATE STREAM payments (id STRING NOT NULL, card STRING, amount DECIMAL(9, 2), kind STRING, day DATE,
    tags ARRAY<STRING>, counts MAP<STRING, BIGINT>, shop STRUCT<name: STRING, till: INT>, at TIMESTAMP,
    WATERMARK FOR at AS at)"""
SHOP = {
    "type": "record",
    "name": "Shop",
    "fields": [{"name": "name", "type": "string"}, {"name": "till", "type": "int"}],
}
FIELDS: dict[str, Any] = {
    "id": {"type": "string", "logicalType": "uuid"},
    "card": ["null", "string"],
    "amount": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    "kind": {"type": "enum", "name": "Kind", "symbols": ["BUY", "REFUND"]},
    "day": {"type": "int", "logicalType": "date"},
    "tags": {"type": "array", "items": "string"},
    "counts": {"type": "map", "values": "long"},
    "shop": SHOP,
    "at": {"type": "long", "logicalType": "timestamp-millis"},
    "undeclared": "double",
}
ID = UUID("00000000-0000-4000-8000-000000000001")
PAYMENT: dict[str, Any] = {
    "id": ID,
    "card": None,
    "amount": Decimal("12.50"),
    "kind": "REFUND",
    "day": date(2026, 1, 31),
    "tags": ["a", "b"],
    "counts": {"x": 2**40},
    "shop": {"name": "corner", "till": 3},
    "at": datetime(2026, 1, 1, 12, tzinfo=UTC),
    "undeclared": 0.5,
}
KINDS: dict[str, pa.DataType] = {}


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with start_registry() as server:
        yield server


def record(fields: dict[str, Any]) -> str:
    named = [{"name": name, "type": kind} for name, kind in fields.items()]
    return json.dumps({"type": "record", "name": "Payment", "fields": named})


def written(registry: RegistryServer, schema: str | Schema, value: dict[str, Any]) -> bytes:
    """The bytes that the stock serializer makes; it registers the schema."""
    serializer = AvroSerializer(SchemaRegistryClient({"url": registry.url}), schema)
    found = serializer(value, SerializationContext("payments", MessageField.VALUE))
    assert isinstance(found, bytes)
    return found


def decode(registry: RegistryServer, *values: bytes | None) -> Decoded:
    (topic,) = parse_declarations(f"{STREAM};", "payments.sql").declarations
    codec = AvroCodec(Registry(Kafka(topic="payments", registry=registry.url), {}), KINDS)
    records = codec.read(Messages(pa.array(values, pa.binary()), range(len(values))))
    return Decoder(topic).decode(records, source="payments[0]", where="payments[0]")  # type: ignore[arg-type]


def test_every_kind_of_field_reaches_its_column(registry: RegistryServer) -> None:
    decoded = decode(registry, written(registry, record(FIELDS), PAYMENT))
    assert decoded.dead.num_rows == 0, decoded.dead["reason"].to_pylist()
    assert decoded.rows.to_pylist() == [
        {
            **{name: value for name, value in PAYMENT.items() if name != "undeclared"},
            "id": str(ID),
            "counts": [("x", 2**40)],
        }
    ]


def test_messages_of_several_schemas_come_together_and_a_missing_field_is_null(registry: RegistryServer) -> None:
    old = record({"id": "string", "at": FIELDS["at"]})
    new = record({"id": "string", "at": FIELDS["at"], "card": ["null", "string"]})
    values = [
        written(registry, old, {"id": "1", "at": PAYMENT["at"]}),
        written(registry, new, {"id": "2", "at": PAYMENT["at"], "card": "c"}),
    ]
    assert decode(registry, *values).rows["card"].to_pylist() == [None, "c"]


def test_a_schema_may_refer_to_another(registry: RegistryServer) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    client.register_schema("shop", Schema(json.dumps(SHOP), "AVRO"))
    text = record({"id": "string", "shop": "Shop", "at": FIELDS["at"]})
    schema = Schema(text, "AVRO", [SchemaReference("Shop", "shop", 1)])
    payment = {"id": "1", "shop": PAYMENT["shop"], "at": PAYMENT["at"]}
    assert decode(registry, written(registry, schema, payment)).rows["shop"].to_pylist() == [PAYMENT["shop"]]


def test_a_poisoned_message_costs_itself_only(registry: RegistryServer) -> None:
    good = written(registry, record(FIELDS), PAYMENT)
    unknown = b"\0" + (99).to_bytes(4, "big") + good[5:]
    decoded = decode(registry, good, b"{}", good[:-3], unknown, None, good + b"\0", good[:3], good)
    assert decoded.rows.num_rows == 2
    found = decoded.dead.to_pylist()
    assert [letter["position"].rpartition(":")[2] for letter in found] == ["1", "2", "3", "4", "5", "6"]
    reasons = [letter["reason"] for letter in found]
    assert reasons[0] == "the message names no schema: its first byte is 123, not 0"
    assert reasons[1].startswith("the message is not a record of schema 1: ")
    assert reasons[2] == "the message names schema 99, which the registry doesn't have as Avro"
    assert reasons[3] == "the message has no value"
    assert reasons[4] == "the message has 1 bytes behind its record"
    assert found[1]["bytes"] == good[:-3]


def test_bytes_that_one_message_lacks_and_the_next_one_has_make_no_record_of_both(registry: RegistryServer) -> None:
    good = written(registry, record(FIELDS), PAYMENT)
    short, long = good[:-1], good[:5] + good[-1:] + good[5:]
    decoded = decode(registry, good, short, long, good)
    assert (decoded.rows.num_rows, decoded.dead.num_rows) == (2, 2)
    assert [letter["bytes"] for letter in decoded.dead.to_pylist()] == [short, long]


def test_an_instant_that_no_calendar_has_costs_itself_only(registry: RegistryServer) -> None:
    schema = record({"id": "string", "at": {"type": "long", "logicalType": "timestamp-micros"}})
    good = written(registry, schema, {"id": "1", "at": PAYMENT["at"]})
    far = written(registry, schema, {"id": "2", "at": 2**62})
    decoded = decode(registry, good, far)
    assert decoded.rows["id"].to_pylist() == ["1"]
    assert decoded.dead["reason"].to_pylist()[0].startswith("the message is not a record of schema 1: ")


NAMES = st.text(alphabet=st.characters(codec="utf-8"), max_size=5)
RECORDS = st.fixed_dictionaries(
    {
        "id": NAMES,
        "card": st.none() | NAMES,
        "amount": st.none() | st.decimals(-9_999_999, 9_999_999, places=2),
        "day": st.dates(date(1900, 1, 1)),
        "at": st.datetimes(datetime(1970, 1, 2), datetime(2025, 1, 1), timezones=st.just(UTC)),
        "tags": st.lists(NAMES, max_size=3),
        "counts": st.dictionaries(NAMES, st.integers(-(2**63), 2**63 - 1), max_size=2),
    }
)


KEPT: dict[str, Any] = {name: FIELDS[name] for name in ("card", "day", "tags", "counts")} | {
    "id": "string",
    "amount": ["null", FIELDS["amount"]],
    "at": {"type": "long", "logicalType": "timestamp-micros"},
}


class OneSchema:
    """A registry with one schema."""

    def __init__(self, fields: dict[str, Any] = KEPT) -> None:
        self.text = record(fields)

    def schema(self, number: int, language: str) -> Written | None:
        return Written(language, self.text) if number == 1 else None


def read(stream: str, fields: dict[str, Any], value: dict[str, Any]) -> Decoded:
    """A record of these fields as a stream with these columns takes it."""
    body = BytesIO(b"\0\0\0\0\1")
    body.seek(5)
    schemaless_writer(body, parse_schema(json.loads(record(fields))), value)
    (topic,) = parse_declarations(f"CREATE STREAM s ({stream})", "s.sql").declarations
    assert isinstance(topic, Stream)
    codec = AvroCodec(OneSchema(fields), {column.name: column.type for column in topic.columns})
    return Decoder(topic).decode(codec.read(Messages(pa.array([body.getvalue()]), [0])))


PRIMITIVES: dict[str, tuple[str, Any]] = {
    "int": ("INT", 7),
    "long": ("BIGINT", 2**40),
    "float": ("FLOAT", 0.5),
    "double": ("DOUBLE", 0.1),
    "string": ("STRING", "grün"),
    "bytes": ("BINARY", "grün".encode()),
}


@pytest.mark.parametrize("reader", PRIMITIVES)
@pytest.mark.parametrize("writer", PRIMITIVES)
def test_a_field_is_promoted_to_its_column_as_avro_promotes_it_to_a_reader(writer: str, reader: str) -> None:
    value = PRIMITIVES[writer][1]
    body = BytesIO()
    schemaless_writer(body, parse_schema(json.loads(record({"v": writer}))), {"v": value})
    body.seek(0)
    try:
        schemas = [parse_schema(json.loads(record({"v": kind}))) for kind in (writer, reader)]
        expected: Any = schemaless_reader(body, *schemas)
    except SchemaResolutionError:
        return
    for fields in ({"v": writer}, {"v": ["null", writer]}):
        assert read(f"v {PRIMITIVES[reader][0]}", fields, {"v": value}).rows.to_pylist() == [expected]


def test_bytes_that_are_no_text_are_a_dead_letter() -> None:
    decoded = read("v STRING", {"v": "bytes"}, {"v": b"\xff"})
    assert (decoded.rows.num_rows, decoded.dead["error"].to_pylist()) == (0, ["unreadable-event"])


def test_a_default_stands_in_for_a_field_that_the_writer_s_schema_lacks_and_null_is_the_writer_s_word() -> None:
    stream = "id STRING, country STRING DEFAULT 'AT', card STRING DEFAULT 'none' ALIAS (card_no)"
    optional = ["null", "string"]
    assert read(stream, {"id": "string"}, {"id": "a"}).rows.to_pylist() == [
        {"id": "a", "country": "AT", "card": "none"}
    ]
    fields = {"id": "string", "country": optional, "card_no": optional}
    for card in (None, "c1"):
        found = read(stream, fields, {"id": "a", "country": None, "card_no": card}).rows.to_pylist()
        assert found == [{"id": "a", "country": None, "card": card}]


@given(st.lists(RECORDS, min_size=1, max_size=5))
def test_what_is_written_is_what_is_read(records: list[dict[str, Any]]) -> None:
    values = []
    for one in records:
        body = BytesIO()
        schemaless_writer(body, parse_schema(json.loads(record(KEPT))), one)
        values.append(b"\0\0\0\0\1" + body.getvalue())
    (topic,) = parse_declarations(f"{STREAM};", "payments.sql").declarations
    read = AvroCodec(OneSchema(), KINDS).read(Messages(pa.array(values, pa.binary()), range(len(values))))
    decoded = Decoder(topic).decode(read)  # type: ignore[arg-type]
    assert decoded.dead.num_rows == 0
    assert decoded.rows.select(list(records[0])).to_pylist() == [
        one | {"counts": list(one["counts"].items())} for one in records
    ]


def test_an_answer_that_doesn_t_come_is_known_whichever_library_the_client_asks_with() -> None:
    assert issubclass(httpx.ConnectError, NO_ANSWER)


def test_a_registry_that_is_down_is_waited_for_and_makes_no_dead_letters(registry: RegistryServer) -> None:
    good = written(registry, record(FIELDS), PAYMENT)
    registry.down = True
    with pytest.raises(SourceUnavailable, match="did not answer"):
        decode(registry, good)
    registry.down = False
    assert decode(registry, good).rows.num_rows == 1


def test_a_topic_in_avro_without_a_registry_is_told_so() -> None:
    with pytest.raises(SourceRefused, match="schema registry"):
        Registry(Kafka(topic="payments", format="avro"), {})


def test_a_topic_in_avro_is_taken_in_and_its_dead_letters_come_back(shop: Make, registry: RegistryServer) -> None:
    payments = shop(declared=STREAM, options=f"format = 'avro', registry = '{registry.url}'", partitions=1)
    good = written(registry, record(FIELDS), PAYMENT)
    payments.send([good, b"\0" + (2).to_bytes(4, "big") + good[5:]])
    with payments.open() as project:
        (taken,) = project.take_in()
        assert (taken.rows, taken.dead) == (1, 1)
        client = SchemaRegistryClient({"url": registry.url})
        client.register_schema("other", Schema(record(FIELDS), "AVRO"))
        assert project.redrive("payments").rows == 1
        assert project.read("payments")["id"].to_pylist() == [str(ID)] * 2
