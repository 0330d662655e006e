"""Arrow streams from outside are checked before anything follows an offset or believes a length of theirs."""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from headwater.errors import ArgumentRefused, TooLarge, UnreadableEvent
from headwater.intake import Decoder, read_file, read_stream
from headwater.intake.arrow_stream import BODY
from headwater.model import Column
from tests.intake.topics import stream_of

Made = tuple[pa.DataType, Callable[[], pa.Array]]


def stream(table: pa.Table, compression: str | None = None) -> bytes:
    held = pa.BufferOutputStream()
    with pa.ipc.new_stream(held, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    written: bytes = held.getvalue().to_pybytes()
    return written


def with_offset(offset: int, place: int, texts: list[str | None]) -> bytes:
    """A stream of strings, one of whose offsets is another."""
    offsets = np.array([0, *np.cumsum([len(text or "") for text in texts])], np.int32)
    body = stream(pa.table({"a": texts}))
    at = body.index(offsets.tobytes())
    return body[: at + 4 * place] + struct.pack("<i", offset) + body[at + 4 * place + 4 :]


@pytest.mark.parametrize("offset", [0x7FFFFFFF, -5, 2**20])
@pytest.mark.parametrize("place", [1, 2, 3])
@pytest.mark.parametrize("texts", [["abcd", "efgh", "ijkl"], ["abcd", None, "ijkl"], ["abcd", "efgh", None]])
def test_an_offset_that_leads_elsewhere_is_refused(offset: int, place: int, texts: list[str | None]) -> None:
    with pytest.raises(UnreadableEvent, match="no Arrow stream"):
        read_stream(with_offset(offset, place, texts))


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_stream_that_would_grow_beyond_the_budget_is_refused_before_it_grows(compression: str) -> None:
    rows = 2 * BODY.bytes // 8
    body = stream(pa.table({"a": pa.array(np.zeros(rows, np.int64))}), compression)
    began = time.monotonic()
    with pytest.raises(TooLarge, match="more than"):
        read_stream(body)
    assert time.monotonic() - began < 1


@pytest.mark.parametrize(
    "grows",
    [
        pytest.param(lambda: pa.DictionaryArray.from_arrays(np.zeros(2000, np.int8), ["x" * 2**20]), id="dictionary"),
        pytest.param(lambda: pa.RunEndEncodedArray.from_arrays([900_000], ["x" * 2**12]), id="runs"),
        pytest.param(lambda: pa.RunEndEncodedArray.from_arrays([2**31 - 1], [1]), id="one run"),
        pytest.param(lambda: pa.nulls(2_000_000), id="nulls"),
        pytest.param(lambda: pa.ListArray.from_arrays([0, 2**31 - 1], pa.nulls(2**31 - 1)), id="a list of nulls"),
        pytest.param(lambda: views_of_one_string(), id="views"),
    ],
)
def test_few_bytes_that_stand_for_many_are_refused(grows: Callable[[], pa.Array]) -> None:
    with pytest.raises(TooLarge, match="more than"):
        read_stream(stream(pa.table({"a": grows()})))


def views_of_one_string() -> pa.Array:
    """Ten thousand views of the same mebibyte."""
    view = struct.pack("<i4sii", 2**20, b"xxxx", 0, 0)
    return pa.Array.from_buffers(
        pa.string_view(), 10_000, [None, pa.py_buffer(view * 10_000), pa.py_buffer(b"x" * 2**20)]
    )


def test_a_view_that_is_null_may_point_anywhere_and_is_not_followed() -> None:
    views = struct.pack("<i4sii", 1, b"a", 0, 0) + struct.pack("<i4sii", 2**30, b"xxxx", 77, 2**30)
    odd = pa.Array.from_buffers(pa.string_view(), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(views)])
    decoded = Decoder(stream_of(Column("a", pa.string()))).decode(read_stream(stream(pa.table({"a": odd}))))
    assert decoded.rows["a"].to_pylist() == ["a", None]


def union() -> pa.Array:
    return pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])])


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (union(), "which is not taken"),
        (pa.array([[1]], pa.list_view(pa.int64())), "which is not taken"),
        (pa.array([{"b": "x"}], pa.struct([("b", pa.dictionary(pa.int8(), pa.string()))])), "whole columns only"),
        (pa.nulls(1, pa.decimal128(5, -3)), "which nobody has"),
    ],
    ids=["union", "list view", "nested dictionary", "negative scale"],
)
def test_a_type_that_is_not_taken_is_named(array: pa.Array, reason: str) -> None:
    with pytest.raises(UnreadableEvent) as refused:
        read_stream(stream(pa.table({"a": array})))
    assert 'column "a"' in str(refused.value) and reason in str(refused.value)


def test_a_schema_that_is_too_wide_or_too_deep_is_refused() -> None:
    with pytest.raises(TooLarge, match="columns"):
        read_stream(stream(pa.table({f"c{number}": [1] for number in range(BODY.columns + 1)})))
    kind = pa.int8()
    for _ in range(40):
        kind = pa.list_(kind)
    with pytest.raises(UnreadableEvent, match="no Arrow stream"):
        read_stream(stream(pa.table({"a": pa.nulls(1, kind)})))


def test_what_is_behind_the_end_of_a_stream_is_not_lost_without_a_word() -> None:
    body = stream(pa.table({"a": [1]}))
    with pytest.raises(UnreadableEvent, match="behind its end"):
        read_stream(body + body)
    with pytest.raises(UnreadableEvent):
        read_stream(b"")


def test_values_that_python_has_no_value_for_are_dead_letters() -> None:
    """`OverflowError` and errors of Arrow came out of what describes a dead letter."""
    table = pa.table({
        "a": pa.array([2**62, 1], pa.timestamp("s")), "b": pa.array([1, 1], pa.timestamp("us", "Nowhere/Never")),
        "c": pa.array([86_400_000 * 10**9, 0], pa.date64()), "d": pa.array([2**62, 1], pa.duration("s")),
    })  # fmt: skip
    decoder = Decoder(stream_of(Column("a", pa.int32()), Column("c", pa.date32())))
    decoded = decoder.decode(read_stream(stream(table)))
    assert decoded.rows.num_rows == 0
    assert decoded.dead["error"].to_pylist() == ["wrong-type", "wrong-type"]


def test_one_string_that_is_not_utf8_costs_its_own_row() -> None:
    odd = pa.array([b"a", b"\xff", b"c"], pa.binary()).view(pa.string())
    decoded = Decoder(stream_of(Column("a", pa.string()))).decode(read_stream(stream(pa.table({"a": odd}))))
    assert (decoded.rows["a"].to_pylist(), decoded.dead.num_rows) == (["a", "c"], 1)


def test_rows_without_columns_are_as_many_as_they_say() -> None:
    body = stream(pa.table({"a": [1, 2, 3]}).select([]))
    decoded = Decoder(stream_of(Column("a", pa.string(), nullable=False))).decode(read_stream(body))
    assert (decoded.rows.num_rows, decoded.dead.num_rows) == (0, 3)


def test_a_small_table_of_many_dead_letters_is_refused_before_they_are_spelled_out() -> None:
    names = [str(number) * 2_000 for number in range(10)]
    table = pa.table({"a": pa.array(["x"] * 100_000).dictionary_encode()} | {name: pa.nulls(100_000) for name in names})
    with pytest.raises(TooLarge, match="can't be read"):
        Decoder(stream_of(Column("a", pa.int32()))).decode(read_stream(stream(table)))


def test_every_type_that_was_taken_still_is() -> None:
    table = pa.table({
        "a": pa.array(["x", None]).dictionary_encode(), "b": pa.array(["y", "z" * 40], pa.string_view()),
        "c": pa.RunEndEncodedArray.from_arrays([2], [7]), "d": pa.array([Decimal("1.5"), None], pa.decimal256(60, 3)),
        "e": pa.array([[1], None], pa.large_list(pa.int8())),
    })  # fmt: skip
    columns = [Column("a", pa.string()), Column("b", pa.string()), Column("c", pa.int32())]
    decoder = Decoder(stream_of(*columns, Column("d", pa.decimal128(12, 2)), Column("e", pa.list_(pa.int64()))))
    for compression in (None, "zstd", "lz4"):
        decoded = decoder.decode(read_stream(stream(table, compression)))
        assert decoded.rows.to_pylist() == [
            {"a": "x", "b": "y", "c": 7, "d": Decimal("1.50"), "e": [1]},
            {"a": None, "b": "z" * 40, "c": 7, "d": None, "e": None},
        ]


def test_files_are_checked_like_bodies(tmp_path: Path) -> None:
    file = tmp_path / "odd.arrows"
    file.write_bytes(with_offset(0x7FFFFFFF, 2, ["abcd", "efgh", "ijkl"]))
    with pytest.raises(ArgumentRefused, match="can't be read as arrow"):
        list(read_file(file))
    file.write_bytes(stream(pa.table({"a": ["x"]})))
    assert [chunk.data.num_rows for chunk in read_file(file)] == [1]


def test_big_endian_numbers_are_refused_instead_of_swapped_unseen() -> None:
    body = stream(pa.table({"a": [1]}))
    assert sys.byteorder == "little"
    with pytest.raises(UnreadableEvent):
        read_stream(body.replace(b"\x10\x00\x00\x00", b"\x10\x00\x00\xff", 1))
