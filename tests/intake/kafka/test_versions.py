"""What tells the version of a message: a header, a field, or the registry."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headwater.intake.kafka.codec import codec_of
from headwater.intake.messages import Messages, Poison, Records
from headwater.log import TopicLog, open_storage
from headwater.model import Topic
from headwater.schemas.known import TOPIC, Draft
from headwater.schemas.registry import SchemaRegistry
from headwater.sql import parse_declarations
from tests.intake.kafka.shop import event
from tests.intake.kafka.test_intake import Make


def topic(*options: str) -> Topic:
    kafka = "connector = 'kafka', topic = 'payments', brokers = 'none:1', version = 3"
    text = f"CREATE STREAM payments (id STRING, v INT) WITH ({', '.join((kafka, *options))})"
    (found,) = parse_declarations(text, "s.sql").declarations
    assert isinstance(found, Topic)
    return found


def told(declared: Topic, messages: Messages, schemas: SchemaRegistry | None = None) -> list[int | str]:
    codec = codec_of(declared, {}, schemas)
    assert codec is not None
    read = codec.read(messages)
    versions = (read.messages if isinstance(read, Records) else read).versions  # type: ignore[union-attr]
    assert versions is not None
    return [version.reason if isinstance(version, Poison) else version for version in versions]


def test_a_header_tells_the_version() -> None:
    values = [b'{"id": "a"}'] * 5 + [None]
    headers = [{"event-version": b"2"}, {"event-version": b"\x03"}, {"other": b"9"}, None, {"event-version": b"x"}, {}]
    messages = Messages(pa.array(values, pa.binary()), range(6), headers=headers)
    assert told(topic("version_from = 'header event-version'"), messages) == [
        2, 3, 1, 1, "the message is of version 'x', which is no number", 3,
    ]  # fmt: skip


@pytest.mark.parametrize("count", [1, 20], ids=["a few", "many"])
def test_a_field_tells_the_version(count: int) -> None:
    values = [b'{"v": 2}', b'{"v": "two"}', b'{"id": "a"}', b"no JSON", b'{"v": 3, "id": "b"}'] * count
    messages = Messages(pa.array(values, pa.binary()), range(len(values)))
    assert told(topic("version_from = 'field v'"), messages) == [
        2, "the message is of version 'two', which is no number", 1, 3, 3,
    ] * count  # fmt: skip


def test_the_registry_tells_the_version_of_a_schema() -> None:
    registry = SchemaRegistry(TopicLog(TOPIC, open_storage("memory://versions")))
    text = '{"type": "record", "name": "P", "fields": [{"name": "id", "type": "string"}%s]}'
    more = ', {"name": "v", "type": "int", "default": 0}'
    registry.register("other-value", Draft("AVRO", '"string"'))
    first = registry.register("payments-value", Draft("AVRO", text % "")).number
    second = registry.register("payments-value", Draft("AVRO", text % more)).number
    values = [b"\0" + number.to_bytes(4, "big") + rest for number, rest in
              ((second, b"\x02a\x04"), (first, b"\x02a"), (1, b"\x02a"), (99, b""))]  # fmt: skip
    declared = topic("format = 'avro'", "version_from = 'registry'")
    assert told(declared, Messages(pa.array(values), range(4)), registry) == [
        2,
        1,
        'the message names schema 1, which is no version of "payments-value"',
        'the message names schema 99, which is no version of "payments-value"',
    ]


@pytest.mark.parametrize(
    ("options", "finding"),
    [
        (("version_from = 'v'",), 'gives option "version_from" a value that it can\'t take'),
        (("version_from = 'registry'",), "takes versions of 'json' from a registry"),
        (("format = 'csv'", "version_from = 'field v'"), "takes versions from a field of 'csv'"),
    ],
    ids=["what?", "no registry", "no names"],
)
def test_what_can_t_tell_a_version_is_refused(options: tuple[str, ...], finding: str) -> None:
    kafka = "connector = 'kafka', topic = 'payments', brokers = 'none:1'"
    text = f"CREATE STREAM payments (id STRING, v INT) WITH ({', '.join((kafka, *options))})"
    (found,) = parse_declarations(text, "s.sql").findings
    assert finding in found.summary


UPCASTS = """
import headwater as hw
import pyarrow as pa

@hw.upcast("payments", from_version=1, columns={"id": str, "n": "STRING", "at": "TIMESTAMP"})
def payments_from_1(old):
    return old.append_column("amount", old["n"].cast(pa.int32()))
"""


def test_messages_of_two_versions_are_taken_in_and_a_mended_upcast_brings_its_dead_letters_back(shop: Make) -> None:
    payments = shop(options="version = 2, version_from = 'header v'", partitions=1)
    (payments.folder / "upcasts.py").write_text(UPCASTS)
    old = [f'{{"id": "{n}", "n": "{n}", "at": "2026-01-01T00:00:00Z"}}'.encode() for n in ("1", "x", "3")]
    payments.send(old, headers=[("v", b"1")])
    payments.send([event(4)], headers=[("v", b"2")])
    with payments.open() as project:
        (taken,) = project.take_in()
        assert (taken.rows, taken.dead) == (3, 1)
        assert project.read("payments")["amount"].to_pylist() == [1, 3, 4]
        (letter,) = project.dead("payments").to_pylist()
        assert (letter["error"], letter["bytes"]) == ("not-upcast", old[1])
    (payments.folder / "upcasts.py").write_text(
        UPCASTS.replace('old["n"]', 'pc.replace_substring(old["n"], "x", "2")').replace(
            "import pyarrow as pa", "import pyarrow as pa, pyarrow.compute as pc"
        )
    )
    with payments.open() as project:
        assert project.redrive("payments").rows == 1
        assert project.read("payments")["amount"].to_pylist() == [1, 3, 4, 2]
