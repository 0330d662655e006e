"""Avro schemas: a schema and those that it refers to, as fastavro reads with them."""

from __future__ import annotations

import json
from typing import Any

from fastavro import parse_schema
from fastavro.schema import SchemaParseException

from headwater.intake.schema.written import Written

AvroSchema = Any
"""A schema as fastavro has parsed it."""
_CONNECT = {
    "io.debezium.time.Date": "date",
    "io.debezium.time.Timestamp": "local-timestamp-millis",
    "io.debezium.time.MicroTimestamp": "local-timestamp-micros",
}
"""Logical types that Debezium gives under a name of its own."""


def compile_avro(schema: Written) -> AvroSchema:
    """The schema as fastavro reads with it; ValueError says what is wrong with it or with one that it refers to."""
    named: dict[str, Any] = {}
    try:
        return _compile(schema, named)
    except (SchemaParseException, RecursionError, AttributeError, KeyError, TypeError) as problem:
        raise ValueError(str(problem) or type(problem).__name__) from problem


def _compile(schema: Written, named: dict[str, Any]) -> AvroSchema:
    for _, reference in schema.references:
        _compile(reference, named)
    return parse_schema(_as_columns(json.loads(schema.text)), named_schemas=named)


def _as_columns(schema: Any) -> Any:
    """The schema with UUIDs as the strings that they are, which columns have no type for, and Debezium's instants."""
    if isinstance(schema, list):
        return [_as_columns(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: part if name == "default" else _as_columns(part) for name, part in schema.items()}
    if kept.get("logicalType") == "uuid" and kept.get("type") == "string":
        return kept["type"]
    logical = _CONNECT.get(str(kept.get("connect.name")))
    return kept if logical is None else {**kept, "logicalType": logical}
