"""CSV: a header and records, by the same rules for values as every other format."""

from __future__ import annotations

import io
from base64 import b64encode
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import ArgumentRefused
from headwater.intake import Decoded, Decoder, read_file
from headwater.intake.chunk import Format
from headwater.model import Column, Stream
from tests.intake.strategies import same, scalar_types, tables
from tests.intake.topics import stream_of

ITEMS = Decoder(stream_of(Column("name", pa.string()), Column("n", pa.int32()), Column("price", pa.decimal128(8, 2))))


def decode(decoder: Decoder, text: str | bytes, kind: Format = "csv", batch_rows: int = 1000) -> Decoded:
    data = text.encode() if isinstance(text, str) else text
    parts = [
        decoder.decode(chunk, source="s", where="i.csv") for chunk in read_file(io.BytesIO(data), kind, batch_rows)
    ]
    return Decoded(pa.concat_tables([part.rows for part in parts]), pa.concat_tables([part.dead for part in parts]))


def test_fields_are_found_by_the_header_and_others_are_ignored() -> None:
    decoded = decode(ITEMS, "price,colour,name\n1.50,red,apple\n")
    assert decoded.rows.to_pylist() == [{"name": "apple", "n": None, "price": Decimal("1.50")}]


def test_an_empty_field_is_null_and_an_empty_field_in_quotes_is_an_empty_string() -> None:
    assert decode(ITEMS, 'name,n\n,1\n"",2\n').rows["name"].to_pylist() == [None, ""]


def test_quotes_may_hold_delimiters_quotes_and_newlines() -> None:
    decoded = decode(ITEMS, 'name,n\r\n"a,b",1\r\n"say ""hi""",2\r\n"two\nlines",3\r\nlast,4\r\n')
    assert decoded.rows["name"].to_pylist() == ["a,b", 'say "hi"', "two\nlines", "last"]


def test_tabs_separate_the_fields_of_a_tsv_file() -> None:
    assert decode(ITEMS, "name\tn\na,b\t1\n", "tsv").rows["name"].to_pylist() == ["a,b"]


@pytest.mark.parametrize(
    ("record", "error", "reason"),
    [
        ("a,1", "unreadable-event", "the record has 2 fields, and the header has 3"),
        ("a,1,2,3", "unreadable-event", "the record has 4 fields, and the header has 3"),
        ("a,one,2", "wrong-type", 'column "n" is "one", which doesn\'t fit INT'),
        ("a,1.5,2", "wrong-type", 'column "n" is "1.5", which doesn\'t fit INT'),
        ("a,0x1F,2", "wrong-type", 'column "n" is "0x1F", which doesn\'t fit INT'),
        ("a,1,2.345", "wrong-type", 'column "price" is "2.345", which doesn\'t fit DECIMAL(8, 2)'),
        ("a,1,NaN", "wrong-type", 'column "price" is "NaN", which doesn\'t fit DECIMAL(8, 2)'),
    ],
)
@pytest.mark.parametrize("neighbours", [0, 600])
def test_a_poison_record_costs_itself_only(record: str, error: str, reason: str, neighbours: int) -> None:
    good = "b,2,3\n" * neighbours
    decoded = decode(ITEMS, f"name,n,price\n{good}{record}\n{good}")
    assert decoded.rows.num_rows == 2 * neighbours
    assert decoded.dead.to_pylist() == [
        {
            "bytes": record.encode(), "reason": reason, "error": error, "source": "s",
            "position": f"i.csv:{neighbours + 2}", "key": None, "sent_at": None, "headers": None,
        }
    ]  # fmt: skip


def test_invalid_utf8_is_a_letter() -> None:
    decoded = decode(ITEMS, b"name,n\n\xff,1\nb,2\n")
    assert decoded.rows["name"].to_pylist() == ["b"]
    assert decoded.dead["reason"].to_pylist() == ["the line is not UTF-8"]


def test_a_stray_quote_leaves_the_other_lines_alone() -> None:
    decoded = decode(ITEMS, 'name,n\n5" pipe,1\nbolt,2\n6" pipe,3\nnut,4\n')
    assert decoded.rows["name"].to_pylist() == ['5" pipe', "bolt", '6" pipe', "nut"]


def test_positions_count_lines_also_after_records_of_several_lines() -> None:
    decoded = decode(ITEMS, 'name,n\n"a\nb\nc",1\n\nx,y\n')
    assert decoded.dead["position"].to_pylist() == ["i.csv:6"]


def test_a_file_that_is_plainly_another_is_told_so() -> None:
    decoder = Decoder(stream_of(Column("id", pa.string(), nullable=False), Column("n", pa.int32())))
    with pytest.raises(ArgumentRefused) as caught:
        decode(decoder, "city,country\nBerlin,DE\n")
    assert caught.value.summary == 'the header of "i.csv" has no column "id"'
    assert caught.value.detail == 'The header is city, country; "events" has id, n.'


def test_a_header_that_names_a_column_twice_is_refused() -> None:
    with pytest.raises(ArgumentRefused, match='names twice the column "n"'):
        decode(ITEMS, "n,n\n1,2\n")


def test_a_nested_type_is_json_in_its_field() -> None:
    decoder = Decoder(stream_of(Column("tags", pa.list_(pa.string())), Column("n", pa.int32())))
    decoded = decode(decoder, 'tags,n\n"[""a"",""b""]",1\noops,2\n')
    assert decoded.rows["tags"].to_pylist() == [["a", "b"]]
    assert decoded.dead["reason"].to_pylist() == ['column "tags" is "oops", which doesn\'t fit ARRAY<STRING>']


def spell(value: Any) -> str:
    if value is None:
        return ""
    text = b64encode(value).decode() if isinstance(value, bytes) else str(value)
    return '"' + text.replace('"', '""') + '"'


PRINTABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), max_size=12)


@given(tables(scalar_types(), PRINTABLE), st.integers(1, 7))
def test_decoding_what_was_written_gives_the_same_rows(found: tuple[Stream, pa.Table], batch_rows: int) -> None:
    stream, table = found
    lines = [",".join(spell(name) for name in table.column_names)]
    lines += [",".join(spell(value) for value in row.values()) for row in table.to_pylist()]
    kept = [at for at, line in enumerate(lines[1:]) if line.strip()]  # one NULL in one column is a blank line
    decoded = decode(Decoder(stream), "\n".join(lines) + "\n", batch_rows=batch_rows)
    assert decoded.dead.to_pylist() == []
    assert same(decoded.rows, table.take(pa.array(kept, pa.int64())))


RECORDS = ["a,1", '"a\nb",2', '"', 'x,"', ",", '""', "a,b", '1"2,3', "\r", "a\rb,1", "é,4"]


@given(st.lists(st.sampled_from(RECORDS), max_size=9), st.integers(1, 4))
def test_the_size_of_chunks_changes_nothing(records: list[str], batch_rows: int) -> None:
    text = "name,n\n" + "\n".join(records)
    small, large = decode(ITEMS, text, batch_rows=batch_rows), decode(ITEMS, text)
    assert small.rows.to_pylist() == large.rows.to_pylist()
    assert small.dead.to_pylist() == large.dead.to_pylist()


@given(st.binary(max_size=60), st.integers(1, 4))
def test_arbitrary_bytes_never_raise(data: bytes, batch_rows: int) -> None:
    decoded = decode(ITEMS, b"name,n\n" + data, batch_rows=batch_rows)
    decoded.rows.validate(full=True)
    assert decoded.rows.column_names == ["name", "n", "price"]
    assert len(b"".join(decoded.dead["bytes"].to_pylist())) <= len(data)
