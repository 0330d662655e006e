"""Messages that name a JSON Schema: held against its constraints, then read as JSON."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pyarrow as pa

from headwater.intake import Decoded, Decoder
from headwater.intake.kafka.json_schema import JsonSchemaCodec
from headwater.intake.messages import Messages
from headwater.log import TopicLog, open_storage
from headwater.model import Column, Stream
from headwater.schemas.known import TOPIC, Draft, Reference
from headwater.schemas.registry import SchemaRegistry

CARD = {"type": "object", "properties": {"no": {"type": "string", "pattern": "^[0-9]{4}$"}}, "required": ["no"]}
PAYMENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "minLength": 1},
        "n": {"type": "integer", "minimum": 0},
        "card": {"$ref": "card.json"},
    },
    "required": ["id"],
}
PAYMENTS = Stream(name="payments", columns=(Column("id", pa.string()), Column("n", pa.int32())))


def decode(*values: bytes) -> Decoded:
    registry = SchemaRegistry(TopicLog(TOPIC, open_storage(f"memory://{uuid4()}")))
    registry.register("card", Draft("JSON", json.dumps(CARD)))
    references = (Reference("card.json", "card", 1),)
    assert registry.register("payments-value", Draft("JSON", json.dumps(PAYMENT), references)).number == 2
    read = JsonSchemaCodec(registry).read(Messages(pa.array(values), range(len(values))))
    return Decoder(PAYMENTS).decode(read, where="payments[0]")


def framed(value: Any, number: int = 2) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + (value if isinstance(value, bytes) else json.dumps(value).encode())


def test_a_message_that_breaks_a_constraint_is_a_dead_letter_that_says_which() -> None:
    good = framed({"id": "a", "n": 1, "card": {"no": "1234"}, "more": True})
    bad = [
        framed({"n": 1}),
        framed({"id": "", "n": 1}),
        framed({"id": "a", "n": -1}),
        framed({"id": "a", "card": {"no": "12"}}),
        framed(b'{"id": '),
        framed({"id": "a"}, number=9),
    ]
    decoded = decode(good, *bad, good)
    assert decoded.rows.to_pylist() == [{"id": "a", "n": 1}] * 2
    letters = sorted(decoded.dead.to_pylist(), key=lambda letter: letter["position"])
    assert [letter["bytes"] for letter in letters] == bad
    assert [letter["error"] for letter in letters] == ["schema-violated"] * 4 + ["unreadable-event"] * 2
    reasons = [letter["reason"] for letter in letters]
    assert reasons[0].startswith("the message is against schema 2: the object:")
    assert [reason.split(": ")[1] for reason in reasons[1:4]] == ["id", "n", "card/no"]


def test_a_message_with_half_a_surrogate_pair_is_a_dead_letter() -> None:
    bad = [framed(rb'{"id": "\ud800"}'), framed(rb'{"\ud800": 1}'), framed(rb'{"id": "a", "card": {"\ud800": 1}}')]
    decoded = decode(*bad)
    assert decoded.rows.num_rows == 0
    assert decoded.dead.num_rows == 3
    assert set(decoded.dead["error"].to_pylist()) == {"wrong-type", "unreadable-event"}


def test_a_schema_that_refers_to_what_is_gone_says_so() -> None:
    registry = SchemaRegistry(TopicLog(TOPIC, open_storage(f"memory://{uuid4()}")))
    registry.register("payments-value", Draft("JSON", json.dumps({"$ref": "gone.json"})))
    read = JsonSchemaCodec(registry).read(Messages(pa.array([framed({"id": "a"}, 1)]), range(1)))
    assert "can't be read" in read.poison[0].reason
