"""Rows as records of Avro. Every field may be null, so that a column that is added later has a default."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pyarrow as pa
from fastavro import parse_schema, schemaless_writer

from headwater.outlets.framed import Write
from headwater.schemas.written import Language

_NAMES: dict[pa.DataType, Any] = {
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.timestamp("us", "UTC"): {"type": "long", "logicalType": "timestamp-micros"},
    pa.timestamp("us"): {"type": "long", "logicalType": "local-timestamp-micros"},
}


class Avro:
    """The format `avro`."""

    language: Language = "AVRO"

    def schema(self, name: str, kind: pa.StructType, latest: str | None) -> str:  # noqa: ARG002
        """A record by the columns, each by its name."""
        return json.dumps(_type(name, kind))

    def writer(self, schema: str, kind: pa.StructType) -> Write:
        """Writes row by row."""
        parsed, convert = parse_schema(json.loads(schema)), _conversion(kind)

        def write(rows: pa.StructArray) -> list[bytes | None]:
            return [None if row is None else _written(parsed, convert(row) if convert else row) for row in values(rows)]

        return write


def values(rows: pa.StructArray) -> list[dict[str, Any] | None]:
    """Rows as values of Python, maps as pairs."""
    records: list[dict[str, Any] | None] = rows.to_pylist()
    return records


def _written(schema: Any, row: dict[str, Any]) -> bytes:
    body = BytesIO()
    schemaless_writer(body, schema, row)
    return body.getvalue()


def _type(name: str, kind: pa.DataType) -> Any:
    """The schema of a type; `name` is what its records are called."""
    if pa.types.is_decimal128(kind):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if pa.types.is_list(kind):
        return {"type": "array", "items": ["null", _type(name, kind.value_type)]}
    if pa.types.is_map(kind):
        return {"type": "map", "values": ["null", _type(name, kind.item_type)]}
    if pa.types.is_struct(kind):
        fields = [
            {"name": part.name, "type": ["null", _type(f"{name}_{part.name}", part.type)], "default": None}
            for part in kind
        ]
        return {"type": "record", "name": name, "fields": fields}
    return _NAMES[kind]


def _conversion(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """The conversion of a value before it is written: maps are pairs to Arrow; None if there is none."""
    if pa.types.is_struct(kind):
        parts = {part.name: made for part in kind if (made := _conversion(part.type)) is not None}
        return (lambda row: row | {name: _kept(make, row[name]) for name, make in parts.items()}) if parts else None
    if pa.types.is_list(kind):
        each = _conversion(kind.value_type)
        return (lambda items: [_kept(each, item) for item in items]) if each else None
    if pa.types.is_map(kind):
        item = _conversion(kind.item_type) or (lambda value: value)
        return lambda pairs: {key: _kept(item, value) for key, value in pairs}
    return None


def _kept(make: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else make(value)
