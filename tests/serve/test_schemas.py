"""The registry over HTTP, asked by the stock clients of confluent-kafka, unchanged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

import headwater as hw
from headwater.config import ServeSettings
from headwater.project import Project
from headwater.serve import open_server
from headwater.serve.tokens import Tokens
from tests.patience import PATIENCE

GOLDEN = Path(__file__).parents[1] / "intake" / "kafka" / "golden"
PLACE = SerializationContext("payments", MessageField.VALUE)
ID = {"name": "id", "type": "string"}
AMOUNT = {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}}
NOTE = {"name": "note", "type": "string", "default": ""}


def avro(*fields: Any) -> Schema:
    return Schema(json.dumps({"type": "record", "name": "Payment", "fields": list(fields)}), "AVRO")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    (tmp_path / "headwater.toml").write_text('name = "shop"\n')
    (tmp_path / "a.sql").write_text("CREATE STREAM payments (id STRING);")
    with hw.open(tmp_path) as opened:
        yield opened


@pytest.fixture
def url(project: Project) -> Iterator[str]:
    with open_server(project, ServeSettings(port=0, dashboard=False)) as server:
        yield f"{server.url}/registry"


@pytest.fixture
def client(url: str) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": url}) as client:
        yield client


def refusal(action: Any) -> tuple[int, int]:
    with pytest.raises(SchemaRegistryError) as refused:
        action()
    return refused.value.http_status_code, refused.value.error_code


def test_avro_goes_round(client: SchemaRegistryClient, project: Project) -> None:
    schema = avro(ID, AMOUNT)
    value = {"id": "p1", "amount": Decimal("9.50")}
    sent = AvroSerializer(client, schema)(value, PLACE)
    assert isinstance(sent, bytes)
    assert AvroDeserializer(client)(sent, PLACE) == value
    assert project.schemas.version("payments-value", 1).number == int.from_bytes(sent[1:5], "big")


def test_json_goes_round(client: SchemaRegistryClient) -> None:
    schema = json.dumps({"title": "Payment", "type": "object", "properties": {"id": {"type": "string"}}})
    sent = JSONSerializer(schema, client)({"id": "p1"}, PLACE)
    assert JSONDeserializer(None, schema_registry_client=client)(sent, PLACE) == {"id": "p1"}


def test_protobuf_goes_round_with_what_it_imports(client: SchemaRegistryClient) -> None:
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString((GOLDEN / "protoc.binpb").read_bytes()).file:
        pool.Add(file)
    payment = GetMessageClass(pool.FindMessageTypeByName("shop.Payment"))
    value = payment(id="p1", till={"name": "left"}, counts={"x": 1})
    sent = ProtobufSerializer(payment, client, {"use.deprecated.format": False})(value, PLACE)
    read = ProtobufDeserializer(payment, {"use.deprecated.format": False}, client)(sent, PLACE)
    assert read == value
    found = client.get_latest_version("payments-value")
    assert [reference.subject for reference in found.schema.references or ()] == ["till.proto"]
    assert 'import "till.proto";' in (found.schema.schema_str or "")  # as text, whoever registered it
    assert client.get_referenced_by("till.proto", 1) == [found.schema_id]


def test_versions_are_found_compared_and_deleted(client: SchemaRegistryClient) -> None:
    first = client.register_schema("a", avro(ID))
    assert client.register_schema("a", avro(ID)) == first
    second = client.register_schema("a", avro(ID, NOTE))
    assert client.get_versions("a") == [1, 2]
    assert client.get_latest_version("a").schema_id == second
    assert client.lookup_schema("a", avro(ID)).version == 1
    assert client.test_compatibility("a", avro(ID)) is True
    assert client.test_compatibility("a", avro(ID, AMOUNT)) is False
    assert refusal(lambda: client.register_schema("a", avro(ID, AMOUNT))) == (409, 409)
    assert refusal(lambda: client.delete_version("a", 1, permanent=True)) == (404, 40407)
    assert client.delete_version("a", 1) == 1
    assert client.get_versions("a", deleted=True) == [1, 2]
    assert client.delete_subject("a") == [2]
    assert client.get_subjects() == []
    assert client.get_subjects(deleted=True) == ["a"]
    assert client.delete_subject("a", permanent=True) == [1, 2]
    assert refusal(lambda: client.get_versions("a")) == (404, 40401)


def test_levels_are_global_and_of_a_subject(client: SchemaRegistryClient) -> None:
    assert client.get_compatibility() == "BACKWARD"
    assert refusal(lambda: client.get_compatibility("a")) == (404, 40408)
    client.set_compatibility(level="NONE")
    client.set_compatibility("a", "FULL_TRANSITIVE")
    assert (client.get_compatibility(), client.get_compatibility("a")) == ("NONE", "FULL_TRANSITIVE")
    client.register_schema("b", avro(ID))
    client.register_schema("b", avro(AMOUNT))
    client.register_schema("a", avro(ID))
    assert refusal(lambda: client.register_schema("a", avro(AMOUNT))) == (409, 409)
    client.delete_config("a")
    client.register_schema("a", avro(AMOUNT))


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/schemas/ids/7", None, (404, 40403)),
        ("GET", "/subjects/a/versions/latest", None, (404, 40401)),
        ("GET", "/subjects/a/versions/zero", None, (422, 42202)),
        ("POST", "/subjects/a/versions", {"schema": "{"}, (422, 42201)),
        ("POST", "/subjects/a/versions", {}, (422, 42201)),
        ("POST", "/subjects/a/versions", {"schema": '"int"', "references": [{"name": "x"}]}, (422, 42201)),
        ("PUT", "/config", {"compatibility": "SIDEWAYS"}, (422, 42203)),
        ("GET", "/schemas/ids/x", None, (422, 422)),
    ],
)
def test_errors_are_those_of_confluent(url: str, method: str, path: str, body: Any, expected: tuple[int, int]) -> None:
    found = httpx.request(method, url + path, json=body, timeout=PATIENCE)
    assert (found.status_code, found.json()["error_code"]) == expected
    assert found.json()["message"]


def test_where_others_can_reach_it_a_token_is_the_password(project: Project) -> None:
    tokens = Tokens(project.folder)
    reads, writes, narrow = tokens.create("r", "read"), tokens.create("w", "write"), tokens.create("n", "write", ["x"])
    with open_server(project, ServeSettings(host="0.0.0.0", port=0, dashboard=False)) as server:
        url = f"{server.url.replace('0.0.0.0', '127.0.0.1')}/registry"

        def ask(token: str, what: Callable[[SchemaRegistryClient], Any]) -> Any:
            with SchemaRegistryClient({"url": url, "basic.auth.user.info": f"any:{token}"}) as client:
                return what(client)

        assert ask(writes, lambda client: client.register_schema("a", avro(ID))) == 1
        assert ask(reads, lambda client: client.get_subjects()) == ["a"]
        assert refusal(lambda: ask(reads, lambda client: client.register_schema("b", avro(ID))))[0] == 403
        assert refusal(lambda: ask(writes, lambda client: client.delete_subject("a")))[0] == 403
        assert refusal(lambda: ask(narrow, lambda client: client.get_subjects()))[0] == 403
        assert refusal(lambda: ask("wrong", lambda client: client.get_subjects()))[0] == 401
        assert httpx.get(f"{url}/subjects", timeout=PATIENCE).status_code == 401
        bearer = httpx.get(f"{url}/subjects", headers={"Authorization": f"Bearer {reads}"}, timeout=PATIENCE)
        assert bearer.json() == ["a"]


def test_a_reference_is_followed(client: SchemaRegistryClient) -> None:
    till = Schema('{"type": "record", "name": "Till", "fields": []}', "AVRO")
    client.register_schema("till", till)
    schema = avro(ID, {"name": "till", "type": "Till"})
    schema = Schema(schema.schema_str, "AVRO", [SchemaReference("Till", "till", 1)])
    value = {"id": "p1", "till": {}}
    sent = AvroSerializer(client, schema)(value, PLACE)
    assert AvroDeserializer(client)(sent, PLACE) == value


def test_a_subject_that_is_read_only_is_not_changed(client: SchemaRegistryClient) -> None:
    client.register_schema("payments-value", avro(ID))
    assert client.get_global_mode() == "READWRITE"
    assert refusal(lambda: client.get_mode("payments-value")) == (404, 40409)
    client.update_mode("payments-value", "READONLY")
    assert refusal(lambda: client.register_schema("payments-value", avro(ID, NOTE))) == (422, 42205)
    assert refusal(lambda: client.delete_subject("payments-value")) == (422, 42205)
    assert client.register_schema("payments-value", avro(ID)) == 1, "what is there may be asked for"
    client.register_schema("others-value", avro(ID, NOTE))
    client.update_global_mode("READONLY")
    client.update_mode("payments-value", "READWRITE")
    client.register_schema("payments-value", avro(ID, NOTE))
    assert client.delete_mode("payments-value") == "READWRITE"
    assert refusal(lambda: client.delete_subject("payments-value")) == (422, 42205)
    assert refusal(lambda: client.update_global_mode("IMPORT")) == (422, 42204)
    assert client.get_contexts() == ["."]


def test_a_schema_that_is_written_otherwise_is_the_same_one(client: SchemaRegistryClient) -> None:
    first = client.register_schema("payments-value", avro(ID))
    spaced = Schema(json.dumps(json.loads(avro(ID).schema_str or ""), indent=4), "AVRO")
    assert client.register_schema("payments-value", spaced, normalize_schemas=True) == first
