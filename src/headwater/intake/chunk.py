"""Chunks: parts of a file whose events have numbers.

An event's *number* is that of the line that it starts on, or of its row, counted from one: where a file is read again,
the same event has the same number, however the file is cut into chunks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import pyarrow as pa

Format = Literal["json", "csv", "tsv", "parquet", "arrow", "avro"]


@dataclass(frozen=True)
class Records:
    """CSV records with the number of the line that each starts on, below their header."""

    header: bytes
    raw: list[bytes]
    numbers: list[int]


@dataclass(frozen=True)
class Chunk:
    """A part of a file. `first` is the number of its first line or row, counted from one.

    `bytes_read` is how much of the file had been read when the chunk was complete, to show progress by.
    """

    data: bytes | Records | pa.Table | list[Mapping[str, Any]]
    format: Format
    first: int
    bytes_read: int

    @property
    def last(self) -> int:
        """The number of its last event; the one before its first, if it has none."""
        match self.data:
            case bytes() as lines:
                return self.first + count_lines(lines) - 1
            case Records(numbers=numbers):
                return numbers[-1] if numbers else self.first - 1
            case list() as rows:
                return self.first + len(rows) - 1
            case _:
                return self.first + int(self.data.num_rows) - 1

    def after(self, number: int) -> Chunk:
        """The events behind a number."""
        gone = number - self.first + 1
        if gone <= 0:
            return self
        match self.data:
            case bytes() as lines:
                return replace(self, data=cut(lines, gone)[1], first=number + 1)
            case Records():
                return replace(self, data=_kept(self.data, lambda event: event > number), first=number + 1)
            case list() as rows:
                return replace(self, data=rows[gone:], first=number + 1)
            case _:
                return replace(self, data=self.data.slice(gone), first=number + 1)

    def without(self, numbers: Collection[int]) -> Iterator[Chunk]:
        """The events but for those of these numbers, as one or several chunks."""
        gone = sorted(number for number in numbers if self.first <= number <= self.last)
        if not gone:
            yield self
        elif isinstance(self.data, bytes):
            lines = self.data.split(b"\n")
            for number in gone:
                lines[number - self.first] = b""  # a blank line is no event
            yield replace(self, data=b"\n".join(lines))
        elif isinstance(self.data, Records):
            yield replace(self, data=_kept(self.data, lambda event: event not in numbers))
        else:
            for before, at in pairwise([self.first - 1, *gone, self.last + 1]):
                if at - before > 1:
                    part = slice(before + 1 - self.first, at - self.first)
                    rows = (
                        self.data[part] if isinstance(self.data, list) else self.data.slice(part.start, at - before - 1)
                    )
                    yield replace(self, data=rows, first=before + 1)


def _kept(records: Records, keeps: Any) -> Records:
    pairs = [(raw, number) for raw, number in zip(records.raw, records.numbers, strict=True) if keeps(number)]
    return Records(records.header, [raw for raw, _ in pairs], [number for _, number in pairs])


def count_lines(block: bytes) -> int:
    """The number of lines of a block; the last one may have no end."""
    return block.count(b"\n") + (bool(block) and not block.endswith(b"\n"))


def cut(block: bytes, lines: int) -> tuple[bytes, bytes]:
    """The block before and after so many lines.

    >>> cut(b"a\\nb\\nc", 2)
    (b'a\\nb\\n', b'c')
    """
    parts = block.split(b"\n", lines)
    rest = parts[-1] if len(parts) > lines else b""
    return block[: len(block) - len(rest)], rest
