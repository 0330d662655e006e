"""Parts of files on their way into a commit."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from headwater.errors import ArgumentRefused, DataError, UnreadableEvent
from headwater.intake.chunk import Chunk, Format
from headwater.intake.dead import NO_LETTERS, Letter, table_of
from headwater.intake.decode import Decoded, Decoder
from headwater.intake.files import read_file
from headwater.intake.folder.register import File, position_of
from headwater.intake.folder.shelf import hash_of
from headwater.intake.protocol import Again
from headwater.log.counts import together

AT_ONCE = 50_000
"""The most events of a file that share a piece."""


@dataclass(frozen=True)
class FilePiece:
    """Events of a file, and the position behind them."""

    source: str
    where: str
    after: int
    chunk: Chunk | None = None

    @property
    def size(self) -> int:
        """The number of its events."""
        return 0 if self.chunk is None else self.chunk.last - self.chunk.first + 1

    def decode(self, decoder: Decoder, arrived_at: datetime, without: Collection[int]) -> Decoded:
        """The events as rows and dead letters, which are at the numbers of their lines or rows: `orders.jsonl:17`."""
        chunks = [] if self.chunk is None else self.chunk.without(without)
        parts = [self._decode(decoder, chunk, arrived_at) for chunk in chunks]
        rows = pa.concat_tables([decoder.schema.empty_table(), *(part.rows for part in parts)])
        unknown = together(part.unknown for part in parts)
        return Decoded(rows, pa.concat_tables([NO_LETTERS, *(part.dead for part in parts)]), unknown)

    def _decode(self, decoder: Decoder, chunk: Chunk, arrived_at: datetime) -> Decoded:
        try:
            return decoder.decode(chunk, source=self.source, where=self.where, arrived_at=arrived_at)
        except ArgumentRefused as refused:  # such as two columns of one name: nothing of it can be taken
            letter = Letter(0, b"", refused.summary, UnreadableEvent, f"{self.where}:{chunk.first}")
            return Decoded(decoder.schema.empty_table(), table_of([letter], self.source))


@dataclass(frozen=True)
class FileLetter:
    """A file, or the rest of one, that can't be taken in: one dead letter."""

    source: str
    where: str
    after: int
    number: int
    reason: str
    error: type[DataError]
    size: int = 1

    def decode(self, decoder: Decoder, arrived_at: datetime, without: Collection[int]) -> Decoded:  # noqa: ARG002
        """No rows, and the letter."""
        letter = Letter(0, b"", self.reason, self.error, f"{self.where}:{self.number}")
        letters = [] if self.number in without else [letter]
        return Decoded(decoder.schema.empty_table(), table_of(letters, self.source))


def pieces_of(
    source: str, file: File, path: Path, form: Format | None, read_up_to: int
) -> Iterator[FilePiece | FileLetter]:
    """The events of a file behind one that was the last to be read, in their order; the last piece ends the file.

    What can't be read from somewhere on ends with a letter.
    """
    end, held = position_of(file.number + 1), None
    last = read_up_to
    try:
        for chunk in read_file(path, form, AT_ONCE):
            rest = chunk.after(read_up_to)
            if held is not None:
                yield FilePiece(source, file.name, position_of(file.number, held.last), held)
                last = held.last
            held = rest if rest.last >= rest.first else held
    except ArgumentRefused as refused:
        if hash_of(path) != file.hash:
            raise Again from refused
        if held is not None:
            yield FilePiece(source, file.name, position_of(file.number, held.last), held)
            last = held.last
        reason = f"the file can't be read from here on: {refused.detail or refused.summary}"
        yield FileLetter(source, file.name, end, last + 1, reason, UnreadableEvent)
        return
    yield FilePiece(source, file.name, end, held)
