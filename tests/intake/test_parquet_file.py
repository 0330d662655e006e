"""Parquet from outside is read within a budget, whatever its footer and its pages say."""

from __future__ import annotations

import io
import resource
import struct
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import ArgumentRefused, TooLarge
from headwater.intake import read_file
from headwater.intake.arrow_stream import Budget
from headwater.intake.parquet_file import ColumnChunk, Page, batches
from headwater.intake.thrift import Reader
from tests.intake.folder.test_inlet import Drop

SMALL = Budget(bytes=2**24, values=2**20)


def written(table: pa.Table, **options: Any) -> bytes:
    held = io.BytesIO()
    pq.write_table(table, held, **({"compression": "zstd", "store_schema": False} | options))
    return held.getvalue()


def named_often(rows: int, length: int) -> pa.Array:
    """One long text that a dictionary holds once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), ["x" * length])


def read(body: bytes, budget: Budget = SMALL, rows: int = 65_536) -> list[pa.RecordBatch]:
    return [batch for batch, _ in batches(pa.BufferReader(body), rows, budget)]


@pytest.mark.parametrize(
    "options",
    [
        {}, {"data_page_version": "2.0"}, {"compression": "none"}, {"compression": "lz4"}, {"use_dictionary": False},
        {"row_group_size": 700}, {"data_page_size": 100},
    ],
    ids=str,
)  # fmt: skip
def test_what_a_writer_writes_is_read(options: dict[str, Any]) -> None:
    table = pa.table(
        {
            "id": [f"o-{n % 70}" for n in range(2_000)],
            "n": pa.array([n if n % 3 else None for n in range(2_000)], pa.int32()),
            "raw": pa.array([b"12"] * 2_000, pa.binary(2)),
            "tags": [["x" * (n % 5)] * (n % 4) for n in range(2_000)],
            "place": [{"x": n / 2, "names": [{"a": "b"}]} if n % 5 else None for n in range(2_000)],
        }
    )
    found = read(written(table, **options), rows=500)
    assert max(batch.num_rows for batch in found) <= 500
    assert pa.Table.from_batches(found).to_pylist() == table.to_pylist()


@pytest.mark.parametrize("options", [{}, {"data_page_version": "2.0"}, {"compression": "snappy"}])
def test_a_long_value_that_is_named_often_is_read_in_smaller_batches(options: dict[str, Any]) -> None:
    found = read(written(pa.table({"a": named_often(5_000, 2**16)}), **options))
    assert sum(batch.num_rows for batch in found) == 5_000
    assert max(batch.nbytes for batch in found) <= SMALL.bytes


@pytest.mark.parametrize(
    ("make", "options"),
    [
        pytest.param(lambda: named_often(3, 2**24), {}, id="one value"),
        pytest.param(lambda: pa.array(["x" * 2**24]), {"use_dictionary": False}, id="one page"),
        pytest.param(
            lambda: pa.ListArray.from_arrays([0, 5_000], named_often(5_000, 2**16).cast(pa.string())), {}, id="a list"
        ),
        pytest.param(lambda: pa.ListArray.from_arrays([0, 2**21], pa.nulls(2**21, pa.int8())), {}, id="NULLs"),
        pytest.param(
            lambda: pa.ListArray.from_arrays([0, 9_000], pa.array(["x" * 2**12] * 9_000)),
            {"use_dictionary": False, "column_encoding": {"a.list.element": "DELTA_BYTE_ARRAY"}}, id="beginnings",
        ),
    ],
)  # fmt: skip
def test_a_row_that_is_more_than_the_budget_is_refused_before_it_is_read(
    make: Callable[[], pa.Array], options: dict[str, Any]
) -> None:
    with pytest.raises(TooLarge, match="more than"):
        read(written(pa.table({"a": make()}), **options))


def altered(body: bytes, former: int, other: int) -> bytes:
    """A file in whose footer a number is another, of as many bytes."""
    begin, one, two = begin_of_footer(body), _varint(2 * former), _varint(2 * other)
    assert len(one) == len(two) and one in body[begin:]
    return body[:begin] + body[begin:].replace(one, two)


def begin_of_footer(body: bytes) -> int:
    return len(body) - 8 - int(struct.unpack("<I", body[-8:-4])[0])


def first_column(body: bytes) -> dict[int, Any]:
    footer = Reader(body[begin_of_footer(body) : -8]).struct()
    found: dict[int, Any] = footer[4][0][1][0][3]
    return found


def _varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def test_a_footer_that_lies_about_sizes_changes_nothing() -> None:
    """What a column is when it is decompressed: the footer says less, and the page says what it is."""
    body = written(pa.table({"a": pa.array(["x" * 2**24])}), use_dictionary=False)
    lie = altered(body, first_column(body)[6], 2**21)
    with pytest.raises(TooLarge):
        read(lie)


def test_columns_that_claim_more_bytes_than_the_file_has_are_refused() -> None:
    body = written(pa.table({"a": pa.array(range(1000)), "b": pa.array(range(1000))}), compression="none")
    lie = altered(body, first_column(body)[7], len(body) - 1)
    with pytest.raises(ArgumentRefused, match="more bytes than the file"):
        list(read_file(pa.BufferReader(lie), "parquet"))


def footer_only(metadata: bytes) -> bytes:
    return b"PAR1" + metadata + struct.pack("<I", len(metadata)) + b"PAR1"


def deep_schema(levels: int) -> bytes:
    group = b"\x35\x00\x18\x01g\x15\x02\x00"
    elements = group * levels + b"\x15\x02\x25\x00\x18\x01x\x00"
    return footer_only(b"\x15\x02\x19\xfc" + _varint(levels + 1) + elements + b"\x16\x00\x19\x0c\x00")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(deep_schema(5_000), id="a deep schema"),
        pytest.param(deep_schema(900_000), id="a huge schema"),
        pytest.param(footer_only(b"\x1c" * 1_000_000), id="deep structs"),
        pytest.param(footer_only(b"\x19" + b"\x19" * 1_000_000), id="deep lists"),
        pytest.param(footer_only(b"\x19\xfc" + b"\xff" * 9 + b"\x01"), id="a list of more than there is"),
        pytest.param(footer_only(b"\x15" + b"\xff" * 100), id="an endless number"),
        pytest.param(footer_only(b"\x18\xff\xff\xff\xff\x0fx"), id="a text of more than there is"),
        pytest.param(b"PAR1" + struct.pack("<I", 2**32 - 1) + b"PAR1", id="a footer of more than there is"),
        pytest.param(b"PAR1\x15\x02\x00\x03\x00\x00\x00PARE", id="encrypted"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_odd_metadata_is_refused(body: bytes) -> None:
    with pytest.raises(ArgumentRefused, match=r"can't be read as parquet|would be too much"):
        list(read_file(pa.BufferReader(body), "parquet"))


BOMB = """
import resource, sys
from headwater.errors import HeadwaterError
from headwater.intake import read_file
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    for chunk in read_file(sys.argv[1]):
        del chunk
except HeadwaterError as refused:
    print(refused)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def test_a_few_kilobytes_never_take_more_than_the_budget_of_files(tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    path.write_bytes(written(pa.table({"a": named_often(65_536, 200_000)})))
    assert path.stat().st_size < 10_000, "13 GB, if it were read in one batch"
    done = subprocess.run(
        [sys.executable, "-c", BOMB, path], capture_output=True, text=True, check=True, preexec_fn=_limited
    )
    assert int(done.stdout) < 3 * 2**30


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (12 * 2**30, 12 * 2**30))


def test_a_file_in_a_folder_that_would_be_too_much_is_a_dead_letter(tmp_path: Path) -> None:
    drop = Drop(tmp_path)
    at = pa.array([datetime(2026, 1, 1, tzinfo=UTC)])
    drop.put("1.parquet", written(pa.table({"id": pa.array(["a"]), "at": at})))
    lists = pa.ListArray.from_arrays([0, 60_000], named_often(60_000, 2**16))
    drop.put("2.parquet", written(pa.table({"id": pa.array(["b"]), "at": at, "tags": lists})))
    drop.put("3.parquet", written(pa.table({"id": pa.array(["c"]), "at": at})))
    drop.take_in()
    assert drop.letters == [("2.parquet:1", "unreadable-event")]
    assert drop.ids == ["a", "c"]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.integers(1, 60))
def test_no_rows_in_a_row_are_more_than_was_worked_out(values: list[int], rows: int) -> None:
    """Every place where a batch can begin, counted page by page."""
    pages = [Page(count, 100 * count, 7) for count in values]
    starts = [sum(values[:at]) for at in range(len(values))]
    for first in range(sum(values)):
        touched = [
            page.bytes + 7 * max(0, min(first + rows, start + page.values) - max(first, start))
            for page, start in zip(pages, starts, strict=True)
            if start < first + rows and start + page.values > first
        ]
        assert sum(touched) <= ColumnChunk(pages, repeated=False).size(rows)
