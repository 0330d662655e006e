"""Rows in Avro, Protobuf and JSON Schema: what is written is what our intake and stock deserializers read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.config import ServeSettings
from headwater.errors import TargetDenied, TargetUnavailable
from headwater.intake import Decoder
from headwater.intake.kafka.codec import codec_of
from headwater.intake.messages import Messages
from headwater.log import TopicLog, open_storage
from headwater.model import Column, Kafka, Outlet, Stream
from headwater.outlets.avro import Avro
from headwater.outlets.framed import Format, FramedEncoder
from headwater.outlets.json_schema import JsonSchema
from headwater.outlets.protobuf import Protobuf
from headwater.outlets.registered import registers_of
from headwater.schemas.known import TOPIC
from headwater.schemas.protobuf import compile_protobuf, message_at
from headwater.schemas.registry import SchemaRegistry
from headwater.schemas.written import Written
from headwater.serve import open_server
from tests.outlets.kafka.topic import KafkaTopic
from tests.outlets.shop import Shop, row
from tests.servers.kafka import KafkaServer

FORMATS: dict[str, Format] = {"avro": Avro(), "protobuf": Protobuf(), "json-schema": JsonSchema()}
OUTLET = Outlet(name="o", view="v", to="kafka://spend")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
INTEGERS = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
SCALARS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    **{f"int{size}": (kind, st.integers(-(2 ** (size - 1)), 2 ** (size - 1) - 1)) for size, kind in INTEGERS.items()},
    "yes": (pa.bool_(), st.booleans()),
    "single": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "double": (pa.float64(), st.floats(allow_nan=False)),
    "spent": (pa.decimal128(12, 2), st.decimals(Decimal(-(10**9)), Decimal(10**9), places=2)),
    "text": (pa.string(), TEXT),
    "raw": (pa.binary(), st.binary(max_size=5)),
    "day": (pa.date32(), st.dates(date(1, 1, 1))),
    "at": (pa.timestamp("us", "UTC"), st.datetimes(datetime(1, 1, 2), timezones=st.just(UTC))),
    "local": (pa.timestamp("us"), st.datetimes(datetime(1, 1, 2))),
}
NESTED: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "words": (pa.list_(pa.string()), st.lists(st.none() | TEXT, max_size=3)),
    "counts": (pa.map_(pa.string(), pa.int64()), st.dictionaries(TEXT, st.none() | st.integers(0, 9), max_size=2)),
}


def registry() -> SchemaRegistry:
    return SchemaRegistry(TopicLog(TOPIC, open_storage(f"memory://{uuid4()}")))


def encoder(form: str, to: SchemaRegistry, name: str = "spend") -> FramedEncoder:
    return FramedEncoder(FORMATS[form], registers_of(OUTLET, {}, to), "spend-value", name)


def _pairs(found: dict[str, Any]) -> dict[str, Any]:
    """Maps as Arrow has them, in the order of their keys."""
    maps = {name: sorted(found[name].items()) for name in ("counts",) if found.get(name) is not None}
    return found | maps


def taken_in(form: Any, rows: pa.StructArray, to: SchemaRegistry, writes: FramedEncoder) -> pa.StructArray:
    """The rows as a stream with the same columns takes them in again."""
    columns = tuple(Column(field.name, field.type) for field in rows.type)
    topic = Stream(name="s", columns=columns, intake=Kafka(topic="spend", format=form))
    codec = codec_of(topic, {}, to)
    assert codec is not None
    values = pa.array(writes.encode(rows), pa.binary())
    decoded = Decoder(topic).decode(codec.read(Messages(values, range(len(values)))))
    assert decoded.dead["reason"].to_pylist() == []
    return decoded.rows.to_struct_array().combine_chunks()


@cache
def known(form: str) -> tuple[SchemaRegistry, FramedEncoder]:
    """One registry and encoder for all examples: compiling schemas is what takes time."""
    to = registry()
    return to, encoder(form, to)


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=40)
@given(data=st.data())
def test_what_is_sent_is_what_is_taken_in(form: str, data: st.DataObject) -> None:
    kinds = dict(SCALARS) if form == "protobuf" else SCALARS | NESTED
    inner = pa.struct([("x", pa.int32()), ("at", pa.timestamp("us", "UTC"))])
    struct = st.fixed_dictionaries({"x": st.none() | SCALARS["int32"][1], "at": st.none() | SCALARS["at"][1]})
    kinds["inner"] = inner, struct
    one = st.fixed_dictionaries({name: st.none() | values for name, (_, values) in kinds.items()})
    drawn = [_pairs(found) for found in data.draw(st.lists(one, min_size=1, max_size=3))]
    rows = pa.array(drawn, pa.struct([(name, kind) for name, (kind, _) in kinds.items()]))
    to, writes = known(form)
    assert taken_in(form, rows, to, writes).to_pylist() == rows.to_pylist()


@pytest.mark.parametrize("form", FORMATS)
def test_a_column_may_come_and_readers_of_the_new_schema_read_the_old(form: str) -> None:
    to = registry()
    old, new = pa.struct([("b", pa.string())]), pa.struct([("a", pa.int32()), ("b", pa.string())])
    first = encoder(form, to).encode(pa.array([{"b": "x"}, None], old))
    second = encoder(form, to).encode(pa.array([{"a": 1, "b": "y"}], new))
    assert first[1] is None
    assert [one.version for one in to.versions("spend-value")] == [1, 2]
    assert [found and found[:5] for found in (first[0], second[0])] == [b"\0\0\0\0\1", b"\0\0\0\0\2"]
    columns = (Column("a", pa.int32()), Column("b", pa.string()))
    topic = Stream(name="s", columns=columns, intake=Kafka(topic="spend", format=form))  # type: ignore[arg-type]
    codec = codec_of(topic, {}, to)
    assert codec is not None
    rows = Decoder(topic).decode(codec.read(Messages(pa.array([first[0], second[0]]), range(2)))).rows
    assert rows.to_pylist() == [{"a": None, "b": "x"}, {"a": 1, "b": "y"}]


def test_a_field_of_protobuf_keeps_its_number() -> None:
    to = registry()
    for names in (["b"], ["a", "b"], ["c", "a"]):
        encoder("protobuf", to).encode(pa.array([None], pa.struct([(name, pa.int32()) for name in names])))
    latest = to.version("spend-value", "latest")
    fields = message_at(compile_protobuf(to.written(latest)), (0,)).fields_by_name
    assert {name: field.number for name, field in fields.items()} == {"a": 2, "c": 3}


@pytest.mark.parametrize("form", FORMATS)
def test_columns_that_readers_can_t_read_are_refused(form: str) -> None:
    to = registry()
    encoder(form, to).encode(pa.array([{"n": "x"}], pa.struct([("n", pa.string())])))
    with pytest.raises(TargetDenied, match='don\'t get on with the versions of "spend-value"') as refused:
        encoder(form, to).encode(pa.array([{"n": True}], pa.struct([("n", pa.bool_())])))
    assert "headwater schema level spend-value NONE" in str(refused.value)


def test_a_registry_that_doesn_t_answer_is_waited_for() -> None:
    outlet = replace(OUTLET, registry="http://127.0.0.1:9")
    with pytest.raises(TargetUnavailable, match="did not answer"):
        registers_of(outlet, {"schema.registry.max.retries": 0}, None).latest("spend-value")  # type: ignore[dict-item]


# Through a broker, to those who read with Confluent's own libraries


@pytest.fixture
def topic(kafka_server: KafkaServer) -> KafkaTopic:
    return KafkaTopic(kafka_server.bootstrap)


@pytest.fixture
def sent(topic: KafkaTopic, tmp_path: Path) -> Iterator[Callable[[str, str], SchemaRegistryClient]]:
    """Sends two rows of a view in a format, and gives a client of the project's registry."""
    opened = ExitStack()

    def send(form: str, envelope: str) -> SchemaRegistryClient:
        named = f"o_{topic.name.replace('-', '_')}"
        outlet = f"CREATE OUTLET {named} FROM spend TO 'kafka://{topic.name}'"
        options = f" WITH (envelope = '{envelope}', format = '{form}')"
        spend = Shop(tmp_path / form, outlet + options, settings=topic.settings)
        spend.write(0, [row("a", "1.50"), row(None, "9.00")])
        with spend.project() as project:
            assert [found.error for found in project.send()] == [None]
        project = opened.enter_context(hw.open(spend.folder))
        server = opened.enter_context(open_server(project, ServeSettings(port=0, dashboard=False)))
        return opened.enter_context(SchemaRegistryClient({"url": f"{server.url}/registry"}))

    with opened:
        yield send


END = datetime(2026, 1, 1, 12, 1, tzinfo=UTC)
Sent = Callable[[str, str], SchemaRegistryClient]


def test_a_stock_deserializer_of_avro_reads_keys_and_rows(sent: Sent, topic: KafkaTopic) -> None:
    client = sent("avro", "upsert")
    read = AvroDeserializer(client)
    value, key = (SerializationContext(topic.name, field) for field in (MessageField.VALUE, MessageField.KEY))
    found = [(read(one.key(), key), read(one.value(), value)) for one in topic.messages()]
    assert found == [
        ({"card": "a", "window_end": END}, {"card": "a", "window_end": END, "spent": Decimal("1.50")}),
        ({"card": None, "window_end": END}, {"card": None, "window_end": END, "spent": Decimal("9.00")}),
    ]
    assert sorted(client.get_subjects()) == [f"{topic.name}-key", f"{topic.name}-value"]
    outlet = replace(OUTLET, registry=client._rest_client.base_urls[0])
    with pytest.raises(TargetDenied, match="don't get on with the versions"):
        registers_of(outlet, {}, None).register(f"{topic.name}-value", "AVRO", '"string"')


def test_a_stock_deserializer_of_json_schema_reads_changes(sent: Sent, topic: KafkaTopic) -> None:
    client = sent("json-schema", "change")
    read = JSONDeserializer(None, schema_registry_client=client)
    found = [read(one.value(), SerializationContext(topic.name, MessageField.VALUE)) for one in topic.messages()]
    assert [(one["op"], one["after"]["spent"], one["commit"]) for one in found] == [
        ("insert", 1.5, {"payments": 1}),
        ("insert", 9.0, {"payments": 1}),
    ]


def test_a_stock_deserializer_of_protobuf_reads_changes(sent: Sent, topic: KafkaTopic) -> None:
    client = sent("protobuf", "change")
    text = client.get_latest_version(f"{topic.name}-value").schema.schema_str
    message = GetMessageClass(message_at(compile_protobuf(Written("PROTOBUF", text)), (0,)))
    read = ProtobufDeserializer(message, {"use.deprecated.format": False}, client)
    found = [read(one.value(), SerializationContext(topic.name, MessageField.VALUE)) for one in topic.messages()]
    assert [(one.op, one.after.spent, dict(one.commit)) for one in found] == [
        ("insert", "1.50", {"payments": 1}),
        ("insert", "9.00", {"payments": 1}),
    ]
    assert found[0].after.window_end.ToDatetime(UTC) == END
    assert not found[0].HasField("before")
    assert not found[1].after.HasField("card")


@pytest.mark.parametrize(
    ("options", "finding"),
    [
        ("format = 'json', registry = 'http://r'", "names a registry, and JSON has no schema"),
        ("format = 'protobuf'", 'has no type for "tags" ARRAY<STRING>'),
        ("format = 'avro'", 'has no name for the column "a b"'),
        ("format = 'json-schema'", 'has no type for "places" MAP<INT, STRING>'),
    ],
)
def test_what_has_no_schema_is_found(tmp_path: Path, options: str, finding: str) -> None:
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    columns = {"format = 'protobuf'": "tags", "format = 'json-schema'": "places"}.get(options, "id AS `a b`")
    (tmp_path / "a.sql").write_text(
        "CREATE STREAM s (id STRING, tags ARRAY<STRING>, places MAP<INT, STRING>);"
        f"CREATE MATERIALIZED VIEW v AS SELECT {columns} FROM s;"
        f"CREATE OUTLET o FROM v TO 'kafka://t' WITH (envelope = 'row', {options});"
    )
    with hw.open(tmp_path) as project:
        assert any(finding in found.summary for found in project.check().findings)
