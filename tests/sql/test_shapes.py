"""What windows, as-of and patterns say."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlglot import exp

from headwater import model
from headwater.model.pattern import (
    Definition,
    Measure,
    Pattern,
    Repeat,
    RowsPerMatch,
    Sequence,
    Skip,
    Variable,
)
from headwater.sql import as_of, parse_query, pattern_of, spell, window_of

MINUTE = timedelta(minutes=1)


def tree(sql: str) -> exp.Query:
    return parse_query(model.SqlQuery(sql))


@pytest.mark.parametrize(
    ("function", "window"),
    [
        ("TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' MINUTE)", model.Tumble(MINUTE)),
        (
            "TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '10' SECOND))",
            model.Tumble(MINUTE, MINUTE / 6),
        ),
        ("TUMBLE(t, at, INTERVAL '1' MINUTE, INTERVAL '-10' SECOND)", model.Tumble(MINUTE, -MINUTE / 6)),
        (
            "HOP(TABLE t, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '5' MINUTES)",
            model.Hop(size=5 * MINUTE, slide=MINUTE),
        ),
        (
            "HOP(t, at, SIZE => INTERVAL '5' MINUTES, SLIDE => INTERVAL '1' MINUTE)",
            model.Hop(size=5 * MINUTE, slide=MINUTE),
        ),
        (
            "HOP(t, at, INTERVAL '1' MINUTE, INTERVAL '5' MINUTES, INTERVAL '2' MINUTES)",
            model.Hop(size=5 * MINUTE, slide=MINUTE, offset=2 * MINUTE),
        ),
        ("CUMULATE(t, at, INTERVAL '1' MINUTE, INTERVAL '5' MINUTES)", model.Cumulate(size=5 * MINUTE, step=MINUTE)),
        ("TUMBLE(t, at, INTERVAL '1' MONTH)", model.Calendar(1, "month")),
        ("TUMBLE(t, at, INTERVAL '1' YEAR, 'Europe/Berlin')", model.Calendar(12, "month", "Europe/Berlin")),
        ("TUMBLE(t, at, INTERVAL '1 year 6 months')", model.Calendar(18, "month")),
        ("TUMBLE(t, at, INTERVAL 1 QUARTER, 'Asia/Tokyo')", model.Calendar(3, "month", "Asia/Tokyo")),
        ("TUMBLE(t, at, INTERVAL '1' DAY, 'Europe/Berlin')", model.Calendar(1, "day", "Europe/Berlin")),
        ("TUMBLE(t, at, INTERVAL '1' DAY)", model.Tumble(timedelta(days=1))),
        (
            "TUMBLE(t, at, INTERVAL '2' WEEK, INTERVAL '6' HOUR, 'UTC')",
            model.Calendar(14, "day", "UTC", timedelta(hours=6)),
        ),
        (
            "TUMBLE(DATA => t, TIMECOL => at, ZONE => 'America/New_York', SIZE => INTERVAL '24' HOUR)",
            model.Calendar(1, "day", "America/New_York"),
        ),
        ("SESSION(t, at, INTERVAL '1' MINUTE)", model.Session(MINUTE)),
        ("SESSION(TABLE t PARTITION BY a, b, DESCRIPTOR(at), INTERVAL '1' MINUTE)", model.Session(MINUTE, ("a", "b"))),
        ("SESSION(t PARTITION BY a, b, at, INTERVAL '1' MINUTE)", model.Session(MINUTE, ("a", "b"))),
        ("SESSION(DATA => t PARTITION BY a, TIMECOL => at, GAP => INTERVAL '1' MINUTE)", model.Session(MINUTE, ("a",))),
    ],
)
def test_a_window_function_is_a_window(function: str, window: model.Window) -> None:
    call = window_of(tree(f"SELECT * FROM {function} AS w").args["from_"].this)
    assert call is not None
    assert (call.window, call.time, call.node.alias) == (window, "at", "w")
    assert spell(call.input) == "t"
    assert window_of(call.node.this) == call


def test_a_window_may_read_a_subquery() -> None:
    query = tree("SELECT * FROM TUMBLE((SELECT * FROM t WHERE a > 1), DESCRIPTOR(`my time`), INTERVAL 1 DAY)")
    call = window_of(query.args["from_"].this)
    assert call is not None
    assert isinstance(call.input, exp.Subquery)
    assert (call.time, call.window) == ("my time", model.Tumble(timedelta(days=1)))


def test_windows_of_joins_are_found_and_those_of_subqueries_are_not() -> None:
    query = tree(
        """SELECT * FROM TUMBLE(a, at, INTERVAL 1 DAY) x JOIN TUMBLE(b, bt, INTERVAL 2 DAYS) y ON x.k = y.k
        JOIN (SELECT * FROM TUMBLE(c, ct, INTERVAL 3 DAYS)) z ON z.k = x.k JOIN d ON d.k = x.k"""
    )
    calls = [window_of(source.this) for source in (query.args["from_"], *query.args["joins"])]
    assert [call and call.time for call in calls] == ["at", "bt", None, None]


@pytest.mark.parametrize("name", ["tumble", "hop", "cumulate", "session"])
def test_the_names_of_windows_are_free_for_tables_and_columns(name: str) -> None:
    query = tree(f"SELECT {name}, {name}.a FROM {name} WHERE {name} > 1")
    assert window_of(query.args["from_"].this) is None


def test_an_as_of_join_names_its_instant() -> None:
    query = tree("SELECT * FROM o JOIN r FOR SYSTEM_TIME AS OF o.at AS rr ON o.c = rr.c JOIN s ON s.c = o.c")
    first, second = (join.this for join in query.args["joins"])
    instant = as_of(first)
    assert instant is not None
    assert (spell(instant), first.alias, as_of(second)) == ("o.at", "rr", None)


def test_a_pattern_is_read_whole() -> None:
    query = tree(
        """SELECT * FROM t MATCH_RECOGNIZE (
          PARTITION BY k ORDER BY at, n DESC
          MEASURES FINAL last(b.at) AS ended, a.v AS v
          ALL ROWS PER MATCH OMIT EMPTY MATCHES
          AFTER MATCH SKIP TO FIRST b
          PATTERN (a b+) WITHIN INTERVAL '5' MINUTE
          DEFINE b AS b.v > prev(b.v)
        ) AS m"""
    )
    pattern = Pattern(
        step=Sequence((Variable("a"), Repeat(Variable("b"), 1, None))),
        partition_by=("k",),
        order_by=("at", "n DESC"),
        measures=(Measure("ended", "LAST(b.at)", True), Measure("v", "a.v")),
        rows=RowsPerMatch.ALL_OMIT_EMPTY,
        skip=Skip("first", "b"),
        within=timedelta(minutes=5),
        define=(Definition("b", "b.v > PREV(b.v)"),),
    )
    assert pattern_of(query) == pattern_of(query.args["match"]) == pattern
    assert pattern.variables == ("a", "b")


def test_a_pattern_has_the_defaults_of_sql() -> None:
    pattern = pattern_of(tree("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES a.v AS v PATTERN (a))"))
    assert pattern == Pattern(step=Variable("a"), order_by=("at",), measures=(Measure("v", "a.v"),))
    assert pattern_of(tree("SELECT * FROM t")) is None
