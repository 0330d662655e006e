"""Messages: events that came one by one, each with a number in the sequence that it stands in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from headwater.errors import DataError


@dataclass(frozen=True)
class Poison:
    """Why a message can't be read in its format."""

    error: type[DataError]
    reason: str


Version = int | Poison
"""The version of its topic that a message is of, or why that can't be told."""


@dataclass(frozen=True)
class Messages:
    """Messages of one sequence. `values` are their bytes, NULL where a message has none.

    `beside` are columns that don't come from the values, by the names of the topic's columns and in their types.
    `originals` are the messages as they came, where their values are only part of them; `poison` is what is wrong with
    some, by their indices. `headers` are kept where something is looked up in them. `versions` are those of the topic
    that the messages are of, where they tell.
    """

    values: pa.Array
    offsets: Sequence[int]
    beside: Mapping[str, pa.Array] = field(default_factory=dict)
    originals: pa.Array | None = None
    poison: Mapping[int, Poison] = field(default_factory=dict)
    headers: Sequence[Mapping[str, str | bytes | None] | None] | None = None
    versions: Sequence[Version] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def raw(self) -> pa.Array:
        """The messages as they came."""
        return self.values if self.originals is None else self.originals

    @property
    def content(self) -> bytes:
        """The bytes of all values, and perhaps of others."""
        buffer = self.values.buffers()[2]
        return b"" if buffer is None else bytes(buffer)

    def parts(self, most: int) -> Iterator[Messages]:
        """The messages, at most so many at a time."""
        for first in range(0, len(self.values), most):
            yield self.part(first, most)

    def part(self, first: int, count: int) -> Messages:
        """Some of the messages, without what tells their versions."""
        return Messages(
            self.values.slice(first, count),
            self.offsets[first : first + count],
            {name: column.slice(first, count) for name, column in self.beside.items()},
            None if self.originals is None else self.originals.slice(first, count),
            {at - first: why for at, why in self.poison.items() if first <= at < first + count},
        )


@dataclass(frozen=True)
class Records:
    """Messages of a format that was read one by one, each as a mapping of names to values, or as poison."""

    messages: Messages
    rows: Sequence[Mapping[str, Any] | Poison]

    def part(self, first: int, count: int) -> Records:
        """Some of the records."""
        return Records(self.messages.part(first, count), self.rows[first : first + count])


@dataclass(frozen=True)
class Separated:
    """Messages that are a record of CSV each. `names` are the columns of its fields."""

    messages: Messages
    names: tuple[str, ...]
    delimiter: str

    def part(self, first: int, count: int) -> Separated:
        """Some of the messages."""
        return Separated(self.messages.part(first, count), self.names, self.delimiter)


def as_declared(values: Sequence[bytes | None], kind: pa.DataType) -> pa.Array:
    """Bytes in a column of BINARY or STRING; as text, what isn't UTF-8 is replaced by the sign for that."""
    if pa.types.is_binary(kind):
        return pa.array(values, kind)
    return pa.array([None if value is None else value.decode("utf-8", "replace") for value in values], kind)


Readable = Messages | Records | Separated
"""The input of a decoder: messages in JSON, or what a codec has made of those in another format."""


class Codec(Protocol):
    """A format of messages. It may need a server, and wait for it."""

    def read(self, messages: Messages) -> Readable:
        """The messages as the decoder takes them, in their order."""

    def key(self, value: bytes) -> Any:
        """The key of a message: a mapping, or a value of a single column; `Poison` if it can't be read."""
