"""Closings: when a run must tick for windows over the time of arrival."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from headwater.plan.closing import Closing, closings
from tests.plan.planning import planned

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("window", "options", "expected"),
    [
        ("TUMBLE(TABLE orders, DESCRIPTOR(_arrived_at), INTERVAL '1' MINUTE)", "", (MINUTE, 0 * MINUTE, MINUTE)),
        (
            "HOP(TABLE orders, DESCRIPTOR(_arrived_at), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)",
            "WITH (grace = '10 seconds')",
            (MINUTE, timedelta(seconds=10), HOUR + timedelta(seconds=10)),
        ),
        (
            "CUMULATE(TABLE orders, DESCRIPTOR(_arrived_at), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)",
            "",
            (MINUTE, 0 * MINUTE, HOUR),
        ),
    ],
)
def test_windows_over_arrival_close_at_their_ends(
    window: str, options: str, expected: tuple[timedelta, timedelta, timedelta]
) -> None:
    plan = planned(
        f"CREATE MATERIALIZED VIEW v {options} AS "
        f"SELECT window_end, count(*) AS n FROM {window} GROUP BY window_start, window_end"
    ).checked()
    assert closings(plan) == {"orders": (Closing(*expected),)}


def test_windows_over_event_time_need_no_clock() -> None:
    query = "SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY 1"
    assert closings(planned(f"CREATE MATERIALIZED VIEW v AS {query}").checked()) == {}


def test_a_closing_is_due_until_the_last_window_with_a_row_has_closed() -> None:
    hop = Closing(MINUTE, timedelta(seconds=5), 3 * MINUTE + timedelta(seconds=5))
    arrived_at = NOON + timedelta(seconds=30)
    due, at = [], arrived_at
    while (found := hop.due_after(at, arrived_at)) is not None:
        due.append((found - NOON).total_seconds())
        at = found
    assert due == [65, 125, 185]
