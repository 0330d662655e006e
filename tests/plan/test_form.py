"""What stands beside the arguments of an aggregate is used, or refused where a project is checked."""

from __future__ import annotations

import pytest

from headwater.findings import NotSupportedYet, QueryRefused, TypeMismatch
from tests.plan.planning import planned, view

HOURS = "FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) GROUP BY window_end"


@pytest.mark.parametrize(
    "call",
    [
        "array_agg(id ORDER BY amount DESC NULLS LAST, id)",
        "collect_list(id ORDER BY amount)",
        "array_agg(DISTINCT customer ORDER BY customer DESC)",
        "string_agg(id, ', ' ORDER BY amount)",
        "listagg(id, ', ') WITHIN GROUP (ORDER BY amount DESC)",
        "first_value(id ORDER BY amount) IGNORE NULLS",
        "last(id ORDER BY amount DESC)",
        "mode() WITHIN GROUP (ORDER BY customer DESC)",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY weight)",
        "avg(DISTINCT weight)",
        "any(amount > 1)",
    ],
)
def test_an_aggregate_may_be_given_an_order(call: str) -> None:
    assert "c" in view(f"SELECT window_end, {call} AS c {HOURS}").lineage


@pytest.mark.parametrize(
    ("call", "kind", "what"),
    [
        ("sum(amount ORDER BY id)", QueryRefused, 'orders the rows of "sum", which takes them in any order'),
        ("max(id) WITHIN GROUP (ORDER BY id)", QueryRefused, 'gives "max" a WITHIN GROUP, which it hasn\'t'),
        ("sum(weight) IGNORE NULLS", QueryRefused, 'tells "sum" what to do with NULLs, which it has a rule for'),
        (
            "array_agg(DISTINCT id ORDER BY amount)",
            QueryRefused,
            "orders distinct values by something else than themselves",
        ),
        (
            "stddev(DISTINCT weight)",
            NotSupportedYet,
            "uses stddev(DISTINCT …), which has no executor in this version",
        ),
        (
            "avg(DISTINCT amount)",
            NotSupportedYet,
            "uses avg(DISTINCT …) of DECIMAL, which has no executor in this version",
        ),
        (
            "percentile_cont(NULL) WITHIN GROUP (ORDER BY weight)",
            TypeMismatch,
            'gives the function "percentile_cont" (VOID)',
        ),
        (
            "array_sort(collect_list(id), x -> 1)",
            TypeMismatch,
            'calls the function "array_sort", which can\'t take what it is given',
        ),
    ],
)
def test_what_means_nothing_beside_an_aggregate_is_refused(call: str, kind: type, what: str) -> None:
    errors = planned(f"CREATE MATERIALIZED VIEW v AS SELECT window_end, {call} AS c {HOURS}").errors
    assert [(type(found), found.summary) for found in errors] == [(kind, f'view "v" {what}')]
    assert errors[0].origin is not None and errors[0].origin.line == 1


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("array_agg(id ORDER BY amount) OVER (PARTITION BY window_end ORDER BY at)", "in it and in OVER"),
        ("median(weight) OVER (PARTITION BY window_end ORDER BY at)", "but it looks at a whole partition"),
    ],
)
def test_an_order_is_said_once(call: str, what: str) -> None:
    windows = HOURS.removesuffix(" GROUP BY window_end")
    (error,) = planned(f"CREATE MATERIALIZED VIEW v AS SELECT id, {call} AS c {windows}").errors
    assert error.summary.endswith(what)


@pytest.mark.parametrize(
    "call", ["window(at, '1 hour')", "session_window(at, '1 hour')", "window_time(window(at, '1 hour'))"]
)
def test_windows_are_made_in_from(call: str) -> None:
    (error, *_) = planned(f"CREATE MATERIALIZED VIEW v AS SELECT id, {call} AS c FROM orders").errors
    assert "which no view can use" in error.summary and "FROM" in (error.detail or "")
