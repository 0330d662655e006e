"""JSON in Confluent's wire format: behind the number of a JSON Schema, the text of an object.

The text is read as all JSON is, by the declared columns. The schema must be one that the registry has; its own
constraints were the writer's to keep.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from headwater.intake.kafka.plain import plain_key
from headwater.intake.kafka.wire import HEAD, number_of, unknown
from headwater.intake.messages import Messages, Poison
from headwater.intake.schema.written import Schemas


class JsonSchemaCodec:
    """Takes the text of messages out of its frame."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas

    def read(self, messages: Messages) -> Messages:
        """The texts, and what is wrong with the others; `SourceUnavailable` if a schema can't be asked for."""
        texts: list[bytes | None] = []
        poison: dict[int, Poison] = {}
        known: dict[int, Poison | None] = {}
        for place, value in enumerate(messages.values.to_pylist()):
            why = self._wrong(value, known)
            if why is not None:
                poison[place] = why
            texts.append(value[HEAD:] if why is None else None)
        return replace(messages, values=pa.array(texts, pa.binary()), originals=messages.values, poison=poison)

    def key(self, value: bytes) -> Any:
        """The JSON value of a key; poison if it has none."""
        return self._wrong(value, {}) or plain_key(value[HEAD:])

    def _wrong(self, value: bytes | None, known: dict[int, Poison | None]) -> Poison | None:
        number = number_of(value)
        if isinstance(number, Poison):
            return number
        if number not in known:
            known[number] = None if self._schemas.schema(number, "JSON") else unknown(number, "JSON Schema")
        return known[number]
