"""Files: JSON lines, CSV, Parquet, Arrow and Avro, from a path or a stream, a chunk at a time in constant memory.

A *chunk* is what decodes to at most so many rows. It never splits a line, nor a CSV *record*: a line, or the lines that
a quoted value with newlines in it reaches over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater.errors import ArgumentRefused, HeadwaterError, TooLarge
from headwater.intake.binary_files import BINARY
from headwater.intake.chunk import Chunk, Format, Records, count_lines, cut
from headwater.intake.dead import KEPT_BYTES

_SUFFIXES: dict[str, Format] = {
    ".jsonl": "json", ".ndjson": "json", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".arrows": "arrow", ".avro": "avro",
}  # fmt: skip
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_BLOCK = 1024 * 1024
_HELD = 64 * 1024 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

LONGEST_RECORD = 1_000
"""The most lines that a CSV record may reach over; a quote that isn't closed within them is taken as it stands."""


def format_of(path: Path) -> Format:
    """The format that a file's name says; ArgumentRefused if it says none.

    >>> format_of(Path("orders.jsonl.gz"))
    'json'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in _COMPRESSIONS]
    form = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    if form is None:
        known = ", ".join(_SUFFIXES)
        raise ArgumentRefused(
            f'file "{path.name}" has no known format',
            detail=f"Its name ends in none of {known} (each may be followed by .gz or .zst).",
            hint="rename the file, or name its format.",
            file=str(path),
        )
    return form


def read_file(source: str | Path | Any, format: Format | None = None, batch_rows: int = 65_536) -> Iterator[Chunk]:  # noqa: A002
    """The chunks of a file, or of a stream of bytes (anything with `read`), in order.

    A path's format follows from its name unless it is given; a stream holds JSON lines unless something else is said.
    """
    if batch_rows < 1:
        raise ArgumentRefused(f"a batch can't have {batch_rows} rows")
    path = Path(source) if isinstance(source, str | Path) else None
    stream: Any = source
    kind = format or (format_of(path) if path else "json")
    name = str(path) if path else "the stream"
    try:
        if kind in BINARY:
            yield from BINARY[kind](path or stream, batch_rows)
        else:
            with _opened(path) if path else nullcontext((stream.read, None)) as (read, position):
                yield from _text(read, position, kind, batch_rows)
    except TooLarge as error:
        raise ArgumentRefused(
            f'file "{name}" would be too much', detail=f"{error.summary}. {error.detail}", hint=error.hint, file=name
        ) from error
    except HeadwaterError:
        raise
    except Exception as error:
        if kind not in BINARY and not isinstance(error, OSError | pa.ArrowException):
            raise
        reason = str(error).partition("\n")[0].rstrip(".")[:500] or type(error).__name__
        raise ArgumentRefused(f'file "{name}" can\'t be read as {kind}', detail=f"{reason}.", file=name) from error


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Callable[[int], bytes], Callable[[], int] | None]]:
    """A function that reads the file's text, and one that tells how far into the file itself it has got."""
    compression = _COMPRESSIONS.get(path.suffix.lower())
    with pa.OSFile(str(path)) as file:
        stream = pa.CompressedInputStream(file, compression) if compression else file
        yield stream.read, file.tell


def _text(
    read: Callable[[int], bytes], position: Callable[[], int] | None, kind: Format, batch_rows: int
) -> Iterator[Chunk]:
    tally = _Tally(read)
    at = position or tally.total
    blocks = _whole_lines(tally.read)
    if kind == "json":
        for first, data in _json_chunks(blocks, batch_rows):
            yield Chunk(data, kind, first, at())
    else:
        for records in _csv_chunks(blocks, batch_rows):
            yield Chunk(records, kind, records.numbers[0] if records.numbers else 2, at())


class _Tally:
    """Counts what it reads."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read, self._count = read, 0

    def read(self, size: int) -> bytes:
        data = self._read(size)
        self._count += len(data)
        return data

    def total(self) -> int:
        return self._count


def _whole_lines(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Blocks that end with a line. Of a line longer than a dead letter keeps, the rest is skipped."""
    tail: list[bytes] = []
    size, started = 0, False
    while data := read(_BLOCK):
        data, started = (data if started else data.removeprefix(_BYTE_ORDER_MARK)), True
        end = data.rfind(b"\n") + 1
        if end:
            yield b"".join([*tail, data[:end]])
            tail, size = [], 0
        if size <= KEPT_BYTES:
            tail.append(data[end:])
        size += len(data) - end
    if size:
        yield b"".join(tail)


def _json_chunks(blocks: Iterable[bytes], batch_rows: int) -> Iterator[tuple[int, bytes]]:
    held: list[bytes] = []
    count, first = 0, 1
    for block in blocks:
        lines = count_lines(block)
        while count + lines >= batch_rows or sum(map(len, held)) > _HELD:
            taken = min(batch_rows - count, lines)
            head, block = cut(block, taken)
            yield first, b"".join([*held, head])
            first, held, count, lines = first + count + taken, [], 0, lines - taken
        if block:
            held.append(block)
            count += lines
    if held:
        yield first, b"".join(held)


def _csv_chunks(blocks: Iterable[bytes], batch_rows: int) -> Iterator[Records]:
    records = _records(blocks)
    header = next(records, None)
    if header is None:
        return
    filled = Records(header[1], [], [])
    for number, record in records:
        if len(filled.raw) == batch_rows:
            yield filled
            filled = Records(header[1], [], [])
        filled.raw.append(record)
        filled.numbers.append(number)
    yield filled


def _records(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Records with the numbers of the lines that they start on; blank lines are none."""
    opened: list[tuple[int, bytes]] = []
    for number, line in _numbered(blocks):
        odd = line.count(b'"') % 2
        if opened or odd:
            opened.append((number, line))
            if odd and len(opened) > 1:
                yield opened[0][0], b"\n".join(part for _, part in opened)
                opened = []
            elif len(opened) == LONGEST_RECORD:
                yield from opened
                opened = []
        elif line.strip(b" \t\r"):
            yield number, line
    yield from opened


def _numbered(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    number = 0
    for block in blocks:
        for line in block.removesuffix(b"\n").split(b"\n"):
            number += 1
            yield number, line
