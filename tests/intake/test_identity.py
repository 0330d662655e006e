"""Ids: different rows have different ids, equal rows have equal ones."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.intake import Decoder
from headwater.intake.identity import joined
from headwater.json_text import json_lines_of
from headwater.model import CONTENT, INSTANT, Column, Stream
from tests.intake.strategies import tables, types, values
from tests.intake.topics import stream_of

texts = st.text("ab|\\0", max_size=4)
rows = st.lists(st.tuples(texts | st.none(), texts | st.none(), st.integers(0, 3) | st.none()), min_size=1, max_size=8)


@given(rows)
@example([("a|b", "c", 0), ("a", "b|c", 0)])
@example([("a\\", "b", 0), ("a", "\\b", 0)])
@example([("\\0", "x", 0), (None, "x", 0), ("", "x", 0)])
def test_different_values_never_join_to_the_same_text(found: list[tuple[str | None, str | None, int | None]]) -> None:
    columns = [pa.array(list(column), kind) for column, kind in
               zip(zip(*found, strict=True), (pa.string(), pa.string(), pa.int64()), strict=True)]  # fmt: skip
    assert len(set(joined(columns).to_pylist())) == len(set(found))


@given(types(), st.data())
def test_different_values_of_any_type_have_different_texts(kind: pa.DataType, data: st.DataObject) -> None:
    first, second = (data.draw(values(kind)) for _ in range(2))
    array = pa.array([first, second], kind)
    one, other = joined([array]).to_pylist()
    spelled = [repr(_without_order(value)) for value in array.to_pylist()]
    assert (one == other) == (spelled[0] == spelled[1])


def _without_order(value: object) -> object:
    """Maps (lists of pairs) are equal whatever the order of their entries."""
    if isinstance(value, dict):
        return {name: _without_order(item) for name, item in value.items()}
    if isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
        return sorted((repr(key), repr(_without_order(item))) for key, item in value)
    return [_without_order(item) for item in value] if isinstance(value, list) else value


@given(tables(types()))
def test_the_id_of_content_is_the_same_from_arrow_json_and_python(found: tuple[Stream, pa.Table]) -> None:
    stream, table = found
    decoder = Decoder(Stream(name="s", columns=stream.columns, unique=CONTENT))
    expected = decoder.decode(table).rows["_id"].to_pylist()
    assert decoder.decode(json_lines_of(table)).rows["_id"].to_pylist() == expected
    assert decoder.decode(table.to_pylist()).rows["_id"].to_pylist() == expected
    assert [decoder.decode(table.slice(at, 1)).rows["_id"][0].as_py() for at in range(len(table))] == expected


def test_the_ids_of_content_are_these() -> None:
    """A change here would make every event that is delivered again a new one."""
    columns = (Column("a", pa.string()), Column("d", pa.decimal128(9, 2)), Column("at", INSTANT))
    row = {"a": "x|y", "d": Decimal("1.5"), "at": datetime(2024, 1, 1, tzinfo=UTC)}
    decoded = Decoder(Stream(name="s", columns=columns, unique=CONTENT)).decode([row, {}])
    assert decoded.rows["_id"].to_pylist() == ["300374eb88accbb1a835b97c5b06493d", "1f287f0ee48e8620d65afd84d8c890eb"]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.string(), "a|b", "a|b"),
        (pa.int64(), 42, "42"),
        (pa.decimal128(9, 2), Decimal("1.5"), "1.50"),
        (INSTANT, datetime(2024, 1, 1, tzinfo=UTC), "2024-01-01 00:00:00.000000Z"),
        (pa.binary(), b"\x00\xff", "00ff"),
    ],
)
def test_one_column_gives_its_text(kind: pa.DataType, value: object, text: str) -> None:
    decoder = Decoder(stream_of(Column("a", kind), unique=("a",)))
    assert decoder.decode([{"a": value}]).rows["_id"].to_pylist() == [text]


def test_a_stream_without_unique_columns_has_no_ids() -> None:
    assert Decoder(stream_of(Column("a", pa.string()))).schema.names == ["a"]
