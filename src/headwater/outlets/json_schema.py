"""Rows as JSON with a JSON Schema: the text is what an outlet without a registry sends.

Objects are closed (`additionalProperties: false`), so that a column may be added later: readers of the new schema know
that no old message has anything under its name.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from headwater.outlets.encode import JsonEncoder
from headwater.outlets.framed import Write
from headwater.schemas.written import Language


class JsonSchema:
    """The format `json-schema`."""

    language: Language = "JSON"

    def schema(self, name: str, kind: pa.StructType, latest: str | None) -> str:  # noqa: ARG002
        """An object with the columns as its properties, of which each may be null."""
        head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": name}
        return json.dumps({**head, **_object(kind), "type": "object"})

    def writer(self, schema: str, kind: pa.StructType) -> Write:  # noqa: ARG002
        """Writes as JSON is written."""
        return JsonEncoder().encode


def _object(kind: pa.StructType) -> dict[str, Any]:
    return {"properties": {part.name: _type(part.type) for part in kind}, "additionalProperties": False}


def _type(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_struct(kind):
        return {"type": ["object", "null"], **_object(kind)}
    if pa.types.is_map(kind):
        return {"type": ["object", "null"], "additionalProperties": _type(kind.item_type)}
    if pa.types.is_list(kind):
        return {"type": ["array", "null"], "items": _type(kind.value_type)}
    if pa.types.is_integer(kind):
        return {"type": ["integer", "null"]}
    if pa.types.is_floating(kind):  # NaN and infinity are their names
        return {"type": ["number", "string", "null"]}
    if pa.types.is_decimal(kind):
        return {"type": ["number", "null"]}
    if pa.types.is_boolean(kind):
        return {"type": ["boolean", "null"]}
    text: dict[str, Any] = {"type": ["string", "null"]}
    if pa.types.is_date(kind):
        return {**text, "format": "date"}
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return {**text, "format": "date-time"}
    return {**text, "contentEncoding": "base64"} if pa.types.is_binary(kind) else text
