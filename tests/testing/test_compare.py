"""Comparing rows: exact, without regard to order, and with a difference that can be read."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from headwater.errors import ArgumentRefused
from headwater.testing import compare

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
HELD = pa.table(
    {
        "shop": pa.array(["a", "b", None, "b"]),
        "total": pa.array([Decimal("9.00"), Decimal("1.50"), None, Decimal("1.50")], pa.decimal128(20, 2)),
        "at": pa.array([NOON] * 4, pa.timestamp("us", "UTC")),
        "mean": pa.array([0.1 + 0.2, 1.0, 2.0, 1.0]),
    }
)
ROWS = [
    {"shop": None, "total": None, "at": "2026-01-05T12:00:00Z", "mean": 2},
    {"shop": "b", "total": "1.5", "at": NOON, "mean": 1.0},
    {"shop": "a", "total": 9, "at": "2026-01-05T13:00:00+01:00", "mean": 0.3},
    {"shop": "b", "total": Decimal("1.50"), "at": NOON, "mean": 1.0},
]


def test_rows_may_be_spelled_as_an_append_takes_them_and_in_any_order() -> None:
    difference = compare(HELD, ROWS)
    assert not difference
    assert str(difference) == "no difference"


def test_a_difference_has_every_row_as_often_as_it_differs() -> None:
    difference = compare(HELD, [*ROWS[:2], {**ROWS[2], "total": "9.01"}])
    assert difference
    assert [row["total"] for row in difference.missing] == [Decimal("9.01")]
    assert [(row["shop"], row["total"]) for row in difference.extra] == [("a", Decimal("9.00")), ("b", Decimal("1.50"))]
    assert str(difference).splitlines() == [
        "1 row missing, 2 rows extra",
        "- shop='a'  total=Decimal('9.01')  at=2026-01-05T12:00:00+00:00  mean=0.3",
        "+ shop='a'  total=Decimal('9.00')  at=2026-01-05T12:00:00+00:00  mean=0.30000000000000004",
        "+ shop='b'  total=Decimal('1.50')  at=2026-01-05T12:00:00+00:00  mean=1.0",
    ]


def test_a_microsecond_and_a_cent_are_a_difference_and_the_tenth_digit_of_a_double_is_none() -> None:
    shifted = {**ROWS[2], "at": "2026-01-05T12:00:00.000001Z"}
    assert len(compare(HELD, [*ROWS[:2], shifted, ROWS[3]]).missing) == 1
    assert not compare(HELD, [*ROWS[:2], {**ROWS[2], "mean": 0.30000000001}, ROWS[3]])
    assert compare(HELD, [*ROWS[:2], {**ROWS[2], "mean": 0.300001}, ROWS[3]])


def test_many_rows_are_counted_and_some_are_shown() -> None:
    lines = str(compare(pa.table({"n": list(range(50))}), [])).splitlines()
    assert (lines[0], len(lines), lines[-1]) == ("0 rows missing, 50 rows extra", 22, "+ … and 30 rows more")


def test_other_columns_are_a_difference() -> None:
    difference = compare(pa.table({"n": [1]}), [{"m": 1}])
    assert str(difference) == "the columns are n; expected were m"


def test_other_types_are_a_difference() -> None:
    expected = pa.table({"n": pa.array([1], pa.int32())})
    difference = compare(pa.table({"n": [1]}), expected)
    assert difference
    assert str(difference) == "the columns are n int64; expected were n int32"


def test_an_expected_value_that_does_not_fit_its_column_is_refused() -> None:
    with pytest.raises(ArgumentRefused, match='column "total"'):
        compare(HELD, [{**ROWS[1], "total": "1.501"}])


def test_no_rows_are_expected_of_an_empty_table() -> None:
    assert not compare(HELD.slice(0, 0), [])
