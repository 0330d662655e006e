"""Lines: a block of bytes cut at its newlines, and what is wrong with a line before any format is asked.

Whatever the format, a line is at most `LARGEST_EVENT` bytes and is UTF-8; a blank line is nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import DataError, EventTooLarge, UnreadableEvent
from headwater.intake.converted import attempt, only_where
from headwater.intake.dead import Letter

Read = TypeVar("Read")
LARGEST_EVENT = 4 * 1024 * 1024
"""The most bytes that an event may have."""

LINES_AT_ONCE = 65_536
"""The most lines that are decoded at once; pyarrow's JSON reader takes at most 100,000."""

BYTES_AT_ONCE = 256 * 1024 * 1024
"""The most bytes that are decoded at once; the reader counts them in 32 bits."""

_BLANKS = " \t\r\n"
_TOO_LARGE = f"has more than {LARGEST_EVENT:,} bytes"
_LEAF = 512
_PIECES = 16


@dataclass(frozen=True)
class Lines:
    """The lines of a block. `texts` has them as text, NULL where a line can't be read as text.

    `numbers` is the number of each line in its file, or of the first one if the others follow it; `noun` is what a line
    is called in reasons.
    """

    raw: pa.Array
    texts: pa.Array
    where: str
    numbers: int | Sequence[int]
    noun: str = "line"

    def refuse(self, line: int, error: type[DataError], what: str) -> Letter:
        """A dead letter whose reason begins with what a line is called here: `the line` and `what` is wrong with it."""
        return self.letter(line, error, f"the {self.noun} {what}")

    def letter(self, line: int, error: type[DataError], reason: str) -> Letter:
        """A dead letter for one line."""
        return Letter(line, self.raw[line].as_py() or b"", reason, error, self.position(line))

    def position(self, line: int) -> str:
        """Where the line is: the name of the file and the line's number in it."""
        return f"{self.where}:{self.numbers + line if isinstance(self.numbers, int) else self.numbers[line]}"

    def trimmed(self) -> Lines:
        """The same lines without the blanks around them."""
        return replace(self, texts=pc.ascii_trim(self.texts, _BLANKS))

    def present(self) -> pa.Array:
        """A mask of the lines that are neither empty nor unreadable."""
        return pc.not_equal(self.texts, "").fill_null(False)


@dataclass(frozen=True)
class LineOriginals:
    """The lines that rows were read from; `indices` are those of the rows' lines."""

    lines: Lines
    indices: pa.Array

    def content(self, row: int) -> bytes:
        """The line as it was."""
        line: bytes = self.lines.raw[self.index(row)].as_py()
        return line

    def index(self, row: int) -> int:
        """The line's index in its block."""
        index: int = self.indices[row].as_py()
        return index

    def position(self, row: int) -> str:
        """The file and the number of the line."""
        return self.lines.position(self.index(row))


def pieces(block: bytes, most: int = LINES_AT_ONCE) -> Iterator[tuple[int, bytes]]:
    """The block cut into pieces of at most `most` lines, each with the number of lines before it."""
    before = 0
    while block.count(b"\n") > most or len(block) > BYTES_AT_ONCE:
        count = most if len(block) <= BYTES_AT_ONCE else min(most, max(1, block.count(b"\n", 0, BYTES_AT_ONCE)))
        rest = block.split(b"\n", count)
        if len(rest) <= count:
            break
        yield before, block[: len(block) - len(rest[-1])]
        block, before = rest[-1], before + count
    yield before, block


def split(block: bytes) -> pa.Array:
    """The lines of a block."""
    body = block[:-1] if block.endswith(b"\n") else block
    return pc.split_pattern(pa.array([body], pa.binary()), b"\n").flatten()


def examine(
    raw: pa.Array, where: str, numbers: int | Sequence[int], noun: str = "line", originals: pa.Array | None = None
) -> tuple[Lines, list[Letter]]:
    """The lines as texts, and a letter for each that is too large or isn't UTF-8.

    `originals` are what letters keep, where a line is only part of what came.
    """
    large = only_where(pc.greater(pc.binary_length(raw), LARGEST_EVENT))
    readable = raw if large is None else pc.if_else(large, pa.scalar(None, pa.binary()), raw)
    decoded = attempt(readable, lambda some: some.cast(pa.string()), pa.string())
    lines = Lines(raw if originals is None else originals, decoded.values, where, numbers, noun)
    letters = [lines.refuse(at, EventTooLarge, _TOO_LARGE) for at in _true(large)]
    letters += [lines.refuse(at, UnreadableEvent, "is not UTF-8") for at in _true(decoded.bad)]
    return lines, letters


def _true(mask: pa.Array | None) -> list[int]:
    indices: list[int] = [] if mask is None else pc.indices_nonzero(mask).to_pylist()
    return indices


def join(texts: pa.Array) -> pa.Buffer:
    """The lines as one block again."""
    whole = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts), "\n")
    return whole[0].as_buffer()


def read_in_pieces(
    count: int, read: Callable[[int, int], Read | None], at: int = 0
) -> Iterator[tuple[int, int, Read | None]]:
    """`read(start, stop)` for all lines at once; where that fails, for pieces, down to a few lines that fail together.

    Yields (start, stop, table) in order; the table is None where a careful reader must look at each line.
    """
    table = read(at, at + count) if count else None
    if table is not None or count <= _LEAF:
        yield at, at + count, table
        return
    step = max(_LEAF, -(-count // _PIECES))
    for start in range(at, at + count, step):
        yield from read_in_pieces(min(step, at + count - start), read, start)
