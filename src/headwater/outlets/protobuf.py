"""Rows as messages of Protobuf 3. Every field is optional; a field keeps the number that it has in the registry.

Instants are `google.protobuf.Timestamp`; exact decimals, dates and times without a zone are text, as Protobuf has no
types for them of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message_factory import GetMessageClass

from headwater.outlets.avro import values
from headwater.outlets.framed import Write
from headwater.schemas.proto_print import print_proto
from headwater.schemas.protobuf import compile_protobuf, message_at
from headwater.schemas.written import Language, Written

_TIMESTAMP = "google.protobuf.Timestamp"
_TYPES = {
    pa.bool_(): FieldDescriptorProto.TYPE_BOOL,
    pa.int8(): FieldDescriptorProto.TYPE_INT32,
    pa.int16(): FieldDescriptorProto.TYPE_INT32,
    pa.int32(): FieldDescriptorProto.TYPE_INT32,
    pa.int64(): FieldDescriptorProto.TYPE_INT64,
    pa.float32(): FieldDescriptorProto.TYPE_FLOAT,
    pa.float64(): FieldDescriptorProto.TYPE_DOUBLE,
    pa.binary(): FieldDescriptorProto.TYPE_BYTES,
}
_FIRST = b"\0"
"""The place of the message type in its file: the first."""


class Protobuf:
    """The format `protobuf`."""

    language: Language = "PROTOBUF"

    def schema(self, name: str, kind: pa.StructType, latest: str | None) -> str:
        """A file with a message by the columns; one that was there before has its number, others the next ones."""
        known = None if latest is None else message_at(compile_protobuf(Written("PROTOBUF", latest)), (0,))
        message = _message(name, kind, known)
        file = FileDescriptorProto(syntax="proto3", package="headwater", message_type=[message])
        if _has_instants(kind):
            file.dependency.append("google/protobuf/timestamp.proto")
        return print_proto(file)

    def writer(self, schema: str, kind: pa.StructType) -> Write:
        """Writes row by row."""
        made = GetMessageClass(message_at(compile_protobuf(Written("PROTOBUF", schema)), (0,)))
        fill = _filler(kind)

        def write(rows: pa.StructArray) -> list[bytes | None]:
            written: list[bytes | None] = []
            for row in values(rows):
                message = made()
                if row is not None:
                    fill(message, row)
                written.append(None if row is None else _FIRST + message.SerializeToString(deterministic=True))
            return written

        return write


def _message(name: str, kind: pa.StructType, known: Descriptor | None) -> DescriptorProto:
    message, numbers = DescriptorProto(name=name), _numbers(kind, known)
    for part in kind:
        field = message.field.add(name=part.name, number=numbers[part.name], label=FieldDescriptorProto.LABEL_OPTIONAL)
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{part.name}")
        if pa.types.is_map(part.type):
            message.nested_type.append(_entry(field, part.type))
            field.ClearField("proto3_optional")
            field.ClearField("oneof_index")
            del message.oneof_decl[-1]
        elif pa.types.is_struct(part.type):
            below = None if known is None else known.fields_by_name.get(part.name)
            nested = _message(_capital(part.name), part.type, None if below is None else below.message_type)
            message.nested_type.append(nested)
            field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, nested.name
        elif _is_instant(part.type):
            field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{_TIMESTAMP}"
        else:
            field.type = _TYPES.get(part.type, FieldDescriptorProto.TYPE_STRING)
    return message


def _entry(field: FieldDescriptorProto, kind: pa.MapType) -> DescriptorProto:
    """The type of a map's entries, by which the field becomes a map; it has scalars as keys and values."""
    name = "".join(part.capitalize() for part in field.name.split("_")) + "Entry"
    entry = DescriptorProto(name=name)
    entry.options.map_entry = True
    for number, (part, of) in enumerate((("key", kind.key_type), ("value", kind.item_type)), 1):
        scalar = _TYPES.get(of, FieldDescriptorProto.TYPE_STRING)
        entry.field.add(name=part, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL, type=scalar)
    field.label = FieldDescriptorProto.LABEL_REPEATED
    field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, name
    return entry


def _numbers(kind: pa.StructType, known: Descriptor | None) -> Mapping[str, int]:
    """The number of each field: that which it has, or the next."""
    before = {} if known is None else {field.name: field.number for field in known.fields}
    numbers, following = dict(before), max(before.values(), default=0)
    for part in kind:
        if part.name not in numbers:
            following += 1
            numbers[part.name] = following
    return numbers


def _filler(kind: pa.StructType) -> Callable[[Any, Mapping[str, Any]], None]:
    """The function that sets the fields of a message to the values of a row; those that are NULL stay unset."""
    parts = {part.name: _setter(part.name, part.type) for part in kind}

    def fill(message: Any, row: Mapping[str, Any]) -> None:
        message.SetInParent()
        for name, put in parts.items():
            if row[name] is not None:
                put(message, row[name])

    return fill


def _setter(name: str, kind: pa.DataType) -> Callable[[Any, Any], None]:
    if pa.types.is_struct(kind):
        fill = _filler(kind)
        return lambda message, value: fill(getattr(message, name), value)
    if pa.types.is_map(kind):
        return lambda message, value: getattr(message, name).update(dict(value))
    if _is_instant(kind):
        return lambda message, value: getattr(message, name).FromDatetime(value)
    if kind in _TYPES or pa.types.is_string(kind):
        return lambda message, value: setattr(message, name, value)
    return lambda message, value: setattr(message, name, _text(value))


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _is_instant(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


def _has_instants(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(_has_instants(part.type) for part in kind)
    return _is_instant(kind)


def _capital(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}Row"
