"""Avro in Confluent's wire format: behind the number of the schema, the record.

A record is read by the schema that it was written with. Its fields go to the columns of the same names, as values do
that come from Python: a field that isn't declared is ignored, a column without a field is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

from fastavro import schemaless_reader

from headwater.errors import UnreadableEvent
from headwater.intake.kafka.wire import HEAD, number_of, unknown
from headwater.intake.messages import Messages, Poison, Records
from headwater.intake.schema.avro import AvroSchema, compile_avro
from headwater.intake.schema.written import Schemas

_FAILS = (EOFError, ValueError, IndexError, KeyError, TypeError, OverflowError, RecursionError, MemoryError)
"""What fastavro raises on bytes that aren't a record of the schema."""


class AvroCodec:
    """Reads messages with the schemas of a registry."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._compiled: dict[int, AvroSchema | Poison] = {}

    def read(self, messages: Messages) -> Records:
        """Each message as a record or as poison; `SourceUnavailable` if a schema can't be asked for."""
        self._forget_unknown()
        return Records(messages, [_as_record(self._value(value)) for value in messages.values.to_pylist()])

    def key(self, value: bytes) -> Any:
        """What a key is: a record or a value of another type; poison if it can't be read."""
        self._forget_unknown()
        return self._value(value)

    def _forget_unknown(self) -> None:
        """What the registry didn't have, it may have by now; asked once for many messages."""
        self._compiled = {number: found for number, found in self._compiled.items() if not isinstance(found, Poison)}

    def _value(self, value: bytes | None) -> Any:
        number = number_of(value)
        if isinstance(number, Poison):
            return number
        assert value is not None
        if number not in self._compiled:
            self._compiled[number] = self._compile(number)
        schema = self._compiled[number]
        return schema if isinstance(schema, Poison) else _read(value, number, schema)

    def _compile(self, number: int) -> AvroSchema | Poison:
        schema = self._schemas.schema(number, "AVRO")
        if schema is None:
            return unknown(number, "Avro")
        try:
            return compile_avro(schema)
        except ValueError as problem:
            return Poison(UnreadableEvent, f"schema {number} can't be read: {problem}")


def _as_record(value: Any) -> Mapping[str, Any] | Poison:
    if isinstance(value, dict | Poison):
        return value
    return Poison(UnreadableEvent, f"the message is a {type(value).__name__}, not a record")


def _read(value: bytes, number: int, schema: AvroSchema) -> Any:
    body = BytesIO(value)
    body.seek(HEAD)
    try:
        found: Any = schemaless_reader(body, schema, None)
    except _FAILS as problem:
        return Poison(UnreadableEvent, f"the message is not a record of schema {number}: {_reason(problem)}")
    if body.tell() != len(value):
        return Poison(UnreadableEvent, f"the message has {len(value) - body.tell()} bytes behind its record")
    return found


def _reason(problem: BaseException) -> str:
    return str(problem).rstrip(".") or type(problem).__name__
