"""Files whose events are not lines: Parquet, Arrow and Avro, a chunk at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa

from headwater.errors import ArgumentRefused
from headwater.installed import extra
from headwater.intake.arrow_stream import BATCH_OF_FILE, check_headers, check_schema, checked
from headwater.intake.chunk import Chunk, Format
from headwater.intake.parquet_file import batches

_ARROW = b"ARROW1"
"""The beginning of a file of Arrow; a stream doesn't."""
_BEFORE_MESSAGES = 8


def _parquet(source: Path | Any, batch_rows: int) -> Iterator[Chunk]:
    _refuse_streams(source, "Parquet")
    with pa.OSFile(str(source)) if isinstance(source, Path) else nullcontext(_native(source)) as file:
        first = 1
        for batch, rows in batches(file, batch_rows):
            done = first - 1 + batch.num_rows
            yield Chunk(pa.Table.from_batches([batch]), "parquet", first, file.size() * done // max(1, rows))
            first = done + 1


def _native(source: Any) -> Any:
    return source if isinstance(source, pa.NativeFile) else pa.PythonFile(source, "r")


def _arrow(source: Path | Any, batch_rows: int) -> Iterator[Chunk]:
    """Arrow's file format, which Feather is, or its stream format."""
    _refuse_streams(source, "Arrow")
    with pa.OSFile(str(source)) if isinstance(source, Path) else nullcontext(source) as file:
        is_file = file.read(len(_ARROW)) == _ARROW
        file.seek(0)
        first = 1
        for table in _arrow_tables(file, is_file):
            for start in range(0, table.num_rows, batch_rows):
                part = table.slice(start, batch_rows)
                yield Chunk(part, "arrow", first, file.tell())
                first += part.num_rows


def _arrow_tables(file: Any, is_file: bool) -> Iterator[pa.Table]:
    """The batches of a file, each checked before it is believed."""
    file.seek(_BEFORE_MESSAGES if is_file else 0)
    check_headers(file, BATCH_OF_FILE)
    file.seek(0)
    opened = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
    check_schema(opened.schema, BATCH_OF_FILE)
    held = map(opened.get_batch, range(opened.num_record_batches)) if is_file else iter(opened)
    for batch in held:
        yield checked(pa.Table.from_batches([batch]), BATCH_OF_FILE)


def _avro(source: Path | Any, batch_rows: int) -> Iterator[Chunk]:
    """Avro's object container files."""
    with extra("kafka", "a file of Avro"):
        from fastavro import reader

        from headwater.schemas.avro import read_decimals_exactly
    read_decimals_exactly()
    with source.open("rb") if isinstance(source, Path) else nullcontext(source) as file:
        first, decoded = 1, reader(file)
        records: Iterator[Any] = map(_with_texts, decoded) if _has_uuids(decoded.writer_schema) else iter(decoded)
        while rows := list(islice(records, batch_rows)):
            yield Chunk(rows, "avro", first, file.tell() if hasattr(file, "tell") else 0)
            first += len(rows)


def _has_uuids(schema: Any) -> bool:
    return "'uuid'" in str(schema)


def _with_texts(value: Any) -> Any:
    """A value with each UUID in it as its text, which is what a column takes."""
    match value:
        case UUID():
            return str(value)
        case dict():
            return {name: _with_texts(field) for name, field in value.items()}
        case list():
            return [_with_texts(item) for item in value]
        case _:
            return value


def _refuse_streams(source: Path | Any, form: str) -> None:
    if not isinstance(source, Path) and not (hasattr(source, "seekable") and source.seekable()):
        raise ArgumentRefused(
            f"a stream can't be read as {form.lower()}", hint=f"{form} is read from its end; give a file."
        )


BINARY: dict[Format, Callable[[Path | Any, int], Iterator[Chunk]]] = {
    "parquet": _parquet,
    "arrow": _arrow,
    "avro": _avro,
}
"""The readers of these formats, from a path or a stream that can be read from its end."""
