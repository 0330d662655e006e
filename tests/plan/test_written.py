"""Expressions as their author has them, from what a plan computes them as."""

from __future__ import annotations

import pytest

from headwater.operators.written import as_written
from tests.plan.planning import view

WINDOW = "TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
IN_HOURS = "b.at BETWEEN a.at AND a.at + INTERVAL '1' HOUR"


@pytest.mark.parametrize(
    ("query", "computed", "written"),
    [
        ("SELECT id, amount / weight AS x FROM orders", "amount / weight", "amount / weight"),
        (
            f"SELECT window_end, sum(weight) / (count(*) - 1) AS x FROM {WINDOW} GROUP BY window_end",
            "sum / (count - 1)",
            "SUM(weight) / (COUNT(*) - 1)",
        ),
        (
            f"SELECT window_end, sum(weight) / sum(amount) AS x FROM {WINDOW} GROUP BY window_end",
            "sum / sum_2",
            "SUM(weight) / SUM(amount)",
        ),
        (
            f"SELECT window_end, sum(weight) AS x FROM {WINDOW} GROUP BY window_end HAVING sum(weight) / count(*) > 1",
            "x / count",
            "x / COUNT(*)",
        ),
        (
            f"SELECT id, 1 / row_number() OVER (PARTITION BY window_end ORDER BY at) AS x FROM {WINDOW}",
            "1 / row_number",
            "1 / ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY at)",
        ),
        (
            f"SELECT a.id, a.weight / b.weight AS x FROM orders a JOIN orders b ON a.id = b.id AND {IN_HOURS}",
            "weight / b_weight",
            "weight / b.weight",
        ),
    ],
)
def test_names_of_the_plan_are_what_the_query_has(query: str, computed: str, written: str) -> None:
    assert as_written(computed, view(query).stages) == written


def test_a_call_of_the_same_name_stays_as_it_is() -> None:
    stages = view(f"SELECT window_end, sum(weight) / 2 AS x FROM {WINDOW} GROUP BY window_end").stages
    assert as_written("sum(a.sum) / `sum`", stages) == "sum(a.sum) / `sum`"


def test_a_name_that_stands_for_two_calls_stays() -> None:
    inner = f"SELECT id, window_end, sum(weight) + 1 AS n FROM {WINDOW} GROUP BY id, window_end"
    stages = view(f"SELECT window_end, sum(n) + 1 AS m FROM ({inner}) GROUP BY window_end").stages
    assert as_written("sum + 1", stages) == "sum + 1"
