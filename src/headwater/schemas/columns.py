"""The fields of a schema as columns: their names, and the types that their values come in.

A type that isn't known (a union of several, a schema that refers to itself) is None: nothing is said about it. `takes`
says whether a column takes what comes in a type, by the rules of intake and of Avro's promotion.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from headwater.log.shape import promotes
from headwater.model import INSTANT
from headwater.schemas.avro import compile_avro
from headwater.schemas.protobuf import compile_protobuf, message_at
from headwater.schemas.written import Written

Fields = Mapping[str, pa.DataType | None]
_AVRO: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "enum": pa.string(),
    "fixed": pa.binary(),
}
_LOGICAL: dict[str, pa.DataType] = {
    "date": pa.date32(),
    "timestamp-millis": INSTANT,
    "timestamp-micros": INSTANT,
    "local-timestamp-millis": pa.timestamp("us"),
    "local-timestamp-micros": pa.timestamp("us"),
    "uuid": pa.string(),
}
_JSON: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "integer": pa.int8(),  # JSON's integers have no size: any column of whole numbers takes them
    "number": pa.float64(),
    "string": pa.string(),
}
_PROTOBUF = {
    FieldDescriptor.CPPTYPE_BOOL: pa.bool_(),
    FieldDescriptor.CPPTYPE_INT32: pa.int32(),
    FieldDescriptor.CPPTYPE_UINT32: pa.int64(),
    FieldDescriptor.CPPTYPE_INT64: pa.int64(),
    FieldDescriptor.CPPTYPE_FLOAT: pa.float32(),
    FieldDescriptor.CPPTYPE_DOUBLE: pa.float64(),
    FieldDescriptor.CPPTYPE_ENUM: pa.string(),
}
_DEEPEST = 8
_TEXT_TAKEN = (pa.types.is_decimal, pa.types.is_timestamp, pa.types.is_date, pa.types.is_binary)


def fields_of(schema: Written) -> Fields | None:
    """The fields of a schema by name; None if it isn't one of a record. ValueError if it isn't a schema."""
    if schema.language == "AVRO":
        compile_avro(schema)  # says what is wrong with it
        record = json.loads(schema.text)
        return _avro_fields(record) if isinstance(record, dict) and record.get("type") == "record" else None
    if schema.language == "PROTOBUF":
        message = message_at(compile_protobuf(schema), (0,))
        return {field.name: _protobuf_type(field) for field in message.fields}
    properties = json.loads(schema.text).get("properties")
    return None if properties is None else {name: _json_type(part) for name, part in properties.items()}


def takes(column: pa.DataType, value: pa.DataType | None) -> bool:
    """Tells whether a column takes every value that comes in a type."""
    if value is None or promotes(value, column):
        return True
    if pa.types.is_string(value):
        return any(is_taken(column) for is_taken in _TEXT_TAKEN)
    if pa.types.is_floating(value) or value == pa.int64():
        return bool(pa.types.is_floating(column) or (pa.types.is_floating(value) and pa.types.is_decimal(column)))
    if pa.types.is_struct(value) and pa.types.is_struct(column):
        known = {part.name: part.type for part in value}
        return all(part.name in known and takes(part.type, known[part.name]) for part in column)
    if pa.types.is_list(value) and pa.types.is_list(column):
        return takes(column.value_type, value.value_type)
    if pa.types.is_map(value) and pa.types.is_map(column):
        return takes(column.key_type, value.key_type) and takes(column.item_type, value.item_type)
    midnight = pa.types.is_date(value) and pa.types.is_timestamp(column)
    return bool(midnight or (value == pa.binary() and column == pa.string()))


def _avro_fields(record: Mapping[str, Any]) -> Fields:
    return {part["name"]: _avro_type(part["type"]) for part in record["fields"]}


def _avro_type(schema: Any) -> pa.DataType | None:
    if isinstance(schema, list):
        others = [branch for branch in schema if branch != "null"]
        return _avro_type(others[0]) if len(others) == 1 else None
    if isinstance(schema, str):
        return _AVRO.get(schema)
    kind, logical = schema.get("type"), schema.get("logicalType")
    if logical == "decimal":
        return pa.decimal128(min(int(schema["precision"]), 38), int(schema.get("scale", 0)))
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if kind == "record":
        return _struct(_avro_fields(schema))
    if kind == "array":
        return _list(_avro_type(schema["items"]))
    return _map(pa.string(), _avro_type(schema["values"])) if kind == "map" else _avro_type(kind)


def _json_type(schema: Any) -> pa.DataType | None:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    others = [one for one in (kind if isinstance(kind, list) else [kind]) if one != "null"]
    if len(others) != 1 or others[0] is None:
        return None
    if others[0] == "array":
        return _list(_json_type(schema.get("items")))
    if others[0] == "object" and "properties" in schema:
        return _struct({name: _json_type(part) for name, part in schema["properties"].items()})
    return _JSON.get(others[0])


def _protobuf_type(field: FieldDescriptor) -> pa.DataType | None:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        return _map(_protobuf_value(key, ()), _protobuf_value(value, ()))
    kind = _protobuf_value(field, ())
    return _list(kind) if field.is_repeated else kind


def _protobuf_value(field: FieldDescriptor, around: tuple[str, ...]) -> pa.DataType | None:
    if field.message_type is not None:
        return _protobuf_message(field.message_type, around)
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return pa.binary() if field.type == FieldDescriptor.TYPE_BYTES else pa.string()
    return _PROTOBUF.get(field.cpp_type)


def _protobuf_message(message: Descriptor, around: tuple[str, ...]) -> pa.DataType | None:
    name = message.full_name
    if name == "google.protobuf.Timestamp":
        return INSTANT
    if name.startswith(("google.", "confluent.")) or name in around or len(around) > _DEEPEST:
        return None
    parts = {part.name: _protobuf_value(part, (*around, name)) for part in message.fields if not part.is_repeated}
    return _struct(parts) if len(parts) == len(message.fields) else None


def _struct(parts: Fields) -> pa.DataType | None:
    known = [(name, kind) for name, kind in parts.items() if kind is not None]
    return pa.struct(known) if len(known) == len(parts) else None


def _list(item: pa.DataType | None) -> pa.DataType | None:
    return None if item is None else pa.list_(item)


def _map(key: pa.DataType | None, item: pa.DataType | None) -> pa.DataType | None:
    return None if key is None or item is None else pa.map_(key, item)
