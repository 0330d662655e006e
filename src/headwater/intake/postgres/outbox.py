"""An outbox: a table in which each row that is inserted is an event, and what is done to it afterwards is none.

Its columns are those that Debezium's event router knows. A stream takes the events of one type of aggregates. What an
event is kept as, in a dead letter too, is one text with all that the row said, so that it can be read again alone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

from headwater.errors import MissingValue, UnreadableEvent
from headwater.intake.dead import with_envelopes
from headwater.intake.decode import Decoded, Decoder
from headwater.intake.messages import Messages, Poison, Readable, Records, as_declared
from headwater.model import INSTANT, Postgres, Topic

TEXTS = ("json", "jsonb", "text", "character varying")
"""The types that a payload may have."""
_NO_HEADERS = Poison(UnreadableEvent, "its headers are no JSON object")
Headers = list[tuple[str, bytes | None]]


class OutboxEvent(NamedTuple):
    """A row of an outbox; `made_at` counts microseconds since 1970."""

    id: str
    aggregateid: str | None
    type: str | None
    payload: str | None
    headers: str | None
    transaction: str
    made_at: int

    @classmethod
    def of(cls, row: dict[str, Any], transaction: str, made_at: int) -> OutboxEvent:
        """The event of a row, as Debezium spells it."""

        def text(name: str) -> str | None:
            return None if row.get(name) is None else str(row[name])

        told = text("aggregateid"), text("type"), text("payload"), text("headers")
        return cls(str(row["id"]), *told, transaction, made_at)

    @property
    def content(self) -> bytes:
        """All that the row said, as JSON."""
        return json.dumps(self._asdict(), ensure_ascii=False).encode("utf-8", "surrogatepass")

    @classmethod
    def read(cls, content: bytes) -> OutboxEvent:
        """The event of such a text."""
        return cls(**json.loads(content.decode("utf-8", "surrogatepass")))


class OutboxCodec:
    """Reads the events of a stream from the texts that they are kept as: their payloads are JSON objects."""

    def __init__(self, topic: Topic) -> None:
        assert isinstance(topic.intake, Postgres)
        self._topic = topic
        self._declared = topic.intake
        self._is_beside = {column.name for column in topic.columns} <= {*topic.intake.beside}

    def read(self, messages: Messages) -> Readable:
        """The payloads, with what stands beside them in the columns that take it."""
        return self.of([OutboxEvent.read(content) for content in messages.values.to_pylist()], messages)

    def of(self, events: Sequence[OutboxEvent], kept: Messages) -> Readable:
        """The payloads of events, which are kept as these texts."""
        payloads = [_bytes(event.payload) for event in events]
        headers = [headers_of(event) for event in events]
        poison = {at: told for at, told in enumerate(headers) if isinstance(told, Poison)}
        if self._declared.message_headers is None:
            poison = {}
        beside = self._beside(events, payloads, [None if isinstance(told, Poison) else told for told in headers])
        values = [None if at in poison else payload for at, payload in enumerate(payloads)]
        read = Messages(pa.array(values, pa.binary()), kept.offsets, beside, kept.values, poison)
        if not self._is_beside:
            return read
        none = Poison(MissingValue, "the event has no payload")
        return Records(read, [poison.get(at, {} if payloads[at] else none) for at in range(len(events))])

    def key(self, value: bytes) -> Any:
        """The id of the aggregate."""
        return value.decode()

    def _beside(
        self, events: Sequence[OutboxEvent], payloads: Sequence[bytes | None], headers: Sequence[Headers | None]
    ) -> dict[str, pa.Array]:
        declared = self._declared
        keys = [_bytes(event.aggregateid) for event in events]
        told: tuple[tuple[str | None, Sequence[Any]], ...] = (
            (declared.message_id, [event.id for event in events]),
            (declared.message_key, keys),
            (declared.message_type, [event.type for event in events]),
            (declared.message_value, payloads),
            (declared.message_headers, headers),
            (declared.message_time, [event.made_at for event in events]),
            (declared.transaction, [event.transaction for event in events]),
        )
        return {name: self._column(name, values) for name, values in told if name is not None}

    def _column(self, name: str, values: Sequence[Any]) -> pa.Array:
        column = self._topic.column(name)
        assert column is not None, "the declaration was checked"
        if name in (self._declared.message_key, self._declared.message_value):
            return as_declared(values, column.type)
        return pa.array(values, column.type)


def headers_of(event: OutboxEvent) -> Headers | Poison | None:
    """The headers of an event: texts as they are, and other values as JSON.

    >>> headers_of(OutboxEvent("1", "7", "placed", "{}", '{"by": "till", "try": 2}', "9", 0))
    [('by', b'till'), ('try', b'2')]
    """
    if event.headers is None:
        return None
    try:
        told = json.loads(event.headers)
    except (ValueError, RecursionError):
        return _NO_HEADERS
    if told is None:
        return None
    if not isinstance(told, dict):
        return _NO_HEADERS
    return [(name, _spelled(value)) for name, value in told.items()]


def _spelled(value: Any) -> bytes | None:
    return _bytes(value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class OutboxPiece:
    """Events of an outbox with their numbers, in their order, and the position behind them."""

    source: str
    where: str
    after: int
    events: Sequence[tuple[int, OutboxEvent]]
    codec: OutboxCodec

    def decode(self, decoder: Decoder, arrived_at: datetime, without: Collection[int]) -> Decoded:
        """The events as rows and dead letters, which keep the whole row."""
        wanted = [(number, event) for number, event in self.events if number not in without]
        events = [event for _, event in wanted]
        contents = pa.array([event.content for event in events], pa.binary())
        read = self.codec.of(events, Messages(contents, [number for number, _ in wanted]))
        decoded = decoder.decode(read, source=self.source, where=self.where, arrived_at=arrived_at)
        by_number = {str(number): event for number, event in wanted}
        return replace(decoded, dead=with_envelopes(decoded.dead, lambda number: _envelope(by_number[number])))


def _envelope(event: OutboxEvent) -> tuple[bytes | None, datetime | None, Headers | None]:
    headers = headers_of(event)
    return (
        _bytes(event.aggregateid),
        pa.scalar(event.made_at, INSTANT).as_py(),
        None if isinstance(headers, Poison) else headers,
    )
