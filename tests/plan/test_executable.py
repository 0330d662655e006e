"""What no executor can do is found when a project is checked, and never when a view first runs."""

from __future__ import annotations

import pytest

from headwater.findings import NotSupportedYet
from tests.plan.planning import planned

HOURS = "TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR)"
ARRIVED = "TUMBLE(TABLE orders, DESCRIPTOR(_arrived_at), INTERVAL '1' HOUR)"


@pytest.mark.parametrize(
    ("query", "what", "column"),
    [
        (
            "SELECT customer, country FROM customers UNION ALL SELECT customer, id FROM orders",
            'reads table "customers" beside others, and doesn\'t hold every row for ever',
            31,
        ),
        (
            f"SELECT o.id FROM {HOURS} AS o JOIN payments AS p ON p.order_id = o.id AND p.at BETWEEN o.at AND "
            "o.at + INTERVAL '1' HOUR",
            "joins rows in windows within a bound in time, which has no executor in this version",
            79,
        ),
        (
            f"SELECT at, window_end, count(*) AS n FROM {ARRIVED} GROUP BY at, window_end",
            "has both event time and arrival time in its windows and bounds, which has no executor in this version",
            None,
        ),
        (
            "SELECT id, window_end, sum(amount) OVER (PARTITION BY customer ORDER BY at RANGE BETWEEN "
            f"INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS spent FROM {ARRIVED}",
            "has both event time and arrival time in its windows and bounds, which has no executor in this version",
            None,
        ),
        (
            f"SELECT DISTINCT customer, at, window_end FROM {ARRIVED}",
            "has both event time and arrival time in its windows and bounds, which has no executor in this version",
            None,
        ),
        (
            "SELECT p.id, x FROM payments AS p LATERAL VIEW STACK(2, p.id, p.order_id) t AS x",
            'makes rows with "stack" of stream "payments", whose events come once',
            48,
        ),
    ],
)
def test_what_has_no_executor_is_refused_by_a_check(query: str, what: str, column: int | None) -> None:
    (error,) = planned(f"CREATE MATERIALIZED VIEW v AS\n{query}").errors
    assert isinstance(error, NotSupportedYet)
    assert error.summary == f'view "v" {what}'
    assert error.origin is not None and (column is None or (error.origin.line, error.origin.column) == (2, column))
    assert error.hint


def test_windows_of_another_view_are_told_apart_by_their_end() -> None:
    (error,) = planned("""
        CREATE MATERIALIZED VIEW days AS
        SELECT customer, window_start, window_end, count(*) AS n
        FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY, 'Europe/Berlin') GROUP BY ALL;
        CREATE MATERIALIZED VIEW v AS SELECT window_start, sum(n) AS n FROM days GROUP BY window_start;
    """).errors
    assert error.summary == (
        'view "v" tells windows of another view apart by "window_start", which has no executor in this version'
    )


def test_rows_of_sessions_are_read_by_others_if_something_says_how_long_they_can_change() -> None:
    text = """
        CREATE STREAM visits (visitor STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
        CREATE MATERIALIZED VIEW times {options} AS SELECT visitor, at, count(*) AS n
        FROM SESSION(TABLE visits PARTITION BY visitor, DESCRIPTOR(at), INTERVAL '5' MINUTE) GROUP BY visitor, at;
        CREATE MATERIALIZED VIEW v AS SELECT window_end, sum(n) AS n
        FROM TUMBLE(TABLE times, DESCRIPTOR(at), INTERVAL '1' HOUR) GROUP BY window_end;
    """
    (error,) = planned(text.format(options="")).errors
    assert error.summary == (
        'view "v" reads view "times", whose rows are those of sessions, which has no executor in this version'
    )
    assert not planned(text.format(options="WITH (horizon = '1 hour')")).errors
