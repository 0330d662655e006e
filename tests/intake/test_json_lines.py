"""JSON lines: exact to the line, whatever the bytes, the chunking and the neighbours."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.intake import Decoded, Decoder
from headwater.json_text import json_lines_of
from headwater.model import INSTANT, Column, Stream
from tests.intake.strategies import same, tables, types
from tests.intake.topics import stream_of

ANY = Stream(
    name="any",
    columns=(
        Column("a", pa.string()),
        Column("b", pa.int64()),
        Column("c", pa.decimal128(12, 2)),
        Column("d", pa.float32()),
        Column("at", INSTANT),
        Column("day", pa.date32()),
        Column("local", pa.timestamp("us")),
        Column("flag", pa.bool_()),
        Column("raw", pa.binary()),
        Column("s", pa.struct([("x", pa.int8()), ("y", pa.list_(pa.date32()))])),
    ),
)
DECODER = Decoder(ANY)
FILLER = b'{"b": 1}'
"""Enough of these lines beside another make Arrow's reader read the block."""

LITERALS = [
    b"null", b"true", b"false", b"0", b"-0", b"1", b"1.0", b"1e3", b"1.5", b"127", b"128", b"12.34", b"12.345",
    b"12.340", b"99999999999.99", b"1e400", b"1e-400", b"1e39", b"9223372036854775808", b"NaN", b"-NaN", b"Infinity",
    b"-Infinity", b"Inf", b"-Inf", b"nan", b"01", b".5", b"5.", b"+1", b'""', b'"x"', b'"12.50"', b'"1e2"', b'"+1"',
    b'".5"', b'"NaN"', b'"-Infinity"', b'" 1"', b'"0x1"', b'"aGk="', b'"aGk"', b'"\\u0000"', b'"\\ud800"', b'"\\udc00"',
    b'"\\ud83d\\ude00"', b'"} null"', b'"}n"', b'"Inf"', b'"\xc3\xa4"', b'"\xff"', b'"\x00"', b'"\x01"', b'"\\x"',
    b'"2024-01-01"', b'"2024-01-01T00:00:00"', b'"2024-01-01T00:00:00Z"', b'"2024-01-01 00:00:00.123456+02:00"',
    b'"2024-01-01T00:00:00.1234567Z"', b'"2024-01-01T00:00+02"', b'"2024-01-01T00Z"', b'"2024-01-01Z"', b'"2024-1-1"',
    b'"2024-01-01T24:00:00Z"', b'"2024-02-30"', b'"0001-01-01T00:00:00Z"', b'"12345-01-01T00:00:00Z"', b"[]", b"{}",
    b"[1]", b'{"x":1}', b'{"x":1,"x":2}', b'{"x":300}', b'{"y":["2024-01-01",null]}', b'{"y":["no"]}', b'{"z":1}',
]  # fmt: skip
NAMES = [column.name.encode() for column in ANY.columns] + [b"other", b"A"]

members = st.tuples(st.sampled_from(NAMES), st.sampled_from(LITERALS)).map(lambda m: b'"%s":%s' % m)
objects = st.lists(members, max_size=4).map(lambda found: b"{" + b",".join(found) + b"}")
noise = st.sampled_from(
    [
        b"",
        b" ",
        b"\r",
        b"\t",
        b"null",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b"}}",
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b'"',
        b"1",
        b"//",
    ]
)
lines = st.one_of(
    objects,
    st.tuples(noise, objects, noise).map(b"".join),
    st.tuples(objects, noise, objects).map(b"".join),
    st.tuples(objects, noise, noise, objects).map(b"".join),
    st.binary(max_size=12).map(lambda found: found.replace(b"\n", b"")),
)


def is_blank(line: bytes) -> bool:
    return not line.strip(b" \t\r")


def decode(line: bytes) -> Decoded:
    return DECODER.decode(b"\n" + line)


@given(st.lists(lines, max_size=8))
@example([b"null"])
@example([b"{}{}", b'{"b":', b"1}"])
@example([b"{}{}", b'{"s":{', b"}}"])
@example([b"{}{}", b"{}\x00}", b"{}"])
@example([b"{}} null {}", b"{} null", b"{}\x00"])
def test_every_line_that_is_not_blank_becomes_a_row_or_a_letter(found: list[bytes]) -> None:
    block = b"\n" + b"\n".join(found)
    for data, extra in ((block, 0), (block + (b"\n" + FILLER) * 40, 40)):
        decoded = DECODER.decode(data)
        expected = sum(not is_blank(line) for line in found) + extra
        assert decoded.rows.num_rows + decoded.dead.num_rows == expected
        decoded.rows.validate(full=True)


@given(st.binary(max_size=400))
def test_arbitrary_bytes_lose_nothing(data: bytes) -> None:
    decoded = DECODER.decode(data)
    body = data.removeprefix(b"\xef\xbb\xbf")
    assert decoded.rows.num_rows + decoded.dead.num_rows == sum(not is_blank(line) for line in body.split(b"\n"))


@given(lines)
def test_neighbours_change_nothing(line: bytes) -> None:
    """Beside forty others a line is read by Arrow's reader, alone by the careful one: they must agree."""
    beside = DECODER.decode((FILLER + b"\n") * 40 + line)
    alone = decode(line)
    assert repr(beside.rows.slice(40).to_pylist()) == repr(alone.rows.to_pylist())
    assert beside.dead.drop(["position"]).equals(alone.dead.drop(["position"]))


def test_every_literal_in_every_column_is_read_alike_by_both_readers() -> None:
    for name in NAMES:
        for literal in LITERALS:
            line = b'{"%s":%s}' % (name, literal)
            beside = DECODER.decode((FILLER + b"\n") * 40 + line)
            alone = decode(line)
            assert repr(beside.rows.slice(40).to_pylist()) == repr(alone.rows.to_pylist()), line
            assert beside.dead["reason"].to_pylist() == alone.dead["reason"].to_pylist(), line


@given(tables(types()))
def test_decoding_what_was_encoded_gives_the_same_rows(found: tuple[Stream, pa.Table]) -> None:
    stream, table = found
    decoded = Decoder(stream).decode(json_lines_of(table))
    assert decoded.dead.to_pylist() == []
    assert same(decoded.rows, table)


@given(tables(types()))
def test_decoding_a_block_of_what_was_encoded_gives_the_same_rows(found: tuple[Stream, pa.Table]) -> None:
    stream, table = found
    many = pa.concat_tables([table] * 10).combine_chunks()
    decoded = Decoder(stream).decode(json_lines_of(many))
    assert decoded.dead.to_pylist() == []
    assert same(decoded.rows, many)


def test_more_lines_than_are_read_at_once_keep_their_numbers() -> None:
    numbers = Decoder(stream_of(Column("n", pa.int64())))
    block = b"".join(b"oops\n" if n in (70_000, 140_000) else b'{"n":%d}\n' % n for n in range(150_000))
    decoded = numbers.decode(block, where="n.jsonl")
    assert decoded.rows["n"].to_pylist() == [n for n in range(150_000) if n not in (70_000, 140_000)]
    assert decoded.dead["position"].to_pylist() == ["n.jsonl:70001", "n.jsonl:140001"]
    assert decoded.rows["n"].num_chunks == 1
