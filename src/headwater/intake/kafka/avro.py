"""Avro in Confluent's wire format: behind the number of the schema, the record.

A record is read by the schema that it was written with. Its fields go to the columns of the same names or aliases, as
values do that come from Python: a field that isn't declared is ignored, a column without a field is NULL or its
default. Bytes are promoted to text and text to bytes, as UTF-8, which is Avro's way.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import pyarrow as pa
from fastavro import parse_schema, schemaless_reader, schemaless_writer

from headwater.errors import UnreadableEvent
from headwater.intake.kafka.wire import common_number, forget_unknown, number_of, reason_of, unknown
from headwater.intake.messages import Messages, Poison, Records
from headwater.schemas.avro import AvroSchema, Compiled, compile_avro
from headwater.schemas.wire import HEAD
from headwater.schemas.written import Schemas

_FAILS = (EOFError, ValueError, IndexError, KeyError, TypeError, OverflowError, RecursionError, MemoryError)
"""The errors that fastavro raises on bytes that aren't a record of the schema."""
_MARK = os.urandom(16)
"""Bytes that no message holds but by a chance that nobody has."""


class AvroCodec:
    """Reads messages with the schemas of a registry, for columns of these types."""

    def __init__(self, schemas: Schemas, kinds: Mapping[str, pa.DataType]) -> None:
        self._schemas = schemas
        self._kinds = kinds
        self._compiled: dict[int, Compiled | Poison] = {}
        self._arrays: dict[int | None, AvroSchema] = {}

    def read(self, messages: Messages) -> Records:
        """Each message as a record or as poison; `SourceUnavailable` if a schema can't be asked for."""
        forget_unknown(self._compiled)
        values = messages.values.to_pylist()
        together = self._together(values)
        if together is not None:
            return Records(messages, together)
        return Records(messages, [_as_record(self._value(value)) for value in values])

    def _together(self, values: list[bytes | None]) -> list[Mapping[str, Any]] | None:
        """All messages at once, if they are of one schema and nothing is wrong with any; else None.

        They are read as one array, with a mark behind each record: where a record doesn't end with its message, its
        mark is not where it should be, and each is looked at by itself.
        """
        number = common_number(values)
        schema = None if number is None else self._schema(number)
        if schema is None or isinstance(schema, Poison):
            return None
        if number not in self._arrays:
            self._arrays[number] = _marked(schema)
        body = BytesIO()
        schemaless_writer(body, "long", len(values))
        for value in values:
            body.write(value[HEAD:])  # type: ignore[index]  # one with a number has a value
            body.write(_MARK)
        body.write(b"\0")
        end = body.tell()
        body.seek(0)
        try:
            marked: Any = schemaless_reader(body, self._arrays[number], None)
            if body.tell() != end or any(one["mark"] != _MARK for one in marked):
                return None
            rows = [schema.convert(one["record"]) for one in marked]
        except _FAILS:
            return None
        return rows if all(type(row) is dict for row in rows) else None

    def key(self, value: bytes) -> Any:
        """A key: a record or a value of another type; poison if it can't be read."""
        forget_unknown(self._compiled)
        return self._value(value)

    def _value(self, value: bytes | None) -> Any:
        number = number_of(value)
        if isinstance(number, Poison):
            return number
        assert value is not None
        schema = self._schema(number)
        return schema if isinstance(schema, Poison) else _read(value, number, schema)

    def _schema(self, number: int) -> Compiled | Poison:
        if number not in self._compiled:
            self._compiled[number] = self._compile(number)
        return self._compiled[number]

    def _compile(self, number: int) -> Compiled | Poison:
        schema = self._schemas.schema(number, "AVRO")
        if schema is None:
            return unknown(number, "Avro")
        try:
            return compile_avro(schema, self._kinds)
        except ValueError as problem:
            return Poison(UnreadableEvent, f"schema {number} can't be read: {problem}")


def _marked(schema: Compiled) -> AvroSchema:
    """An array of records of a schema, each with a mark behind it."""
    mark = {"type": "fixed", "name": "headwater_mark", "size": len(_MARK)}
    fields = [{"name": "record", "type": schema.schema}, {"name": "mark", "type": mark}]
    items = {"type": "record", "name": "headwater_marked", "fields": fields}
    return parse_schema({"type": "array", "items": items}, named_schemas=dict(schema.referred))


def _as_record(value: Any) -> Mapping[str, Any] | Poison:
    if isinstance(value, dict | Poison):
        return value
    return Poison(UnreadableEvent, f"the message is a {type(value).__name__}, not a record")


def _read(value: bytes, number: int, schema: Compiled) -> Any:
    body = BytesIO(value)
    body.seek(HEAD)
    try:
        record = schema.convert(schemaless_reader(body, schema.schema, None))
    except _FAILS as problem:
        return Poison(UnreadableEvent, f"the message is not a record of schema {number}: {reason_of(problem)}")
    if body.tell() != len(value):
        return Poison(UnreadableEvent, f"the message has {len(value) - body.tell()} bytes behind its record")
    return record
