"""Bad input through a real broker: it costs itself alone, and every offset is a row or a dead letter."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

from fastavro import parse_schema, schemaless_writer

from headwater.project import Project
from headwater.schemas.known import Draft
from headwater.schemas.level import Level
from tests.intake.kafka.shop import event
from tests.intake.kafka.test_intake import Make


def places(project: Project) -> dict[int, str]:
    """What became of each offset: `row`, or the class of its dead letter."""
    rows = {int(key): "row" for key in project.read("payments")["place"].to_pylist()}
    letters = project.dead("payments").to_pylist()
    dead = {int(letter["position"].rpartition(":")[2]): letter["error"] for letter in letters}
    assert not rows.keys() & dead.keys()
    return dict(sorted((rows | dead).items()))


STREAM = "CREATE STREAM payments (id STRING, amount INT, place STRING, at TIMESTAMP, WATERMARK FOR at AS at)"


def test_every_offset_is_a_row_or_a_dead_letter_whatever_comes(shop: Make) -> None:
    payments = shop(declared=STREAM, options="message_key = 'place'", partitions=1)
    huge = event(1).replace(b"p1", b"x" * 5_000_000)
    wrong_clock = event(2).replace(b"2026-01-01", b"2099-01-01")
    given = [event(0), huge, None, event(3), event(3), wrong_clock, event(6)[:-4], b"\xff\xfe", event(8)]
    for offset, value in enumerate(given):
        payments.send([value], key=str(offset))
    with payments.open() as project:
        (taken,) = project.take_in()
        assert (taken.rows, taken.dead) == (4, 5)
        assert places(project) == {
            0: "row", 1: "event-too-large", 2: "missing-value", 3: "row", 4: "row", 5: "time-out-of-range",
            6: "unreadable-event", 7: "unreadable-event", 8: "row",
        }  # fmt: skip
        assert project.log.watermark("payments").year == 2026, "a wrong clock closes nobody's windows"


def avro(number: int, kind: Any, value: Any) -> bytes:
    body = BytesIO()
    schemaless_writer(body, parse_schema(json.loads(record(kind))), {"id": "p", "amount": value, "at": 10**15})
    return b"\0" + number.to_bytes(4, "big") + body.getvalue()


def record(kind: Any) -> str:
    at = {"type": "long", "logicalType": "timestamp-micros"}
    fields = [{"name": name, "type": of} for name, of in (("id", "string"), ("amount", kind), ("at", at))]
    return json.dumps({"type": "record", "name": "P", "fields": fields})


UPCASTS = """
import headwater as hw
import pyarrow as pa

OLD = {"id": str, "amount": "INT", "place": "STRING", "at": "TIMESTAMP"}

@hw.upcast("payments", from_version=1, columns=OLD)
def payments_from_1(old):
    return old.set_column(1, "amount", old["amount"].cast(pa.string()))
"""


def test_messages_of_an_incompatible_schema_are_dead_until_the_stream_takes_them(shop: Make) -> None:
    payments = shop(declared=STREAM, options="message_key = 'place', format = 'avro'", partitions=1)
    with payments.open() as project:
        subject = f"{payments.topic}-value"
        project.schemas.set_level(Level.NONE)
        first = project.schemas.register(subject, Draft("AVRO", record("int"))).number
        second = project.schemas.register(subject, Draft("AVRO", record("string"))).number
        good, other = avro(first, "int", 1), avro(second, "string", "two")
        for offset, value in enumerate([good, other, b"\x01" + good[1:], good[:-3], avro(99, "int", 1), good]):
            payments.send([value], key=str(offset))
        (taken,) = project.take_in()
        assert (taken.rows, taken.dead) == (2, 4)
        assert places(project) == {
            0: "row", 1: "wrong-type", 2: "unreadable-event", 3: "unreadable-event", 4: "unreadable-event", 5: "row",
        }  # fmt: skip
    (payments.folder / "upcasts.py").write_text(UPCASTS)
    options = "message_key = 'place', format = 'avro', version = 2, version_from = 'registry'"
    payments.declare(STREAM.replace("amount INT", "amount STRING"), options)
    with payments.open() as project:
        assert project.redrive("payments").rows == 1
        assert sorted(project.read("payments")["amount"].to_pylist()) == ["1", "1", "two"]
