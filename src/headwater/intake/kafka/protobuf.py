"""Protobuf in Confluent's wire format: behind the number of the schema, the path of the message type in its file.

A *path* is a list of numbers: which of the outermost types, which of those nested in it, and so on. The first type
of a file, which most are, is written as a single zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from headwater.errors import UnreadableEvent
from headwater.intake.kafka.wire import common_number, forget_unknown, number_of, reason_of, unknown
from headwater.intake.messages import Messages, Poison, Records
from headwater.schemas.message import MessageReader
from headwater.schemas.protobuf import compile_protobuf, message_at
from headwater.schemas.wire import HEAD
from headwater.schemas.written import Schemas

_FAILS = (DecodeError, UnicodeDecodeError, ValueError, OverflowError, OSError, RecursionError, ArithmeticError)
"""The errors on bytes that aren't a message of the type, or hold an instant or a date that doesn't exist."""
_LONGEST_PATH = 32


@dataclass(frozen=True)
class _Reads:
    """Reads messages of one type."""

    parse: Callable[[bytes], Message]
    reader: MessageReader

    def all(self, bodies: Sequence[bytes]) -> list[dict[str, Any]]:
        """Each as a mapping; the first that is none raises."""
        return self.reader.read([self.parse(body) for body in bodies])


class ProtobufCodec:
    """Reads messages with the schemas of a registry; of their fields those that are wanted, all if `names` is None."""

    def __init__(self, schemas: Schemas, names: frozenset[str] | None) -> None:
        self._schemas = schemas
        self._names = names
        self._readers: dict[tuple[int, tuple[int, ...]], _Reads | Poison] = {}

    def read(self, messages: Messages) -> Records:
        """Each message as a record or as poison; `SourceUnavailable` if a schema can't be asked for."""
        forget_unknown(self._readers)
        values = messages.values.to_pylist()
        together = self._together(values)
        if together is not None:
            return Records(messages, together)
        return Records(messages, [self._record(value) for value in values])

    def _together(self, values: list[bytes | None]) -> Sequence[Mapping[str, Any]] | None:
        """All messages at once, if they are of the first type of one file and nothing is wrong with any; else None."""
        number = common_number(values, HEAD + 1)
        if number is None or values[0] is None or values[0][HEAD : HEAD + 1] != b"\0":
            return None
        try:
            read = self._reader(number, (0,))
            return None if isinstance(read, Poison) else read.all([value[HEAD + 1 :] for value in values])  # type: ignore[index]
        except _FAILS:
            return None

    def key(self, value: bytes) -> Any:
        """The message that a key is; poison if it is none."""
        forget_unknown(self._readers)
        return self._record(value)

    def _record(self, value: bytes | None) -> Mapping[str, Any] | Poison:
        number = number_of(value)
        if isinstance(number, Poison):
            return number
        assert value is not None
        try:
            path, begin = _path(value)
            read = self._reader(number, path)
            return read if isinstance(read, Poison) else read.all([value[begin:]])[0]
        except _FAILS as problem:
            return Poison(UnreadableEvent, f"the message is not one of schema {number}: {reason_of(problem)}")

    def _reader(self, number: int, path: tuple[int, ...]) -> _Reads | Poison:
        if (number, path) not in self._readers:
            self._readers[number, path] = self._compiled(number, path)
        return self._readers[number, path]

    def _compiled(self, number: int, path: tuple[int, ...]) -> _Reads | Poison:
        schema = self._schemas.schema(number, "PROTOBUF")
        if schema is None:
            return unknown(number, "Protobuf")
        try:
            descriptor = message_at(compile_protobuf(schema), path)
        except ValueError as problem:
            return Poison(UnreadableEvent, f"schema {number} can't be read: {problem}")
        except IndexError:
            return Poison(UnreadableEvent, f"schema {number} has no message type at {list(path)}")
        return _Reads(GetMessageClass(descriptor).FromString, MessageReader(descriptor, self._names))


def _path(value: bytes) -> tuple[tuple[int, ...], int]:
    """The path of the message type, and where the message itself begins."""
    count, at = _signed(value, HEAD)
    if count == 0:
        return (0,), at
    if not 0 < count <= _LONGEST_PATH:
        raise ValueError(f"it says that its type is nested {count} levels deep")
    numbers = []
    for _ in range(count):
        number, at = _signed(value, at)
        if number < 0:
            raise ValueError(f"it says that its type is number {number}")
        numbers.append(number)
    return tuple(numbers), at


def _signed(value: bytes, at: int) -> tuple[int, int]:
    """A number of variable length (zigzag), and where it ends."""
    number = shift = 0
    while True:
        if at >= len(value) or shift > 63:
            raise ValueError("it ends before its type is named")
        byte = value[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
