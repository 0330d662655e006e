"""Which aggregates over overlapping windows are computed by panes."""

from __future__ import annotations

import pytest

from headwater.operators import Aggregate, Assign, Panes
from headwater.operators.aggregate.panes import by_panes, pane_aggregate
from headwater.plan import describe_view
from tests.plan.planning import view

HOP = "HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)"
FEW = "HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '2' SECOND, INTERVAL '8' SECOND)"
DAY = "CUMULATE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '1' DAY)"

FINAL, SETTLED = "WITH (emit = 'final')", "WITH (execution = 'settle')"


def grouped(values: str, source: str = HOP, keys: str = "customer, window_start, window_end", more: str = "") -> str:
    return f"SELECT {keys}, {values} FROM {source} {more} GROUP BY {keys}"


def by_panes_of(query: str) -> Aggregate | None:
    return pane_aggregate(view(query).root)


@pytest.mark.parametrize(
    "values",
    [
        "count(*) AS n, count(customer) AS c, count_if(weight > 1) AS i, sum(amount) AS s, sum(weight) AS w",
        "min(amount) AS a, max(amount) AS b, bool_or(weight > 1) AS c, bit_xor(1) AS d",
        "avg(amount) AS a, avg(weight) AS b, avg(length(customer)) AS c",
        "stddev(weight) AS a, variance(weight) AS b, var_pop(amount) AS c, corr(amount, weight) AS d",
        "first(id) AS a, last(id) AS b, min_by(id, amount) AS c, max_by(id, weight) AS d",
        "hll_sketch_estimate(hll_sketch_agg(id)) AS a, theta_sketch_estimate(theta_sketch_agg(id, 10)) AS b",
        "sum(amount) FILTER (WHERE weight > 1) / count(*) AS mean",
    ],
)
def test_aggregates_that_can_be_merged_are_computed_by_panes(values: str) -> None:
    planned = view(grouped(values), FINAL)
    assert pane_aggregate(planned.root) is not None
    assert planned.execution.kind == "settle"


@pytest.mark.parametrize(
    "values",
    [
        "count(DISTINCT customer) AS n",
        "collect_list(id) AS ids",
        "median(weight) AS m",
        "approx_count_distinct(id) AS n",
        "avg(CAST(amount AS DECIMAL(20, 2))) AS m",
        "count(*) AS n, percentile(weight, 0.9) AS p",
    ],
)
def test_one_aggregate_that_can_not_be_merged_keeps_the_rows_of_windows(values: str) -> None:
    planned = view(grouped(values), FINAL)
    assert by_panes_of(grouped(values)) is None
    assert planned.execution.kind == "live"


def test_windows_that_overlap_a_few_times_are_kept_live() -> None:
    assert view(grouped("count(*) AS n", FEW), FINAL).execution.kind == "live"


def test_windows_that_show_their_changes_are_kept_live_unless_their_author_chooses_otherwise() -> None:
    assert view(grouped("count(*) AS n")).execution.kind == "live"
    assert "panes      1 minute, 60 to a window" in describe_view(view(grouped("count(*) AS n"), SETTLED))


def test_a_settled_view_of_windows_that_overlap_a_few_times_uses_panes_all_the_same() -> None:
    (stage,) = (found for found in view(grouped("count(*) AS n", FEW)).stages if isinstance(found, Aggregate))
    assert by_panes(stage) is not None


def test_cumulating_windows_have_panes_of_a_step() -> None:
    planned = view(grouped("sum(amount) AS total", DAY), FINAL)
    assert planned.execution.why == (
        "each row is in up to 1440 windows: rows are aggregated once per 1 minute and windows combined of that"
    )


def test_the_plan_shows_how_long_a_pane_is() -> None:
    query = f"SELECT customer, window_end, count(*) AS n FROM {FEW} GROUP BY customer, window_end"
    assert "  panes      2 seconds, 4 to a window" in describe_view(view(query, SETTLED))
    assert "panes" not in describe_view(view(query))


def test_the_author_may_choose_to_have_windows_kept_one_by_one() -> None:
    assert view(grouped("count(*) AS n"), "WITH (emit = 'final', execution = 'live')").execution.kind == "live"


def test_a_filter_of_rows_stays_below_the_panes() -> None:
    stage = by_panes_of(grouped("count(*) AS n", more="WHERE amount > 3"))
    assert stage is not None
    assert [type(found) for found in stage.walk() if isinstance(found, Assign)] == [Panes]


@pytest.mark.parametrize(
    "query",
    [
        grouped("count(*) AS n", more="WHERE window_end > at + INTERVAL '1' MINUTE"),
        grouped("max(unix_micros(window_end) - unix_micros(at)) AS longest"),
        f"SELECT date(window_end) AS day, window_end, count(*) AS n FROM {HOP} GROUP BY date(window_end), window_end",
    ],
)
def test_what_looks_at_the_windows_of_a_row_has_to_have_them(query: str) -> None:
    assert by_panes_of(query) is None


def test_rows_of_a_join_are_not_taken_by_panes() -> None:
    joined = (
        "(SELECT o.customer, o.at FROM orders o JOIN payments p ON o.id = p.order_id"
        " AND p.at BETWEEN o.at AND o.at + INTERVAL '1' MINUTE)"
    )
    source = f"HOP(TABLE {joined}, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)"
    assert by_panes_of(grouped("count(*) AS n", source)) is None
