"""What `explain` says: execution, state with its end, versions; and with Spark its plan and the rows in state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from tests.plan.planning import view

WINDOWED = (
    "SELECT customer, window_end, count(*) AS n, sum(amount) AS total FROM {window} GROUP BY customer, window_end"
)
TUMBLE = "TUMBLE(TABLE {stream}, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
SESSION = (
    "SELECT customer, window_start, window_end, count(*) AS n"
    " FROM SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '5' MINUTE)"
    " GROUP BY customer, window_start, window_end"
)
JOIN = (
    "SELECT o.id, p.paid FROM orders o JOIN payments p"
    " ON p.order_id = o.id AND p.at BETWEEN o.at - INTERVAL '10' SECOND AND o.at + INTERVAL '1' HOUR"
)


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        (
            "SELECT id FROM orders WHERE amount > 5",
            ["settle: its position in the store; each step reads what is new"],
        ),
        (
            WINDOWED.format(window=TUMBLE.format(stream="orders")),
            [
                "settle: its position in the store; each step reads what is new",
                "parts: one row per customer, window_end, in memory, until the end of its window + 2 minutes",
            ],
        ),
        (
            "SELECT window_end, collect_set(id) AS ids FROM " + TUMBLE.format(stream="orders") + " GROUP BY window_end",
            ["aggregate: one row per window_end with ids, until the end of its window + 2 minutes"],
        ),
        (
            SESSION,
            [
                "settle: its position in the store; each step reads what is new",
                "parts: one row per customer, window_start, window_end, in memory, until the session's end + 7 minutes",
            ],
        ),
        (
            SESSION.replace("count(*) AS n", "median(amount) AS m"),
            ["sessions: one row per customer, window_start, window_end with m, until the session's end + 7 minutes"],
        ),
        (
            "SELECT id FROM payments",
            ["settle: its position in the store; each step reads the log from its oldest new event on"],
        ),
        (
            "SELECT window_end, collect_set(id) AS ids FROM "
            + TUMBLE.format(stream="payments")
            + " GROUP BY window_end",
            [
                "duplicates: the id, the event time and the window of each row, until the end of that window"
                " + 2 minutes",
                "aggregate: one row per window_end with ids, until the end of its window + 2 minutes",
            ],
        ),
        (
            "SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY at"
            " RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS recent, at FROM orders",
            ["settle: its position in the store; each step reads the log again, 1 hour back"],
        ),
        (
            JOIN,
            [
                "join: the rows of the left side (orders), until their event time + 1 hour 2 minutes",
                "duplicates: the id and the event time of each row, until that time + 2 minutes",
                "join: the rows of the right side (payments), until their event time + 2 minutes 10 seconds",
            ],
        ),
    ],
    ids=[
        "nothing",
        "windows in parts",
        "windows",
        "sessions in parts",
        "sessions",
        "copies",
        "copies in windows",
        "OVER",
        "a join",
    ],
)
def test_the_state_that_operators_keep_has_an_end(query: str, kept: list[str]) -> None:
    assert [str(found) for found in view(query, "WITH (grace = '2 minutes')").physical.keeps] == kept


def test_groups_without_an_end_keep_nothing_and_say_for_how_long_a_row_counts() -> None:
    found = view("SELECT customer, max(at) AS last FROM orders GROUP BY customer", "WITH (retention = '7 days')")
    assert [str(kept) for kept in found.physical.keeps] == [
        "settle: its position in the store; each step reads the log again, 1 week back",
        "groups without an end: nothing; rows count in them, until their time + 1 week",
    ]


def test_groups_without_an_end_in_which_everything_adds_up_keep_totals() -> None:
    found = view("SELECT customer, count(*) AS n FROM orders GROUP BY customer", "WITH (retention = '7 days')")
    assert [str(kept) for kept in found.physical.keeps] == [
        "settle: its position in the store; each step reads what is new, and what counts no more",
        "totals: one row per customer, until no row counts in it",
    ]


SQL = """
CREATE STREAM sales (id STRING, shop STRING, amount DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH (unique = 'id');
CREATE MATERIALIZED VIEW totals WITH (grace = '10 seconds', execution = 'live') AS
SELECT shop, window_end, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY shop, window_end;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "headwater.toml").write_text('name = "explained"\n[spark]\n"spark.master" = "local[2]"\n')
    (tmp_path / "project.sql").write_text(SQL)
    return tmp_path


def test_a_view_that_was_never_built_is_explained_without_spark(folder: Path) -> None:
    with hw.open(folder) as project:
        explained = project.explain("totals")
        text, record = str(explained), explained.as_dict()
    assert "  execution  live: Spark's streaming keeps its aggregate" in text
    assert "  emit       changes: " in text
    assert "    aggregate: one row per shop, window_end with total, until the end of its window + 10 seconds" in text
    assert "version" not in text
    assert (record["execution"], record["versions"], record["state_bytes"]) == ("live", [], None)
    assert [found["operator"] for found in record["state"]] == ["duplicates", "aggregate"]


def test_a_view_that_is_served_is_explained_with_its_state_and_sparks_plan(folder: Path, spark: SparkSession) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    with hw.open(folder) as project:
        rows = [
            {"id": str(n), "shop": "ab"[n % 2], "amount": "1.00", "at": start + timedelta(seconds=n)} for n in range(8)
        ]
        project.append("sales", rows)
        (done,) = project.catch_up()
        assert done.error is None
        without, explained = project.explain("totals"), project.explain("totals", spark=True)
    assert without.spark_plan is None
    assert without.state is not None
    assert (without.state.rows, without.state.bytes > 0) == (None, True)
    assert explained.state is not None
    assert explained.state.rows == {"aggregate": 2, "duplicates": 8}
    assert explained.spark_plan is not None
    assert [name in explained.spark_plan for name in ("StateStoreSave", "StreamingDeduplicate")] == [True, True]
    record = explained.as_dict()
    assert record["versions"][0]["commits"] == {"sales": 1}
    text = str(explained)
    assert "  version    1 served, plan " in text
    assert ": aggregate 2 rows, duplicates 8 rows" in text
