"""Arrow tables as CSV, as PostgreSQL's COPY reads and writes it.

A NULL is nothing; an empty text is a pair of quotes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.csv

LARGEST_BLOCK = 2**31 - 1
PART = 8_192
"""Rows."""


def write(columns: Sequence[pa.Array]) -> Iterator[memoryview]:
    """The columns as CSV, in parts: the server works on one while the next is written."""
    table = pa.table(list(columns), names=[str(position) for position in range(len(columns))])
    for part in table.to_batches(max_chunksize=PART):
        sink = pa.BufferOutputStream()
        pa.csv.write_csv(part, sink, pa.csv.WriteOptions(include_header=False, batch_size=PART))
        yield memoryview(sink.getvalue())


def read(data: bytes, width: int) -> list[pa.Array]:
    """The texts of so many columns."""
    if not data:
        return [pa.array([], pa.string()) for _ in range(width)]
    names = [str(position) for position in range(width)]
    # a value must not be longer than a block, and any may be as long as all there is
    reading = pa.csv.ReadOptions(column_names=names, block_size=min(len(data) + 1, LARGEST_BLOCK))
    table = pa.csv.read_csv(
        io.BytesIO(data),
        reading,
        pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return [pa.concat_arrays(column.chunks) for column in table.columns]
