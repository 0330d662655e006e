"""A descriptor of Protobuf as the text of its .proto file, which is how registries hand it out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    Edition,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

_LAST_FIELD = 536_870_911
_LAST_VALUE = 2**31 - 1
_LABELS = {
    FieldDescriptorProto.LABEL_OPTIONAL: "optional ",
    FieldDescriptorProto.LABEL_REQUIRED: "required ",
    FieldDescriptorProto.LABEL_REPEATED: "repeated ",
}
_TYPES = {number: name.removeprefix("TYPE_").lower() for name, number in FieldDescriptorProto.Type.items()}


def print_proto(file: FileDescriptorProto) -> str:
    """The text of a file, without its comments and services, which say nothing about messages."""
    return "\n".join(_File(file).lines()) + "\n"


class _File:
    def __init__(self, file: FileDescriptorProto) -> None:
        self._file = file

    def lines(self) -> Iterator[str]:
        file = self._file
        if file.syntax == "editions":
            yield f'edition = "{Edition.Name(file.edition).removeprefix("EDITION_")}";'
        else:
            yield f'syntax = "{file.syntax or "proto2"}";'
        if file.package:
            yield f"package {file.package};"
        for at, name in enumerate(file.dependency):
            yield f'import {"public " if at in file.public_dependency else ""}"{name}";'
        yield from (f"option {option};" for option in _options(file.options))
        for message in file.message_type:
            yield from self._message(message, "")
        for enum in file.enum_type:
            yield from _enum(enum, "")
        yield from self._extensions(file.extension, "")

    def _message(self, message: DescriptorProto, indent: str) -> Iterator[str]:
        yield f"{indent}message {message.name} {{"
        yield from self._body(message, f"{indent}  ")
        yield f"{indent}}}"

    def _body(self, message: DescriptorProto, indent: str) -> Iterator[str]:
        """The body of a message. A map stands where its entry does: a nested message is known by its position."""
        groups = {_type_name(field) for field in message.field if field.type == FieldDescriptorProto.TYPE_GROUP}
        maps = {}
        yield from (f"{indent}option {option};" for option in _options(message.options))
        for nested in message.nested_type:
            if nested.options.map_entry:
                field = next(field for field in message.field if _type_name(field) == nested.name)
                maps[field.number] = field
                yield _map(field, nested, indent)
            elif nested.name not in groups:
                yield from self._message(nested, indent)
        for enum in message.enum_type:
            yield from _enum(enum, indent)
        yield from self._fields(message, [field for field in message.field if field.number not in maps], indent)
        yield from _ranges(indent, "extensions", message.extension_range)
        yield from _ranges(indent, "reserved", message.reserved_range)
        yield from _reserved_names(indent, message.reserved_name)
        yield from self._extensions(message.extension, indent)

    def _fields(self, message: DescriptorProto, fields: list[FieldDescriptorProto], indent: str) -> Iterator[str]:
        """Fields in their order; those of a oneof stand together where its first one does."""
        begun: set[int] = set()
        for field in fields:
            in_oneof = field.HasField("oneof_index") and not field.proto3_optional
            if not in_oneof:
                yield from self._field(message, field, indent, self._label(field))
            elif field.oneof_index not in begun:
                begun.add(field.oneof_index)
                yield f"{indent}oneof {message.oneof_decl[field.oneof_index].name} {{"
                for member in message.field:
                    mine = member.HasField("oneof_index") and member.oneof_index == field.oneof_index
                    if mine and not member.proto3_optional:
                        yield from self._field(message, member, f"{indent}  ", "")
                yield f"{indent}}}"

    def _label(self, field: FieldDescriptorProto) -> str:
        explicit = field.label != FieldDescriptorProto.LABEL_OPTIONAL
        return _LABELS[field.label] if explicit or field.proto3_optional or self._file.syntax in ("", "proto2") else ""

    def _field(self, message: DescriptorProto, field: FieldDescriptorProto, indent: str, label: str) -> Iterator[str]:
        name = _type_name(field)
        if field.type == FieldDescriptorProto.TYPE_GROUP:
            yield f"{indent}{label}group {name} = {field.number} {{"
            yield from self._body(next(nested for nested in message.nested_type if nested.name == name), f"{indent}  ")
            yield f"{indent}}}"
            return
        yield f"{indent}{label}{_kind(field)} {_rest(field)}"

    def _extensions(self, fields: Any, indent: str) -> Iterator[str]:
        for field in fields:
            yield f"{indent}extend {field.extendee} {{"
            yield from self._field(DescriptorProto(), field, f"{indent}  ", _LABELS[field.label])
            yield f"{indent}}}"


def _map(field: FieldDescriptorProto, entry: DescriptorProto, indent: str) -> str:
    key, value = entry.field
    return f"{indent}map<{_kind(key)}, {_kind(value)}> {_rest(field)}"


def _rest(field: FieldDescriptorProto) -> str:
    """A field behind its type."""
    options = ", ".join(_field_options(field))
    return f"{field.name} = {field.number}{f' [{options}]' if options else ''};"


def _type_name(field: FieldDescriptorProto) -> str:
    return str(field.type_name.rpartition(".")[2])


def _kind(field: FieldDescriptorProto) -> str:
    return str(field.type_name) or _TYPES[field.type]


def _enum(enum: EnumDescriptorProto, indent: str) -> Iterator[str]:
    yield f"{indent}enum {enum.name} {{"
    yield from (f"{indent}  option {option};" for option in _options(enum.options))
    yield from (f"{indent}  {value.name} = {value.number};" for value in enum.value)
    for numbers in enum.reserved_range:
        yield f"{indent}  reserved {_range(numbers.start, numbers.end, _LAST_VALUE)};"
    yield from _reserved_names(f"{indent}  ", enum.reserved_name)
    yield f"{indent}}}"


def _ranges(indent: str, word: str, ranges: Any) -> Iterator[str]:
    return (f"{indent}{word} {_range(numbers.start, numbers.end - 1, _LAST_FIELD)};" for numbers in ranges)


def _range(first: int, last: int, largest: int) -> str:
    return str(first) if first == last else f"{first} to {'max' if last == largest else last}"


def _reserved_names(indent: str, names: Any) -> Iterator[str]:
    if names:
        yield f"{indent}reserved {', '.join(_quoted(name) for name in names)};"


def _field_options(field: FieldDescriptorProto) -> Iterator[str]:
    first, *others = field.name.split("_")
    if field.json_name and field.json_name != first + "".join(part[:1].upper() + part[1:] for part in others):
        yield f"json_name = {_quoted(field.json_name)}"
    if field.HasField("default_value"):
        is_text = field.type in (FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.TYPE_BYTES)
        yield f"default = {_quoted(field.default_value) if is_text else field.default_value}"
    yield from _options(field.options)


def _options(options: Any, prefix: str = "") -> Iterator[str]:
    """Protobuf's own options that are set; a map entry is known by its field."""
    for field, value in options.ListFields():
        if field.is_extension or field.is_repeated or field.name == "map_entry":
            continue
        if field.message_type is not None:
            yield from _options(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name} = {_value(field, value)}"


def _value(field: Any, value: Any) -> str:
    if field.enum_type is not None:
        return str(field.enum_type.values_by_number[value].name)
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
