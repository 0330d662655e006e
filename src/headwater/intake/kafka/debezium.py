"""Debezium's envelope: a change with the row before and after it, opened to the row.

A change that creates, updates or reads (`c`, `u`, `r`) is the row after it; one that deletes (`d`) is, in a table, the
deletion of the row before it, at the time at which the database made it. With its schema beside it (Kafka Connect's
converter to JSON writes one unless it is told not to), a field is what its schema calls it: an instant, a date, a
decimal; Avro says it by itself.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from headwater.errors import DataError, MissingValue, UnreadableEvent
from headwater.intake.kafka.plain import JsonCodec
from headwater.intake.layout import DELETE, OPERATION
from headwater.intake.messages import Codec, Messages, Poison, Records
from headwater.intake.values import column_of
from headwater.model import INSTANT, Table, Topic, decimal_of

_KEPT = frozenset("cur")
_EPOCH = datetime(1970, 1, 1)
"""Without a zone, like the times of a database that this is the beginning of."""
_MILLISECOND = timedelta(milliseconds=1)


class DebeziumCodec:
    """Opens the envelopes that another format's codec reads."""

    def __init__(self, topic: Topic, inside: Codec) -> None:
        self._topic = topic
        self._inside = inside

    def read(self, messages: Messages) -> Records:
        """Each message as the row of its change, or as poison."""
        inside = self._inside.read(messages)
        if isinstance(inside, Messages):  # JSON out of its frame, or never in one
            texts = JsonCodec().read(inside)
            inside = Records(messages, [inside.poison.get(index, row) for index, row in enumerate(texts.rows)])
        assert isinstance(inside, Records), "CSV and bytes have no envelope"
        return Records(messages, [row if isinstance(row, Poison) else self._opened(row) for row in inside.rows])

    def key(self, value: bytes) -> Any:
        """The key, which has no envelope."""
        return self._inside.key(value)

    def _opened(self, message: Mapping[str, Any]) -> Mapping[str, Any] | Poison:
        beside = isinstance(message.get("payload"), Mapping) and "op" not in message
        change = message["payload"] if beside else message
        operation = change.get("op")
        if operation not in _KEPT and operation != "d":
            return _poison(UnreadableEvent, f"is no change of a row: its op is {operation!r}")
        row = change.get("before" if operation == "d" else "after")
        if not isinstance(row, Mapping):
            return _poison(MissingValue, f"has no row {'before' if operation == 'd' else 'after'} the change")
        try:
            typed = _typed(row, message["schema"]) if beside and isinstance(message.get("schema"), Mapping) else row
            return typed if operation != "d" else self._deletion(typed, change)
        except (ValueError, ArithmeticError, KeyError, TypeError, AttributeError) as problem:
            return _poison(UnreadableEvent, f"doesn't fit the schema beside it: {problem}")

    def _deletion(self, row: Mapping[str, Any], change: Mapping[str, Any]) -> Mapping[str, Any] | Poison:
        if not isinstance(self._topic, Table):
            return _poison(MissingValue, "deletes a row, and a stream has no row to delete")
        time = self._topic.time
        when = {} if time is None else {time: self._deleted_at(time, row, change)}
        return {**{name: row.get(name) for name in self._topic.primary_key}, **when, OPERATION: DELETE}

    def _deleted_at(self, time: str, row: Mapping[str, Any], change: Mapping[str, Any]) -> datetime | None:
        """When the database made the change; not before the row that it deletes, whose time another clock may tell."""
        made_at = _made_at(change)
        told: datetime | None = None if row.get(time) is None else column_of([row[time]], INSTANT).values[0].as_py()
        return told if made_at is None or (told is not None and told > made_at) else made_at


def _poison(error: type[DataError], what: str) -> Poison:
    return Poison(error, f"the message {what}")


def _made_at(change: Mapping[str, Any]) -> datetime | None:
    """When the database made the change, or else when Debezium saw it."""
    source = change.get("source")
    milliseconds = (source.get("ts_ms") if isinstance(source, Mapping) else None) or change.get("ts_ms")
    return None if milliseconds is None else (_EPOCH + int(milliseconds) * _MILLISECOND).replace(tzinfo=UTC)


# The schema beside a message


def _typed(row: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The row with the fields made what their schema says."""
    envelope = {field["field"]: field for field in schema["fields"]}
    typed = dict(row)
    for field in (envelope.get("after") or {}).get("fields", ()):
        name, read = field["field"], _TYPES.get(field.get("name"))
        if read is not None and typed.get(name) is not None:
            typed[name] = read(typed[name], field)
    return typed


def _since_epoch(unit: timedelta) -> Callable[[Any, Mapping[str, Any]], datetime]:
    return lambda value, _: _EPOCH + int(value) * unit


def _nanoseconds(value: Any, _: Mapping[str, Any]) -> datetime:
    return _EPOCH + timedelta(microseconds=int(value) // 1000)


def _day(value: Any, _: Mapping[str, Any]) -> date:
    return (_EPOCH + timedelta(days=int(value))).date()


def _decimal(value: Any, field: Mapping[str, Any]) -> Decimal:
    try:
        digits = base64.b64decode(value, validate=True)
    except binascii.Error as problem:
        raise ValueError(f'field "{field["field"]}" is not base64') from problem
    return decimal_of(digits, int(field["parameters"]["scale"]))


_TYPES: Mapping[Any, Callable[[Any, Mapping[str, Any]], Any]] = {
    "io.debezium.time.Timestamp": _since_epoch(_MILLISECOND),
    "io.debezium.time.MicroTimestamp": _since_epoch(timedelta(microseconds=1)),
    "io.debezium.time.NanoTimestamp": _nanoseconds,
    "io.debezium.time.Date": _day,
    "org.apache.kafka.connect.data.Timestamp": _since_epoch(_MILLISECOND),
    "org.apache.kafka.connect.data.Date": _day,
    "org.apache.kafka.connect.data.Decimal": _decimal,
}
