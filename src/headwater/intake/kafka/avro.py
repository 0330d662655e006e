"""Avro in Confluent's wire format: a zero byte, the number of the schema in four bytes, the record.

A record is read by the schema that it was written with. Its fields go to the columns of the same names, as values do
that come from Python: a field that isn't declared is ignored, a column without a field is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

from fastavro import schemaless_reader

from headwater.errors import EventTooLarge, MissingValue, UnreadableEvent
from headwater.intake.kafka.registry import Registry
from headwater.intake.lines import LARGEST_EVENT
from headwater.intake.messages import Messages, Poison, Records

_MAGIC = 0
_HEAD = 5
_FAILS = (EOFError, ValueError, IndexError, KeyError, TypeError, OverflowError, RecursionError, MemoryError)
"""What fastavro raises on bytes that aren't a record of the schema."""


class AvroCodec:
    """Reads messages with the schemas of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def read(self, messages: Messages) -> Records:
        """Each message as a record or as poison; `SourceUnavailable` if a schema can't be asked for."""
        return Records(messages, [self._record(value) for value in messages.values.to_pylist()])

    def _record(self, value: bytes | None) -> Mapping[str, Any] | Poison:
        if not value:
            return Poison(MissingValue, "the message has no value")
        if len(value) > LARGEST_EVENT:
            return Poison(EventTooLarge, f"the message has more than {LARGEST_EVENT:,} bytes")
        if len(value) < _HEAD or value[0] != _MAGIC:
            return Poison(UnreadableEvent, f"the message names no schema: its first byte is {value[0]}, not {_MAGIC}")
        number = int.from_bytes(value[1:_HEAD], "big")
        schema = self._registry.schema(number)
        if schema is None:
            return Poison(
                UnreadableEvent, f"the message names schema {number}, which the registry doesn't have as Avro"
            )
        return _read(value, number, schema)


def _read(value: bytes, number: int, schema: Any) -> Mapping[str, Any] | Poison:
    body = BytesIO(value)
    body.seek(_HEAD)
    try:
        record: Any = schemaless_reader(body, schema, None)
    except _FAILS as problem:
        return Poison(UnreadableEvent, f"the message is not a record of schema {number}: {_reason(problem)}")
    if not isinstance(record, dict):
        return Poison(UnreadableEvent, f"schema {number} is that of a {type(record).__name__}, not of a record")
    if body.tell() != len(value):
        return Poison(UnreadableEvent, f"the message has {len(value) - body.tell()} bytes behind its record")
    return record


def _reason(problem: BaseException) -> str:
    return str(problem).rstrip(".") or type(problem).__name__
