"""Pairs of Protobuf files: can a reader with one read what was written with the other, by numbers and their wire types?

Fields may come, go and be renamed; enums may change. A field may change to a type that is written the same way. What
can't be read: a field whose number means something else, a message type that is gone, a field that became required or
ceased to be, one that left its oneof, several that came into one together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor

from headwater.schemas.protobuf import compile_protobuf
from headwater.schemas.written import Written

_WRITTEN_ALIKE = (
    {"int32", "uint32", "int64", "uint64", "bool", "enum"},
    {"sint32", "sint64"},
    {"fixed32", "sfixed32"},
    {"fixed64", "sfixed64"},
    {"string", "bytes"},
)
_KINDS = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}
_NUMERIC = frozenset(_KINDS.values()) - {"string", "bytes", "message", "group"}


def protobuf_problems(reader: Written, writer: Written) -> list[str]:
    """Where a reader can't read what a writer writes; nothing if it can."""
    mine, theirs = compile_protobuf(reader), compile_protobuf(writer)
    if mine.package != theirs.package:
        return [f'the package is "{theirs.package}", and the reader\'s is "{mine.package}"']
    return list(_Files(mine, theirs).compare())


class _Files:
    def __init__(self, reader: FileDescriptor, writer: FileDescriptor) -> None:
        self._reader, self._writer = reader, writer
        self._compared: set[tuple[str, str]] = set()

    def compare(self) -> Iterator[str]:
        yield from self._types(self._reader.message_types_by_name, self._writer.message_types_by_name)

    def _types(self, reader: Any, writer: Any) -> Iterator[str]:
        """Message types in one scope: each of the writer's must be there."""
        for name, written in writer.items():
            if written.GetOptions().map_entry:
                continue
            if name not in reader:
                yield f'message "{written.full_name}" is gone'
            else:
                yield from self._messages(reader[name], written)
                yield from self._types(reader[name].nested_types_by_name, written.nested_types_by_name)

    def _messages(self, reader: Descriptor, writer: Descriptor) -> Iterator[str]:
        pair = reader.full_name, writer.full_name
        if pair in self._compared:
            return
        self._compared.add(pair)
        mine, theirs = dict(reader.fields_by_number), dict(writer.fields_by_number)
        for number in sorted(mine.keys() | theirs.keys()):
            yield from self._field(reader.full_name, number, mine.get(number), theirs.get(number))
        yield from _oneofs(reader, writer)

    def _field(
        self, message: str, number: int, reader: FieldDescriptor | None, writer: FieldDescriptor | None
    ) -> Iterator[str]:
        either = reader if reader is not None else writer
        assert either is not None, "one of them has the number"
        where = f"{message}.{either.name} (number {number})"
        if reader is None or writer is None:
            if either.is_required:
                yield f"{where} is required, and only {'the writer' if reader is None else 'the reader'} has it"
            return
        mine, theirs = _KINDS[reader.type], _KINDS[writer.type]
        if mine != theirs and not any({mine, theirs} <= alike for alike in _WRITTEN_ALIKE):
            yield f"{where} is {theirs}, which can't be read as {mine}"
        elif reader.is_repeated != writer.is_repeated and mine in _NUMERIC:
            yield f"{where} is repeated on one side only"
        elif reader.is_required != writer.is_required:
            yield f"{where} is required on one side only"
        elif mine in ("message", "group"):
            yield from self._nested(where, reader.message_type, writer.message_type)

    def _nested(self, where: str, reader: Descriptor, writer: Descriptor) -> Iterator[str]:
        if reader.GetOptions().map_entry and writer.GetOptions().map_entry:
            yield from self._messages(reader, writer)
        elif reader.full_name != writer.full_name:
            yield f'{where} is a "{writer.full_name}", which can\'t be read as a "{reader.full_name}"'
        else:
            yield from self._messages(reader, writer)


def _oneofs(reader: Descriptor, writer: Descriptor) -> Iterator[str]:
    """A field may not leave a oneof that stays, nor may several come into one that were not in any."""
    for name, written in writer.oneofs_by_name.items():
        if name in reader.oneofs_by_name:
            kept = {field.number for field in reader.oneofs_by_name[name].fields}
            for field in written.fields:
                if field.number not in kept:
                    yield f"{writer.full_name}.{field.name} (number {field.number}) has left the oneof {name}"
    for name, mine in reader.oneofs_by_name.items():
        if name not in writer.oneofs_by_name:
            came = [field.name for field in mine.fields if field.number in writer.fields_by_number]
            if len(came) > 1:
                yield f"{reader.full_name}: {', '.join(came)} came into the oneof {name} together"
