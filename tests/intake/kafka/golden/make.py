"""Make the golden files: messages as the stock serializers of confluent-kafka write them, and descriptors of protoc.

    pip install grpcio-tools 'confluent-kafka[avro,protobuf,json]' && python tests/intake/kafka/golden/make.py

Each file holds the schemas under the numbers that messages name, and the messages in base64. Nothing of Headwater's own
takes part. What the messages say stands in `test_golden.py`.
"""

from __future__ import annotations

import base64
import json
import tempfile
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import grpc_tools
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer, decimal_to_protobuf
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.type import date_pb2
from grpc_tools import protoc

HERE = Path(__file__).parent
FILES = ("payments.proto", "till.proto", "older.proto")
DECIMAL = """syntax = "proto3"; package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"""
PLACE = SerializationContext("payments", MessageField.VALUE)
AT = datetime(2026, 1, 1, 12, 0, 0, 123456, UTC)


def compile_files() -> DescriptorPool:
    """The .proto files beside this one, compiled by protoc; their descriptors are written to a file."""
    google = Path(date_pb2.__file__).parents[2]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "confluent/type").mkdir(parents=True)
        (Path(folder) / "confluent/type/decimal.proto").write_text(DECIMAL)
        paths = [f"-I{path}" for path in (HERE, folder, Path(grpc_tools.__file__).parent / "_proto", google)]
        out = HERE / "protoc.binpb"
        assert protoc.main(["", *paths, "--include_imports", f"--descriptor_set_out={out}", *FILES]) == 0
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(out.read_bytes()).file:
        pool.Add(file)
    return pool


def message(pool: DescriptorPool, name: str, **fields: Any) -> Any:
    return GetMessageClass(pool.FindMessageTypeByName(name))(**fields)


def protobuf_messages(pool: DescriptorPool) -> list[Any]:
    """A full payment, an empty one, one of the oneof's other case, a nested type, and one of proto2."""
    full = message(
        pool, "shop.Payment", id="p1", card="", cents=-5, weight=0.25, paid=True, token=b"\xff\0", kind=-2,
        tags=["a", "b"], lines=[{"article": "pen", "count": -3, "parts": [{"article": "cap"}]}],
        counts={"y": 2, "x": 2**40}, by_number={7: {"article": "ink"}}, cash="coins", large=2**64 - 1,
        codes=[1, 2**32 - 1], ratio=0.5, till={"name": "left", "number": 3}, took={"seconds": 1, "nanos": 500_000_000},
        note={"value": "late"}, points={"value": 0}, day={"year": 2026, "month": 1, "day": 31},
    )  # fmt: skip
    full.at.FromDatetime(AT.replace(tzinfo=None))
    full.at.nanos += 789
    full.extra.update({"a": [1, None, "x"]})
    full.amount.MergeFromString(decimal_to_protobuf(Decimal("-12.50"), 2).SerializeToString())
    empty = message(pool, "shop.Payment")
    other = message(pool, "shop.Payment", id="p3", voucher={"article": "gift"}, kind=9)
    nested = message(pool, "shop.Other.Nested", id="p4", at=AT)
    return [full, empty, other, nested, message(pool, "Older", id="p5", kind=0, part={"name": "lid"})]


AVRO = {
    "type": "record",
    "name": "Payment",
    "fields": [
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "card", "type": ["null", "string"]},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["BUY", "REFUND"]}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {"name": "till", "type": {"type": "record", "name": "Till", "fields": [{"name": "number", "type": "int"}]}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "seen", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "code", "type": {"type": "fixed", "name": "Code", "size": 2}},
        {"name": "either", "type": ["null", "long", "string"]},
    ],
}
AVRO_MESSAGES: list[dict[str, Any]] = [
    {
        "id": "00000000-0000-4000-8000-000000000001", "card": None, "amount": Decimal("-12.50"), "kind": "REFUND",
        "day": date(2026, 1, 31), "tags": ["a", "b"], "counts": {"x": 2**40}, "till": {"number": 3}, "at": AT,
        "seen": AT - timedelta(microseconds=456), "code": b"\xff\0", "either": "text",
    },
]  # fmt: skip
JSON_SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Payment",
    "type": "object",
    "properties": {"id": {"type": "string"}, "amount": {"type": "number"}, "at": {"type": "string"}},
    "required": ["id"],
}
JSON_MESSAGES = [{"id": "p1", "amount": 12.5, "at": "2026-01-01T12:00:00Z"}, {"id": "p2"}]


def write(name: str, client: SchemaRegistryClient, messages: list[bytes]) -> None:
    """The messages, and every schema that the registry was given, by number."""
    schemas = {}
    for subject in client.get_subjects():
        for version in client.get_versions(subject):
            found = client.get_version(subject, version)
            schemas[found.schema_id] = {
                "subject": subject,
                "version": version,
                "schema": found.schema.schema_str,
                "schemaType": found.schema.schema_type,
                "references": [reference.to_dict() for reference in found.schema.references or ()],
            }
    texts = [base64.b64encode(sent).decode() for sent in messages]
    (HERE / name).write_text(json.dumps({"schemas": schemas, "messages": texts}, indent=1) + "\n")


def main() -> None:
    client = SchemaRegistryClient.new_client({"url": "mock://protobuf"})
    written = []
    for sent in protobuf_messages(compile_files()):
        serializer = ProtobufSerializer(type(sent), client, {"use.deprecated.format": False})
        written.append(serializer(sent, SerializationContext(sent.DESCRIPTOR.file.name, MessageField.VALUE)))
    write("protobuf.json", client, written)
    client = SchemaRegistryClient.new_client({"url": "mock://avro"})
    serializer = AvroSerializer(client, json.dumps(AVRO))
    write("avro.json", client, [serializer(value, PLACE) for value in AVRO_MESSAGES])
    client = SchemaRegistryClient.new_client({"url": "mock://json"})
    serializer = JSONSerializer(json.dumps(JSON_SCHEMA), client)
    write("json-schema.json", client, [serializer(value, PLACE) for value in JSON_MESSAGES])


if __name__ == "__main__":
    main()
