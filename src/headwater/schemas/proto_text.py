"""The text of a .proto file into the descriptor that `protobuf` reads.

Names of types stay as they are written: the pool that a descriptor is added to finds what they mean, as it does for
whatever protoc writes. Services and options of one's own (those in brackets) say nothing about how a message is read,
and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from antlr4.error.ErrorListener import ErrorListener
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    Edition,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.message import Message
from proto_schema_parser import ast
from proto_schema_parser.parser import Parser

_LABELS = {
    None: FieldDescriptorProto.LABEL_OPTIONAL,
    ast.FieldCardinality.OPTIONAL: FieldDescriptorProto.LABEL_OPTIONAL,
    ast.FieldCardinality.REQUIRED: FieldDescriptorProto.LABEL_REQUIRED,
    ast.FieldCardinality.REPEATED: FieldDescriptorProto.LABEL_REPEATED,
}
_SCALARS = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in FieldDescriptorProto.Type.items()
    if name not in ("TYPE_GROUP", "TYPE_MESSAGE", "TYPE_ENUM")
}
_LAST_FIELD = 536_870_911
_LAST_VALUE = 2**31 - 1


def parse_proto(name: str, text: str) -> FileDescriptorProto:
    """The descriptor of a file with this name; ValueError says what is wrong with its text."""
    strict = _Strict()
    parsed = Parser(setup_lexer=strict.listen, setup_parser=strict.listen).parse(text)
    file = FileDescriptorProto(name=name)
    if parsed.edition is not None:
        file.syntax, file.edition = "editions", Edition.Value(f"EDITION_{parsed.edition}")
    elif parsed.syntax == "proto3":
        file.syntax = "proto3"
    for element in parsed.file_elements:
        _add_to_file(file, element)
    return file


class _Strict(ErrorListener):  # type: ignore[misc]  # ANTLR ships no types
    """Raises what ANTLR would print and read past."""

    def listen(self, recognizer: Any) -> None:
        recognizer.removeErrorListeners()
        recognizer.addErrorListener(self)

    def syntaxError(self, recognizer: Any, symbol: Any, line: int, column: int, message: str, error: Any) -> None:  # noqa: ARG002, N802
        raise ValueError(f"line {line}, character {column + 1}: {message.partition(' expecting ')[0]}")


def _add_to_file(file: FileDescriptorProto, element: ast.FileElement) -> None:
    match element:
        case ast.Package():
            file.package = element.name
        case ast.Import():
            if element.public:
                file.public_dependency.append(len(file.dependency))
            file.dependency.append(element.name)
        case ast.Option():
            _set(file.options, element)
        case ast.Message():
            _fill(file.message_type.add(name=element.name), element.elements, file.syntax)
        case ast.Enum():
            _fill_enum(file.enum_type.add(name=element.name), element.elements)
        case ast.Extension():
            _extend(file, element, file.syntax)


def _fill(message: DescriptorProto, elements: Iterable[ast.MessageElement], syntax: str) -> None:
    for element in elements:
        _add_to_message(message, element, syntax)
    for field in message.field:  # behind the oneofs that were written
        if field.proto3_optional:
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")


def _add_to_message(message: DescriptorProto, element: ast.MessageElement, syntax: str) -> None:
    match element:
        case ast.Field() | ast.Group():
            _add_field(message.field.add(), element, message, syntax)
        case ast.MapField():
            _add_map(message, element)
        case ast.OneOf():
            index = len(message.oneof_decl)
            message.oneof_decl.add(name=element.name)
            for part in element.elements:
                if isinstance(part, ast.Field | ast.Group):
                    field = message.field.add(oneof_index=index)
                    _add_field(field, part, message, syntax)
        case ast.Option():
            _set(message.options, element)
        case ast.Message():
            _fill(message.nested_type.add(name=element.name), element.elements, syntax)
        case ast.Enum():
            _fill_enum(message.enum_type.add(name=element.name), element.elements)
        case ast.Extension():
            _extend(message, element, syntax)
        case ast.ExtensionRange():
            for first, last in map(_range, element.ranges):
                message.extension_range.add(start=first, end=last + 1)
        case ast.Reserved():
            for first, last in map(_range, element.ranges):
                message.reserved_range.add(start=first, end=last + 1)
            message.reserved_name.extend(element.names)


def _add_field(
    field: FieldDescriptorProto,
    written: ast.Field | ast.Group,
    scope: DescriptorProto | FileDescriptorProto,
    syntax: str,
) -> None:
    """Fill a field; the message of a group is declared in `scope`."""
    field.number, field.label = written.number, _LABELS[written.cardinality]
    if isinstance(written, ast.Group):
        field.name = field.json_name = written.name.lower()
        field.type, field.type_name = FieldDescriptorProto.TYPE_GROUP, written.name
        nested = scope.nested_type if isinstance(scope, DescriptorProto) else scope.message_type
        _fill(nested.add(name=written.name), written.elements, syntax)
        return
    field.name, field.json_name = written.name, _json_name(written.name)
    field.proto3_optional = syntax == "proto3" and written.cardinality is ast.FieldCardinality.OPTIONAL
    _set_type(field, written.type)
    for option in written.options:
        _set_field_option(field, option)


def _set_type(field: FieldDescriptorProto, name: str) -> None:
    if name in _SCALARS:
        field.type = _SCALARS[name]
    else:
        field.type_name = name


def _set_field_option(field: FieldDescriptorProto, option: ast.Option) -> None:
    if option.name == "json_name":
        field.json_name = str(option.value)
    elif option.name == "default":
        value = option.value.name if isinstance(option.value, ast.Identifier) else option.value
        field.default_value = str(value).lower() if isinstance(value, bool) else str(value)
    else:
        _set(field.options, option)


def _add_map(message: DescriptorProto, written: ast.MapField) -> None:
    entry = message.nested_type.add(name=f"{_camel(written.name)}Entry")
    entry.options.map_entry = True
    for number, (name, kind) in enumerate((("key", written.key_type), ("value", written.value_type)), 1):
        part = entry.field.add(name=name, json_name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
        _set_type(part, kind)
    field = message.field.add(name=written.name, json_name=_json_name(written.name), number=written.number)
    field.label, field.type_name = FieldDescriptorProto.LABEL_REPEATED, entry.name
    for option in written.options:
        _set_field_option(field, option)


def _extend(scope: DescriptorProto | FileDescriptorProto, written: ast.Extension, syntax: str) -> None:
    for element in written.elements:
        if isinstance(element, ast.Field | ast.Group):
            _add_field(scope.extension.add(extendee=written.typeName), element, scope, syntax)


def _fill_enum(enum: EnumDescriptorProto, elements: Iterable[ast.EnumElement]) -> None:
    for element in elements:
        match element:
            case ast.EnumValue():
                enum.value.add(name=element.name, number=element.number)
            case ast.Option():
                _set(enum.options, element)
            case ast.EnumReserved():
                for first, last in (_range(text, _LAST_VALUE) for text in element.ranges):
                    enum.reserved_range.add(start=first, end=last)
                enum.reserved_name.extend(element.names)


def _range(text: str, largest: int = _LAST_FIELD) -> tuple[int, int]:
    first, _, last = text.partition(" to ")
    return int(first, 0), largest if last.strip() == "max" else int(last or first, 0)


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _json_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in others)


def _set(options: Message, option: ast.Option) -> None:
    """Set one of protobuf's own options; one that it doesn't know says nothing about reading."""
    *path, name = option.name.split(".")
    for part in path:
        if part not in options.DESCRIPTOR.fields_by_name:
            return
        options = getattr(options, part)
    field = options.DESCRIPTOR.fields_by_name.get(name)
    if field is None or field.is_repeated or isinstance(option.value, ast.MessageLiteral):
        return
    value: Any = option.value
    if isinstance(value, ast.Identifier):
        is_enum = field.type == FieldDescriptor.TYPE_ENUM
        value = field.enum_type.values_by_name[value.name].number if is_enum else value.name
    setattr(options, name, value)
