"""Messages that other libraries wrote, each format as its columns have it. `golden/make.py` says how they were made."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from headwater.intake import Decoded, Decoder
from headwater.intake.kafka.codec import codec_of
from headwater.intake.kafka.protobuf import ProtobufCodec
from headwater.intake.messages import Messages
from headwater.model import Stream
from headwater.schemas.proto_text import parse_proto
from headwater.schemas.written import Written
from headwater.sql import parse_declarations
from tests.servers.registry import RegistryServer, start_registry

GOLDEN = Path(__file__).parent / "golden"
AT = datetime(2026, 1, 1, 12, 0, 0, 123456, UTC)
PROTOBUF = """CREATE STREAM payments (id STRING, card STRING, cents BIGINT, weight DOUBLE, paid BOOLEAN, token BINARY,
  kind STRING, tags ARRAY<STRING>,
  lines ARRAY<STRUCT<article: STRING, count: INT, parts: ARRAY<STRUCT<article: STRING>>>>, counts MAP<STRING, BIGINT>,
  by_number MAP<INT, STRUCT<article: STRING>>, cash STRING, voucher STRUCT<article: STRING>, at TIMESTAMP,
  took DECIMAL(12, 3), note STRING, points BIGINT, extra STRING, day DATE, amount DECIMAL(9, 2),
  till STRUCT<name: STRING, number: INT>, large DECIMAL(20, 0), codes ARRAY<BIGINT>, ratio FLOAT)"""
AVRO = """CREATE STREAM payments (id STRING, card STRING, amount DECIMAL(9, 2), kind STRING, day DATE,
  tags ARRAY<STRING>, counts MAP<STRING, BIGINT>, till STRUCT<number: INT>, at TIMESTAMP, seen TIMESTAMP,
  code BINARY, either STRING)"""


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with start_registry() as server:
        yield server


def golden(registry: RegistryServer, name: str) -> list[bytes]:
    """The messages of a file; the registry gets its schemas."""
    found = json.loads((GOLDEN / f"{name}.json").read_text())
    registry.schemas = [found["schemas"][str(number)] for number in range(1, len(found["schemas"]) + 1)]
    return [base64.b64decode(text) for text in found["messages"]]


def decode(registry: RegistryServer, declared: str, form: str, values: list[bytes | None]) -> Decoded:
    options = f"connector = 'kafka', topic = 't', format = '{form}', registry = '{registry.url}'"
    (topic,) = parse_declarations(f"{declared} WITH ({options});", "payments.sql").declarations
    assert isinstance(topic, Stream)
    codec = codec_of(topic, {})
    assert codec is not None
    messages = Messages(pa.array(values, pa.binary()), range(len(values)))
    return Decoder(topic).decode(codec.read(messages), source="t[0]", where="t[0]")


@pytest.mark.parametrize("kept", ["descriptor", "text"])
def test_protobuf_in_every_sort_of_field(registry: RegistryServer, kept: str) -> None:
    messages = golden(registry, "protobuf")
    if kept == "text":  # as clients in Java register it
        for schema, file in zip(registry.schemas, ("till", "payments", "older"), strict=True):
            schema["schema"] = (GOLDEN / f"{file}.proto").read_text()
    decoded = decode(registry, PROTOBUF, "protobuf", [*messages])
    assert decoded.dead["reason"].to_pylist() == ['column "kind" is 9, which doesn\'t fit STRING']
    full, empty, nested, older = decoded.rows.to_pylist()
    assert full == {
        "id": "p1", "card": "", "cents": -5, "weight": 0.25, "paid": True, "token": b"\xff\0", "kind": "REFUND",
        "tags": ["a", "b"], "lines": [{"article": "pen", "count": -3, "parts": [{"article": "cap"}]}],
        "counts": [("x", 2**40), ("y", 2)], "by_number": [(7, {"article": "ink"})], "cash": "coins", "voucher": None,
        "at": AT, "took": Decimal("1.500"), "note": "late", "points": 0, "extra": '{"a": [1.0, null, "x"]}',
        "day": date(2026, 1, 31), "amount": Decimal("-12.50"), "till": {"name": "left", "number": 3},
        "large": Decimal(2**64 - 1), "codes": [1, 2**32 - 1], "ratio": 0.5,
    }  # fmt: skip
    assert {name: value for name, value in empty.items() if value is not None} == {
        "id": "", "cents": 0, "weight": 0.0, "paid": False, "token": b"", "kind": "UNKNOWN", "tags": [], "lines": [],
        "counts": [], "by_number": [], "large": Decimal(0), "codes": [], "ratio": 0.0,
    }  # fmt: skip
    assert (nested["id"], nested["at"], nested["cents"]) == ("p4", AT, None)
    assert (older["id"], older["kind"], older["note"]) == ("p5", "SMALL", None)


def test_a_field_of_proto2_without_a_value_is_its_default(registry: RegistryServer) -> None:
    older = golden(registry, "protobuf")[-1]
    declared = "CREATE STREAM payments (count INT, open BOOLEAN, note STRING, part STRUCT<name: STRING>)"
    (row,) = decode(registry, declared, "protobuf", [older]).rows.to_pylist()
    assert row == {"count": 5, "open": True, "note": None, "part": {"name": "lid"}}


def test_a_poisoned_message_of_protobuf_costs_itself_only(registry: RegistryServer) -> None:
    good = golden(registry, "protobuf")[0]
    named = good[:5]
    unknown_fields = good + b"\x9a\x3f\x03abc"  # field 1011, of which the schema says nothing
    poisoned = [
        b"\x01" + good[1:],
        b"\0\0\0\0\x63\0",
        named + b"\x02\x40",
        named + b"\x04\x02\x08",
        named + b"\0\x0a\xff",
    ]
    decoded = decode(registry, PROTOBUF, "protobuf", [good, *poisoned, None, unknown_fields])
    assert decoded.rows["id"].to_pylist() == ["p1", "p1"]
    reasons = decoded.dead["reason"].to_pylist()
    assert reasons.pop(4).startswith("the message is not one of schema 2: Error parsing message")
    assert reasons == [
        "the message names no schema: its first byte is 1, not 0",
        "the message names schema 99, which the registry doesn't have as Protobuf",
        "schema 2 has no message type at [32]",
        "schema 2 has no message type at [1, 4]",
        "the message has no value",
    ]


NAMES = st.text(alphabet=st.characters(codec="utf-8"), max_size=5)
PAYMENTS = st.fixed_dictionaries(
    {
        "id": NAMES,
        "card": st.none() | NAMES,
        "cents": st.integers(-(2**63), 2**63 - 1),
        "token": st.binary(max_size=4),
        "kind": st.sampled_from(["UNKNOWN", "BUY", "REFUND"]),
        "tags": st.lists(NAMES, max_size=3),
        "counts": st.dictionaries(NAMES, st.integers(-(2**63), 2**63 - 1), max_size=2),
        "at": st.none() | st.datetimes(datetime(1, 1, 1), timezones=st.just(UTC)),
        "note": st.none() | NAMES,
        "till": st.none() | st.fixed_dictionaries({"name": NAMES, "number": st.integers(-(2**31), 2**31 - 1)}),
    }
)


class Golden:
    """A registry with the schemas of the golden messages."""

    def schema(self, number: int, language: str) -> Written | None:
        found = json.loads((GOLDEN / "protobuf.json").read_text())["schemas"][str(number)]
        references = tuple((one["name"], Written(language, self._text(1))) for one in found["references"])
        return Written(language, found["schema"], references)

    def _text(self, number: int) -> str:
        text: str = json.loads((GOLDEN / "protobuf.json").read_text())["schemas"][str(number)]["schema"]
        return text


CODEC = ProtobufCodec(Golden(), None)
(TOPIC,) = parse_declarations(f"{PROTOBUF};", "payments.sql").declarations
POOL = DescriptorPool()
for described in FileDescriptorSet.FromString((GOLDEN / "protoc.binpb").read_bytes()).file:
    POOL.Add(described)
PAYMENT = GetMessageClass(POOL.FindMessageTypeByName("shop.Payment"))


@given(st.lists(PAYMENTS, min_size=1, max_size=5))
def test_what_is_written_in_protobuf_is_what_is_read(rows: list[dict[str, Any]]) -> None:
    values = []
    for row in rows:
        fields = {name: value for name, value in row.items() if value is not None}
        message = PAYMENT(**fields | ({"note": {"value": fields["note"]}} if "note" in fields else {}))
        values.append(b"\0\0\0\0\2\0" + message.SerializeToString())
    read = CODEC.read(Messages(pa.array(values, pa.binary()), range(len(values))))
    decoded = Decoder(TOPIC).decode(read)  # type: ignore[arg-type]
    assert decoded.dead.num_rows == 0
    assert decoded.rows.select(list(rows[0])).to_pylist() == [
        row | {"counts": sorted(row["counts"].items())} for row in rows
    ]


@pytest.mark.parametrize("name", ["payments", "till", "older"])
def test_the_text_of_a_proto_file_is_read_as_protoc_reads_it(name: str) -> None:
    files = FileDescriptorSet.FromString((GOLDEN / "protoc.binpb").read_bytes()).file
    compiled = next(file for file in files if file.name == f"{name}.proto")
    pool, found = DescriptorPool(), FileDescriptorProto()
    for file in files:  # in the order in which they need each other
        pool.Add(parse_proto(file.name, (GOLDEN / file.name).read_text()) if file is compiled else file)
    pool.FindFileByName(compiled.name).CopyToProto(found)
    del compiled.service[:]
    assert found == compiled


def test_avro_in_every_sort_of_field(registry: RegistryServer) -> None:
    decoded = decode(registry, AVRO, "avro", [*golden(registry, "avro")])
    assert decoded.rows.to_pylist() == [
        {
            "id": "00000000-0000-4000-8000-000000000001", "card": None, "amount": Decimal("-12.50"), "kind": "REFUND",
            "day": date(2026, 1, 31), "tags": ["a", "b"], "counts": [("x", 2**40)], "till": {"number": 3}, "at": AT,
            "seen": AT.replace(microsecond=123000), "code": b"\xff\0", "either": "text",
        }
    ]  # fmt: skip


def test_json_with_a_schema_is_read_by_its_columns(registry: RegistryServer) -> None:
    good, small = golden(registry, "json-schema")
    values: list[Any] = [good, b'{"id": "p0"}', b"\0\0\0\0\x07{}", good[:-1], None, small]
    decoded = decode(registry, "CREATE STREAM payments (id STRING, amount DECIMAL(9, 2))", "json-schema", values)
    assert decoded.rows.to_pylist() == [{"id": "p1", "amount": Decimal("12.50")}, {"id": "p2", "amount": None}]
    assert [(letter["position"], letter["bytes"], letter["reason"]) for letter in decoded.dead.to_pylist()] == [
        ("t[0]:1", values[1], "the message names no schema: its first byte is 123, not 0"),
        ("t[0]:2", values[2], "the message names schema 7, which the registry doesn't have as JSON Schema"),
        ("t[0]:3", values[3], "the message is not JSON: expecting ',' delimiter at character 53"),
        ("t[0]:4", b"", "the message has no value"),
    ]
