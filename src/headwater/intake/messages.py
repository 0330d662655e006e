"""Messages: events that came one by one, each with a number in the sequence that it stands in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa


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
