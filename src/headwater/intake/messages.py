"""Messages: events that came one by one, each with a number in the sequence that it stands in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from headwater.errors import DataError


@dataclass(frozen=True)
class Messages:
    """Messages of one sequence. `values` are their bytes, NULL where a message has none.

    `beside` are columns that don't come from the values, by the names of the topic's columns and in their types.
    """

    values: pa.Array
    offsets: Sequence[int]
    beside: Mapping[str, pa.Array] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        """The bytes of all values, and perhaps of others."""
        buffer = self.values.buffers()[2]
        return b"" if buffer is None else bytes(buffer)

    def parts(self, most: int) -> Iterator[Messages]:
        """The messages, at most so many at a time."""
        for first in range(0, len(self.values), most):
            beside = {name: column.slice(first, most) for name, column in self.beside.items()}
            yield Messages(self.values.slice(first, most), self.offsets[first : first + most], beside)


@dataclass(frozen=True)
class Poison:
    """Why a message can't be read in its format."""

    error: type[DataError]
    reason: str


@dataclass(frozen=True)
class Records:
    """Messages of a binary format, each read as a mapping of names to values, or poison."""

    messages: Messages
    rows: Sequence[Mapping[str, Any] | Poison]


class Codec(Protocol):
    """A binary format: reads messages into records, each on its own. It may need a server, and wait for it."""

    def read(self, messages: Messages) -> Records:
        """Each message as a mapping or as poison, in their order."""
