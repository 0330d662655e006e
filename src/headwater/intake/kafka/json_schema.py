"""JSON in Confluent's wire format: behind the number of a JSON Schema, the text of an object.

The schema must be one that the registry has, and the object must keep its constraints. Then the text is read as all
JSON is, by the declared columns.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pyarrow as pa

from headwater.errors import SchemaViolated, UnreadableEvent
from headwater.intake.dead import shorten
from headwater.intake.kafka.plain import plain_key
from headwater.intake.kafka.wire import forget_unknown, number_of, unknown
from headwater.intake.messages import Messages, Poison
from headwater.schemas.wire import HEAD
from headwater.schemas.written import Schemas, Written

Validator = Any
"""A schema as `jsonschema_rs` has compiled it."""


class JsonSchemaCodec:
    """Takes the text of messages out of its frame, and holds it against its schema."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._compiled: dict[int, Validator | Poison] = {}

    def read(self, messages: Messages) -> Messages:
        """The texts, and what is wrong with the others; `SourceUnavailable` if a schema can't be asked for."""
        forget_unknown(self._compiled)
        texts: list[bytes | None] = []
        poison: dict[int, Poison] = {}
        for index, value in enumerate(messages.values.to_pylist()):
            why = self._wrong(value)
            if why is not None:
                poison[index] = why
            texts.append(value[HEAD:] if why is None else None)
        return replace(messages, values=pa.array(texts, pa.binary()), originals=messages.values, poison=poison)

    def key(self, value: bytes) -> Any:
        """The JSON value of a key; poison if it has none."""
        forget_unknown(self._compiled)
        return self._wrong(value) or plain_key(value[HEAD:])

    def _wrong(self, value: bytes | None) -> Poison | None:
        number = number_of(value)
        if isinstance(number, Poison):
            return number
        assert value is not None
        if number not in self._compiled:
            self._compiled[number] = self._compile(number)
        validator = self._compiled[number]
        return validator if isinstance(validator, Poison) else _against(validator, number, value)

    def _compile(self, number: int) -> Validator | Poison:
        schema = self._schemas.schema(number, "JSON")
        if schema is None:
            return unknown(number, "JSON Schema")
        try:
            return jsonschema_rs.validator_for(json.loads(schema.text), retriever=_Referred(schema))
        except (ValueError, jsonschema_rs.ReferencingError) as problem:
            return Poison(UnreadableEvent, f"schema {number} can't be read: {problem}")


class _Referred:
    """The schemas that a schema refers to, by the names by which it calls them."""

    def __init__(self, schema: Written) -> None:
        self._known: dict[str, Written] = {}
        self._learn(schema)

    def _learn(self, schema: Written) -> None:
        for name, reference in schema.references:
            self._known[name] = reference
            self._learn(reference)

    def __call__(self, uri: str) -> dict[str, Any]:
        for name, schema in self._known.items():
            if uri == name or uri.endswith(f"/{name}"):
                document: dict[str, Any] = json.loads(schema.text)
                return document
        raise ValueError(f'it refers to "{uri}", which isn\'t registered')


def _against(validator: Validator, number: int, value: bytes) -> Poison | None:
    """The constraint that a message breaks; what isn't JSON breaks none, and is told of where it is read."""
    try:
        document = json.loads(value[HEAD:])
    except (ValueError, RecursionError):
        return None
    try:
        first = None if validator.is_valid(document) else next(validator.iter_errors(document))
    except (ValueError, RecursionError, OverflowError) as cause:  # such as half a surrogate pair, which is no text
        reason = f"the message can't be held against schema {number}: {shorten(str(cause))}"
        return Poison(UnreadableEvent, reason)
    if first is None:
        return None
    path = "/".join(map(str, first.instance_path)) or "the object"
    return Poison(SchemaViolated, f"the message is against schema {number}: {path}: {shorten(first.message)}")
