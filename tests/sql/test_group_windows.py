"""Windows that others write as groups: what they are read as, and which are left to be refused."""

from __future__ import annotations

import pytest

from headwater import model
from headwater.findings import ForeignSpelling
from headwater.plan import check
from headwater.plan.planned import Plan
from headwater.sql import parse_declarations, parse_query, spell
from headwater.sql.translation import translations

STREAM = "CREATE STREAM orders (id STRING, k STRING, v INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);\n"


def read(sql: str) -> str:
    return spell(parse_query(model.SqlQuery(sql)))


def planned(query: str) -> Plan:
    text = f"{STREAM}CREATE MATERIALIZED VIEW v AS {query};"
    return check(model.Project(name="shop", declarations=parse_declarations(text, "views.sql").declarations))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (
            "SELECT k, TUMBLE_END(at, INTERVAL '1' MINUTE) AS e, count(*) AS n FROM orders"
            " GROUP BY k, TUMBLE(at, INTERVAL '1' MINUTE)",
            "SELECT k, window_end AS e, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
            " AS orders GROUP BY k, window_start, window_end",
        ),
        (
            "SELECT o.k, HOP_START(o.at, INTERVAL '1' MINUTE, INTERVAL '1' HOUR) AS s, sum(o.v) AS total FROM orders o"
            " WHERE o.v > 1 GROUP BY HOP(o.at, INTERVAL '1' MINUTE, INTERVAL '1' HOUR), o.k HAVING sum(o.v) > 2",
            "SELECT o.k, window_start AS s, sum(o.v) AS total FROM HOP(TABLE orders, DESCRIPTOR(at),"
            " INTERVAL '1' MINUTE, INTERVAL '1' HOUR) AS o WHERE o.v > 1 GROUP BY window_start, window_end, o.k"
            " HAVING sum(o.v) > 2",
        ),
        (
            "SELECT k, SESSION_END(at, INTERVAL '5' MINUTE) AS e, count(*) AS n FROM orders"
            " GROUP BY k, SESSION(at, INTERVAL '5' MINUTE)",
            "SELECT k, window_end AS e, count(*) AS n FROM SESSION(TABLE orders PARTITION BY k, DESCRIPTOR(at),"
            " INTERVAL '5' MINUTE) AS orders GROUP BY k, window_start, window_end",
        ),
        (
            "SELECT k, TUMBLE_ROWTIME(at, INTERVAL '1' MINUTE) AS t, count(*) AS n FROM orders"
            " GROUP BY k, TUMBLE(at, INTERVAL '1' MINUTE)",
            "SELECT k, window_time AS t, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
            " AS orders GROUP BY k, window_start, window_end, window_time",
        ),
        (
            "SELECT k, window.start, window(at, '1 minute').end, count(*) AS n FROM orders"
            " GROUP BY k, window(at, '1 minute')",
            "SELECT k, window_start AS start, window_end AS `end`, count(*) AS n FROM TUMBLE(TABLE orders,"
            " DESCRIPTOR(at), INTERVAL '1' MINUTE) AS orders GROUP BY k, window_start, window_end",
        ),
        (
            "SELECT k, window.end, count(*) AS n FROM orders GROUP BY k, window(at, '1 hour', '1 minute')",
            "SELECT k, window_end AS `end`, count(*) AS n FROM HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE,"
            " INTERVAL '1' HOUR) AS orders GROUP BY k, window_start, window_end",
        ),
        (
            "SELECT k, session_window(at, '5 minutes').end AS e, count(*) AS n FROM (SELECT k, at FROM orders) t"
            " GROUP BY session_window(at, '5 minutes'), k",
            "SELECT k, window_end AS e, count(*) AS n FROM SESSION((SELECT k, at FROM orders) PARTITION BY k,"
            " DESCRIPTOR(at), INTERVAL '5' MINUTE) AS t GROUP BY window_start, window_end, k",
        ),
    ],
    ids=["tumble", "hop", "session", "rowtime", "spark", "spark slides", "spark sessions"],
)
def test_a_window_that_is_a_group_is_the_table_function(theirs: str, ours: str) -> None:
    assert read(theirs) == read(ours)
    plans = planned(theirs), planned(ours)
    assert plans[0].view("v").root == plans[1].view("v").root
    assert [type(finding) for finding in plans[0].findings if finding.severity == "warning"] == [ForeignSpelling]
    assert not [finding for finding in plans[1].findings if isinstance(finding, ForeignSpelling)]


def test_the_caution_says_where_and_what_is_written_today() -> None:
    plan = planned(
        "SELECT k, TUMBLE_END(at, INTERVAL '1' MINUTE) AS e,\n  count(*) AS n FROM orders\nGROUP BY k,"
        " TUMBLE(at, INTERVAL '1' MINUTE)"
    )
    (caution,) = plan.findings
    assert str(caution.origin) == "views.sql:4:13"
    assert caution.summary == 'view "v" uses TUMBLE(…) as a group, as old Flink has it'
    assert caution.hint == (
        "Write SELECT k, window_end AS e, COUNT(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
        " AS orders GROUP BY k, window_start, window_end."
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) AS n FROM orders o JOIN orders p ON o.id = p.id GROUP BY TUMBLE(o.at, INTERVAL '1' MINUTE)",
        "SELECT TUMBLE_END(at, INTERVAL '2' MINUTE) AS e FROM orders GROUP BY TUMBLE(at, INTERVAL '1' MINUTE)",
        "SELECT window(at, '1 minute') AS w FROM orders GROUP BY window(at, '1 minute')",
        "SELECT 1 AS x FROM orders GROUP BY TUMBLE(at, INTERVAL '1' MINUTE), HOP(at, INTERVAL '1' MINUTE,"
        " INTERVAL '1' HOUR)",
        "SELECT 1 AS x FROM orders GROUP BY lower(k), SESSION(at, INTERVAL '1' MINUTE)",
        "SELECT 1 AS x FROM orders GROUP BY TUMBLE(at + INTERVAL '1' HOUR, INTERVAL '1' MINUTE)",
        "SELECT 1 AS x FROM orders GROUP BY TUMBLE(at, INTERVAL '1' MONTH)",
        "SELECT TUMBLE_PROCTIME(at, INTERVAL '1' MINUTE) AS p FROM orders GROUP BY TUMBLE(at, INTERVAL '1' MINUTE)",
    ],
    ids=["join", "other", "struct", "two", "session of an expression", "expression", "month", "proctime"],
)
def test_one_that_can_not_be_told_is_refused_as_it_is(query: str) -> None:
    assert not list(translations(parse_query(model.SqlQuery(query))))
    assert [finding for finding in planned(query).findings if finding.severity == "error"]
