"""The physical plan of a view: what is decided once, and carried out."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import timedelta

import pytest

from headwater.plan.data import view_as_dict
from headwater.plan.physical.description import facts
from headwater.plan.physical.pace import Pace
from tests.plan.planning import view
from tests.plan.test_python import check, python_view

NONE, SECOND, MINUTE, HOUR = timedelta(), timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
MILLISECOND = timedelta(milliseconds=1)
GRACE = "WITH (grace = '1 minute')"
TUMBLE = "TUMBLE(TABLE orders, DESCRIPTOR({time}), INTERVAL '1' HOUR)"
SESSION = "SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '5' MINUTE)"
JOINED = "orders o JOIN payments p ON p.order_id = o.id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR"


@pytest.mark.parametrize(
    ("query", "pace"),
    [
        ("SELECT id FROM orders", Pace("_watermark", MINUTE, MINUTE)),
        (
            f"SELECT window_end, count(*) AS n FROM {TUMBLE.format(time='at')} GROUP BY window_end",
            Pace("_watermark", MINUTE, MINUTE),
        ),
        (
            f"SELECT window_end, count(*) AS n FROM {TUMBLE.format(time='_arrived_at')} GROUP BY window_end",
            Pace("_arrived_at", MINUTE, MINUTE),
        ),
        ("SELECT DISTINCT customer, _arrived_at AS came_at FROM orders", Pace("_arrived_at", MINUTE, MINUTE)),
        (
            f"SELECT customer, window_end, count(*) AS n FROM {SESSION} GROUP BY customer, window_end",
            Pace("_watermark", 6 * MINUTE, 6 * MINUTE),
        ),
        (f"SELECT o.id, p.paid FROM {JOINED}", Pace("_watermark", MINUTE, MINUTE)),
        (
            f"SELECT o.at, count(*) AS n FROM {JOINED} GROUP BY o.at",
            Pace("_watermark", MINUTE, MINUTE + HOUR + MILLISECOND),
        ),
    ],
    ids=["rows", "windows", "over arrival", "keys of arrival", "sessions", "pairs", "groups of pairs"],
)
def test_a_view_runs_by_one_time_and_waits_for_what_lags_behind(query: str, pace: Pace) -> None:
    assert view(query, GRACE).physical.pace == pace


@pytest.mark.parametrize(
    ("gap", "lag"), [(None, HOUR), (NONE, NONE), (5 * MINUTE, 5 * MINUTE)], ids=["undeclared", "none", "declared"]
)
@pytest.mark.parametrize("source", ["def totals(orders):\n    return orders", "def totals(orders):\n    'a session'"])
def test_those_that_read_a_python_view_wait_for_the_gap_that_it_declares_whatever_its_text_says(
    gap: timedelta | None, lag: timedelta, source: str
) -> None:
    published = check(python_view(gap=gap, source=source)).checked().view("totals").physical.publishes
    assert published is not None
    assert published.lag == lag + MILLISECOND


def test_another_lag_is_another_plan() -> None:
    plans = {check(python_view(gap=gap)).checked().view("totals").fingerprint for gap in (None, NONE, MINUTE)}
    assert len(plans) == 3


HOPS = "HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)"


@pytest.mark.parametrize(
    ("query", "options", "made"),
    [
        (f"SELECT customer, window_end, count(*) AS n FROM {SESSION} GROUP BY customer, window_end", "", "once"),
        ("SELECT id FROM orders", "", "once"),
        (
            f"SELECT customer, window_end, count(*) AS n FROM {HOPS} GROUP BY customer, window_end",
            "WITH (emit = 'final')",
            "once",
        ),
        (
            "SELECT customer, count(*) AS n FROM orders GROUP BY customer",
            "WITH (retention = '1 day')",
            "once",
        ),
    ],
    ids=["sessions", "rows", "panes", "totals"],
)
def test_explain_says_how_the_plan_of_a_small_step_is_made(query: str, options: str, made: str) -> None:
    told = dict(facts(view(query, options).physical))
    assert told["few rows"] == f"in memory, by a plan that is made {made}; many from files, by all cores"


def test_explain_says_why_spark_has_the_steps_of_a_live_view() -> None:
    found = view(f"SELECT customer, window_end, median(amount) AS m FROM {SESSION} GROUP BY customer, window_end")
    kept = "Spark's streaming keeps its aggregate; it has no small steps, because median can't be made of parts"
    assert str(found.execution.why) == f"{kept} that are kept"
    assert "few rows" not in dict(facts(found.physical))


BESIDE = "FROM orders o LEFT JOIN payments p ON o.id = p.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR"


@pytest.mark.parametrize(
    ("query", "options", "why"),
    [
        (f"SELECT o.id {BESIDE}", "", "rows without a partner, which they would take back, have no key"),
        (
            f"SELECT o.id, o.at, p.id AS payment, p.at AS paid_at {BESIDE}",
            "WITH (emit = 'final')",
            "they would have to keep back what is declared to be shown once it is final",
        ),
        (
            f"SELECT window_end, count(DISTINCT id) AS n, percentile(amount, 0.5) AS m FROM {TUMBLE.format(time='at')} "
            "GROUP BY window_end",
            "",
            "count(DISTINCT), percentile can't be made of parts that are kept",
        ),
        (
            f"SELECT customer, window_end, count(*) AS n FROM {HOPS} GROUP BY customer, window_end",
            "",
            "each would combine all windows that are open, of every key",
        ),
    ],
    ids=["outer join", "final outer join", "aggregates", "windows that overlap"],
)
def test_explain_says_why_a_live_view_has_no_small_steps(query: str, options: str, why: str) -> None:
    found = view(query, options).execution
    assert found.kind == "live"
    assert str(found.why).endswith(f"; it has no small steps, because {why}")


FOREVER = "WITH (retention = 'forever')"
EXECUTED = {
    "slices": ("SELECT id FROM orders", "WITH (execution = 'settle')"),
    "parts": (f"SELECT window_end, count(*) AS n FROM {TUMBLE.format(time='at')} GROUP BY window_end", ""),
    "partitions": (
        "SELECT id, at, row_number() OVER (PARTITION BY customer ORDER BY at) AS place FROM orders",
        "WITH (key = 'id, at', horizon = '1 hour')",
    ),
    "groups": ("SELECT customer, count(*) AS n FROM orders GROUP BY customer", FOREVER),
    "traces": (
        "SELECT customer, max(p.paid) AS most FROM orders o LEFT JOIN payments p ON p.order_id = o.id "
        "GROUP BY customer",
        FOREVER,
    ),
    "sums": (
        "SELECT customer, count(p.paid) AS n FROM orders o LEFT JOIN payments p ON p.order_id = o.id GROUP BY customer",
        FOREVER,
    ),
}


@pytest.mark.parametrize("executor", EXECUTED)
def test_what_carries_a_step_out_is_planned(executor: str) -> None:
    step = view(*EXECUTED[executor]).physical.step
    assert step is not None
    assert step.executor == executor


@pytest.mark.parametrize("executor", [*EXECUTED, "live"])
def test_a_plan_as_data_has_every_decision(executor: str) -> None:
    query, options = EXECUTED.get(executor, ("SELECT id FROM orders", "WITH (execution = 'live')"))
    planned = view(query, options)
    told = view_as_dict(planned)
    parts = told["physical"] | {"execution": told["execution"], "keeps": told["state"]}
    assert parts.keys() == {part.name for part in fields(planned.physical)}
    assert json.loads(json.dumps(parts)) == parts
    step, streaming = planned.physical.step, planned.physical.streaming
    assert step is None or parts["step"].keys() == {part.name for part in fields(step)}
    assert streaming is None or parts["streaming"].keys() == {part.name for part in fields(streaming)}
    assert (step is None) == (parts["step"] is None) != (streaming is None) == (parts["streaming"] is None)
