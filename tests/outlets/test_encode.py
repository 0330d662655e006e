"""Rows as JSON: every type, exactly, and valid whatever it holds."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headwater.outlets.encode import JsonEncoder

ROW = pa.struct(
    [
        ("text", pa.string()),
        ("count", pa.int64()),
        ("spent", pa.decimal128(38, 2)),
        ("ratio", pa.float64()),
        ("is_new", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("raw", pa.binary()),
        ("words", pa.list_(pa.string())),
        ("inner", pa.struct([("x", pa.int32())])),
        ("by_name", pa.map_(pa.string(), pa.float64())),
    ]
)


def encoded(*rows: dict[str, object] | None) -> list[bytes | None]:
    return JsonEncoder().encode(pa.array(rows, ROW))


def test_each_type_has_its_spelling() -> None:
    row = {
        "text": 'a "b" \\ ü',
        "count": 2**62,
        "spent": Decimal("12345678901234567890123456789012345.60"),
        "ratio": 0.1,
        "is_new": True,
        "day": date(2026, 1, 31),
        "at": datetime(2026, 1, 31, 12, tzinfo=UTC),
        "raw": b"\x00\xff",
        "words": ["x", None],
        "inner": {"x": 7},
        "by_name": [("k", float("inf"))],
    }
    (found,) = encoded(row)
    assert (
        found
        == (
            '{"text":"a \\"b\\" \\\\ ü","count":4611686018427387904,"spent":12345678901234567890123456789012345.60,'
            '"ratio":0.1,"is_new":true,"day":"2026-01-31","at":"2026-01-31T12:00:00.000000Z","raw":"AP8=",'
            '"words":["x",null],"inner":{"x":7},"by_name":{"k":"Infinity"}}'
        ).encode()
    )


def test_what_is_null_is_null_and_a_row_that_is_not_there_is_none() -> None:
    first, none, last = encoded({"ratio": float("nan")}, None, {"inner": {"x": None}})
    assert none is None
    assert first is not None and json.loads(first) == dict.fromkeys((field.name for field in ROW), None) | {
        "ratio": "NaN"
    }
    assert last is not None and json.loads(last)["inner"] == {"x": None}


@given(st.lists(st.none() | st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.floats(allow_nan=False))))
def test_whatever_a_text_or_a_number_is_it_can_be_read_back(rows: list[tuple[str, float] | None]) -> None:
    kind = pa.struct([("text", pa.string()), ("ratio", pa.float64())])
    array = pa.array([row and {"text": row[0], "ratio": row[1]} for row in rows], kind)
    for row, found in zip(rows, JsonEncoder().encode(array), strict=True):
        if row is None:
            assert found is None
        else:
            assert found is not None
            read = json.loads(found)
            assert (read["text"], float(read["ratio"])) == row
