"""Which columns may differ between executions, and by how much."""

from __future__ import annotations

import pytest

from headwater.operators.tolerance import Tolerance
from tests.plan.planning import view

WINDOW = "FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)"


def tolerated(values: str) -> dict[str, float | None]:
    """The tolerances of one view, as shares in percent."""
    found = view(f"SELECT window_end, {values} {WINDOW} GROUP BY window_end").root.tolerances
    return {name: round(100 * one.share, 2) if one.share is not None else None for name, one in found.items()}


@pytest.mark.parametrize(
    ("value", "share"),
    [
        ("hll_sketch_estimate(hll_sketch_agg(customer))", 9.75),
        ("hll_sketch_estimate(hll_sketch_agg(customer, 16))", 2.44),
        ("hll_sketch_agg(customer, 8)", 39.0),
        ("kll_sketch_get_quantile_double(kll_sketch_agg_double(weight), 0.5)", None),
        ("approx_percentile(weight, 0.5)", None),
        ("approx_top_k(customer, 3)", None),
    ],
)
def test_what_derives_from_a_sketch_has_its_tolerance(value: str, share: float | None) -> None:
    assert tolerated(f"{value} AS x, count(*) AS n") == {"x": share}


def test_exact_aggregates_and_those_that_differ_in_the_last_digits_have_none() -> None:
    exact = "approx_count_distinct(customer) AS a, theta_sketch_agg(customer) AS b, percentile(weight, 0.5) AS c"
    assert tolerated(f"{exact}, sum(weight) AS d, stddev(weight) AS e, max(amount) AS f") == {}


def test_the_widest_of_several_counts() -> None:
    estimates = [f"hll_sketch_estimate(hll_sketch_agg(customer, {size}))" for size in (10, 12)]
    assert tolerated(f"{' + '.join(estimates)} AS x") == {"x": 19.5}


def test_a_tolerance_goes_through_windows_over_windows() -> None:
    found = view(f"""
        WITH parts AS (SELECT window_time, hll_sketch_agg(customer) AS part {WINDOW} GROUP BY window_time)
        SELECT window_end, hll_sketch_estimate(hll_union_agg(part)) AS x, count(*) AS n
        FROM TUMBLE(TABLE parts, DESCRIPTOR(window_time), INTERVAL '1' HOUR) GROUP BY window_end""")
    assert set(found.root.tolerances) == {"x"}


def test_a_tolerance_goes_through_ranks_and_unions() -> None:
    grouped = f"SELECT window_end, hll_sketch_estimate(hll_sketch_agg(customer)) AS x {WINDOW} GROUP BY window_end"
    ranked = f"""SELECT window_end, x, place FROM (SELECT *, rank() OVER (PARTITION BY window_end ORDER BY x) AS place
        FROM ({grouped})) WHERE place <= 3"""
    assert set(view(ranked).root.tolerances) == {"x"}
    both = f"{grouped} UNION ALL SELECT window_end, count(*) AS x {WINDOW} GROUP BY window_end"
    assert view(f"SELECT * FROM ({both})", "WITH (key = 'window_end')").root.tolerances["x"] != Tolerance(None)
