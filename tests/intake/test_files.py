"""Files: chunks of a bounded number of rows that together are the file."""

from __future__ import annotations

import gzip
import io
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import ArgumentRefused
from headwater.intake import Decoded, Decoder, read_file
from headwater.intake.chunk import Format
from headwater.intake.files import LONGEST_RECORD
from headwater.json_text import json_lines_of
from headwater.model import Column
from tests.intake.topics import ORDERS, stream_of

ROWS = pa.Table.from_pylist(
    [{"id": f"o{n}", "amount": None, "at": datetime(2024, 1, 1, 0, 0, n, tzinfo=UTC)} for n in range(50)],
    schema=ORDERS.schema,
)
NUMBERS = Decoder(stream_of(Column("n", pa.int64()), Column("s", pa.string())))


def decode_file(decoder: Decoder, data: bytes, kind: Format, batch_rows: int = 1000) -> Decoded:
    parts = [decoder.decode(chunk, where="f") for chunk in read_file(io.BytesIO(data), kind, batch_rows)]
    rows = [part.rows for part in parts] or [decoder.schema.empty_table()]
    return Decoded(pa.concat_tables(rows), pa.concat_tables([part.dead for part in parts]))


@pytest.mark.parametrize("name", ["o.jsonl", "o.ndjson", "o.json", "o.jsonl.gz", "o.jsonl.zst", "o.JSONL.GZ"])
def test_a_file_of_json_lines_is_found_by_its_name(tmp_path: Path, name: str, orders: Decoder) -> None:
    path, block = tmp_path / name, json_lines_of(ROWS)
    suffix = path.suffix.lower()
    data = gzip.compress(block) if suffix == ".gz" else pa.compress(block, "zstd", asbytes=True)
    path.write_bytes(data if suffix in (".gz", ".zst") else block)
    chunks = list(read_file(path, batch_rows=20))
    assert [chunk.first for chunk in chunks] == [1, 21, 41]
    assert chunks[-1].bytes_read == path.stat().st_size
    decoded = [orders.decode(chunk, where=name).rows for chunk in chunks]
    assert [rows.num_rows for rows in decoded] == [20, 20, 10]
    assert pa.concat_tables(decoded).drop(["_id"]).equals(ROWS)


def test_a_parquet_file_is_read_in_batches(tmp_path: Path, orders: Decoder) -> None:
    path = tmp_path / "orders.parquet"
    pq.write_table(ROWS, path)
    chunks = list(read_file(str(path), batch_rows=20))
    assert [chunk.first for chunk in chunks] == [1, 21, 41]
    assert chunks[-1].bytes_read == path.stat().st_size
    assert pa.concat_tables([orders.decode(chunk).rows for chunk in chunks]).drop(["_id"]).equals(ROWS)


def test_a_bad_row_of_a_parquet_file_is_named_by_its_number(tmp_path: Path, orders: Decoder) -> None:
    pq.write_table(pa.table({"id": ["a", None], "at": ["2024-01-01", "2024-01-01"]}), tmp_path / "o.parquet")
    (chunk,) = read_file(tmp_path / "o.parquet")
    assert orders.decode(chunk, where="o.parquet").dead["position"].to_pylist() == ["o.parquet:2"]


@given(st.lists(st.sampled_from([b'{"n":1}', b"oops", b"", b"\r", b'{"s":"x"}']), max_size=12), st.integers(1, 5))
def test_the_size_of_chunks_changes_nothing(lines: list[bytes], batch_rows: int) -> None:
    data = b"\n".join(lines)
    whole = NUMBERS.decode(data, where="f")
    chunks = list(read_file(io.BytesIO(data), "json", batch_rows))
    decoded = [NUMBERS.decode(chunk, where="f") for chunk in chunks]
    assert all(part.rows.num_rows + part.dead.num_rows <= batch_rows for part in decoded)
    assert [row for part in decoded for row in part.rows.to_pylist()] == whole.rows.to_pylist()
    assert [letter for part in decoded for letter in part.dead.to_pylist()] == whole.dead.to_pylist()


def test_a_line_longer_than_memory_should_hold_is_cut_short_and_the_next_is_read() -> None:
    data = b'{"n":1}\n{"s":"' + b"x" * 40_000_000 + b'"}\n{"n":3}\n'
    decoded = decode_file(NUMBERS, data, "json")
    assert decoded.rows["n"].to_pylist() == [1, 3]
    assert decoded.dead["error"].to_pylist() == ["event-too-large"]
    assert decoded.dead["position"].to_pylist() == ["f:2"]
    assert len(decoded.dead["bytes"][0].as_py()) == 16 * 1024 * 1024


def test_a_stream_holds_json_lines_unless_something_else_is_said() -> None:
    chunks = list(read_file(io.BytesIO(b'{"n":1}\n{"n":2}')))
    assert [(chunk.format, chunk.first, chunk.bytes_read) for chunk in chunks] == [("json", 1, 15)]


def test_an_empty_file_has_no_chunks() -> None:
    assert list(read_file(io.BytesIO(b""))) == []
    assert list(read_file(io.BytesIO(b""), "csv")) == []


def test_a_name_without_a_known_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentRefused, match=r'file "orders\.xlsx" has no known format'):
        list(read_file(tmp_path / "orders.xlsx"))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArgumentRefused, match=r'file ".*orders.jsonl" can\'t be read as json'):
        list(read_file(tmp_path / "orders.jsonl"))


@pytest.mark.parametrize("name", ["orders.parquet", "orders.jsonl.gz"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"neither one nor the other" * 10)
    with pytest.raises(ArgumentRefused, match=f'file ".*{name}" can\'t be read'):
        list(read_file(tmp_path / name))


def test_parquet_from_a_stream_without_an_end_is_refused() -> None:
    class Pipe(io.RawIOBase):
        def seekable(self) -> bool:
            return False

    with pytest.raises(ArgumentRefused, match="a stream can't be read as parquet"):
        list(read_file(Pipe(), "parquet"))


def test_a_batch_has_at_least_one_row() -> None:
    with pytest.raises(ArgumentRefused, match="a batch can't have 0 rows"):
        list(read_file(io.BytesIO(b"{}"), "json", 0))


def test_a_quote_that_never_closes_costs_its_own_line() -> None:
    good = b"1,x\n" * (LONGEST_RECORD + 10)
    decoded = decode_file(NUMBERS, b'n,s\n1,"x\n' + good, "csv", 100)
    assert (decoded.rows.num_rows, decoded.dead.num_rows) == (LONGEST_RECORD + 10, 1)
    assert decoded.dead.to_pylist()[0]["bytes"] == b'1,"x'
