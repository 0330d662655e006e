"""What a horizon makes of window functions over partitions without an end, and what it can't give a meaning."""

from __future__ import annotations

import pytest

from headwater import model
from headwater.findings import ApproximateValue, QueryRefused, UnboundedState
from tests.plan.planning import declared, planned, view

TUMBLE = "TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR)"
CUMULATE = "CUMULATE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR, INTERVAL '1' DAY)"


@pytest.mark.parametrize(
    "call",
    [
        "sum(amount) OVER (PARTITION BY customer ORDER BY at)",
        "sum(amount) OVER (PARTITION BY customer ORDER BY at ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)",
        "avg(amount) OVER (PARTITION BY customer ORDER BY at, id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING)",
        "last_value(id) OVER (PARTITION BY customer ORDER BY at)",
        "row_number() OVER (PARTITION BY customer ORDER BY at, id)",
        "rank() OVER (ORDER BY at)",
        "lag(id) OVER (PARTITION BY customer ORDER BY at DESC)",
    ],
)
def test_an_endless_partition_needs_a_horizon_and_no_more(call: str) -> None:
    query = f"SELECT id, {call} AS found FROM orders"
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v AS {query}").findings
    assert type(finding) is UnboundedState
    assert "WITH (horizon = '1 hour')" in (finding.hint or "")
    assert view(query, "WITH (horizon = '1 hour')").execution.kind == "settle"


@pytest.mark.parametrize(
    ("call", "detail", "hint"),
    [
        ("ntile(4) OVER (PARTITION BY customer ORDER BY at)",
         "Its value depends on every row of the partition.", "Partition by a window."),
        ("rank() OVER (PARTITION BY customer ORDER BY amount)",
         "Which rows are within the horizon is decided by event time, and it doesn't order these.",
         "Order by the event time first, or partition by a window."),
        ("count(*) OVER (PARTITION BY customer)",
         "Which rows are within the horizon is decided by event time, and it doesn't order these.",
         "Order by the event time first, or partition by a window."),
        ("lag(id) OVER (ORDER BY _arrived_at)",
         "Which rows are within the horizon is decided by event time, and it doesn't order these.",
         "Order by the event time first, or partition by a window."),
        ("sum(amount) OVER (PARTITION BY customer ORDER BY at, id)",
         "A frame in time is ordered by one column.", "Order by the event time alone, or write a ROWS frame."),
        ("corr(weight, weight) OVER (PARTITION BY customer ORDER BY at ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
         "It can't be cut to the rows within the horizon.",
         "Write a frame in time (RANGE BETWEEN INTERVAL … PRECEDING AND CURRENT ROW), or partition by a window."),
    ],
)  # fmt: skip
def test_what_a_horizon_gives_no_meaning_is_refused(call: str, detail: str, hint: str) -> None:
    found = planned(f"CREATE MATERIALIZED VIEW v WITH (horizon = '1 hour') AS SELECT id, {call} AS x FROM orders")
    (finding,) = found.errors
    assert (type(finding), finding.detail, finding.hint) == (UnboundedState, detail, hint)


def test_the_start_of_a_growing_window_ends_no_partition() -> None:
    query = f"SELECT id, count(*) OVER (PARTITION BY {{}} ORDER BY at) AS n FROM {CUMULATE}"
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v AS {query.format('window_start')}").findings
    assert type(finding) is UnboundedState
    assert view(query.format("window_start, window_end")).execution.kind == "settle"


def test_what_lies_below_is_reached_beyond_the_stated_horizon() -> None:
    query = f"""
        SELECT customer, window_end, count(*) AS n, lag(count(*)) OVER (PARTITION BY customer ORDER BY window_end) AS m
        FROM {TUMBLE} GROUP BY customer, window_end
    """
    assert view(query, "WITH (horizon = '1 day')").horizon == model.parse_duration("1 day 1 hour")


def test_groups_of_what_is_retained_reach_no_further_back() -> None:
    inner = "SELECT customer, count(*) AS n FROM orders GROUP BY customer"
    for query in (inner, f"{inner} ORDER BY n LIMIT 3", f"SELECT n, count(*) AS c FROM ({inner}) GROUP BY n"):
        assert view(query, "WITH (retention = '7 days')").horizon == model.parse_duration("7 days")


def test_a_view_without_keys_is_found_by_all_of_its_columns() -> None:
    found = view("SELECT count(*) AS n, max(at) AS last_at FROM orders", "WITH (retention = '7 days')")
    assert found.identity == ("n", "last_at")
    assert view("SELECT id FROM orders").identity == ()
    assert view("SELECT DISTINCT id, at FROM orders").identity == ("id", "at")


@pytest.mark.parametrize(
    "frame",
    [
        "RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND INTERVAL '3' SECOND PRECEDING",
        "RANGE BETWEEN CURRENT ROW AND INTERVAL '3' SECOND PRECEDING",
        "ROWS BETWEEN 2 FOLLOWING AND 1 FOLLOWING",
    ],
)
def test_a_frame_that_no_row_can_be_in_is_refused(frame: str) -> None:
    query = f"SELECT id, sum(amount) OVER (PARTITION BY window_end ORDER BY at {frame}) AS x FROM {TUMBLE}"
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v AS {query}").findings
    assert type(finding) is QueryRefused
    assert finding.summary == 'view "v" has a frame that ends before it begins'


def test_a_frame_that_spark_does_not_have_is_refused() -> None:
    frame = "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW"
    query = f"SELECT id, sum(amount) OVER (PARTITION BY window_end ORDER BY at {frame}) AS x FROM {TUMBLE}"
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v AS {query}").findings
    assert type(finding) is QueryRefused
    assert finding.summary == 'view "v" has a frame with GROUPS, which Spark SQL doesn\'t have'


def test_a_sum_of_floating_point_numbers_around_a_row_is_marked() -> None:
    query = f"SELECT id, sum(weight) OVER (PARTITION BY window_end ORDER BY at) AS x FROM {TUMBLE}"
    found = planned(f"CREATE MATERIALIZED VIEW v AS {query}")
    assert [type(finding) for finding in found.findings] == [ApproximateValue]
    assert not found.errors


@pytest.mark.parametrize("horizon", ["-1 hour", "soon", ""])
def test_a_horizon_is_a_duration_that_is_not_negative(horizon: str) -> None:
    text = f"CREATE MATERIALIZED VIEW v WITH (horizon = '{horizon}') AS SELECT id FROM orders"
    (finding,) = declared(text)[1]
    assert "horizon" in finding.summary
    assert finding.hint
