"""Late rows of several topics in one table, whatever their columns are called."""

from __future__ import annotations

from pyspark.sql import SparkSession

from headwater.engine.late import united
from headwater.testing import scenario

JOINED = """
CREATE STREAM orders (id INT, amount DECIMAL(10, 2), note STRING, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND);
CREATE STREAM payments (id STRING, order_id INT, amount STRING, Note STRING, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND);
CREATE MATERIALIZED VIEW paid AS
SELECT o.id, o.amount, p.id AS payment, p.amount AS paid, o.note, p.note AS remark
FROM orders o JOIN payments p ON p.order_id = o.id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' MINUTE;
"""


def test_topics_that_share_a_name_of_other_types_have_a_column_each(spark: SparkSession) -> None:
    assert spark
    with scenario(JOINED) as found:
        order = {"id": 1, "amount": "1.50", "note": "o", "at": "2026-01-01T00:01:00Z"}
        payment = {"id": "p1", "order_id": 1, "amount": "much", "Note": "p", "at": "2026-01-01T00:01:00Z"}
        found.append("orders", [order, order | {"id": 2, "at": "2026-01-01T00:00:55Z"}])
        found.append("payments", [payment, payment | {"id": "p2", "at": "2026-01-01T00:00:30Z"}])
        rows = {row["_topic"]: row for row in found.project.views.late("paid").to_pylist()}
    assert sorted(rows) == ["orders", "payments"]
    shown = ("orders_id", "orders_amount", "payments_id", "payments_amount", "order_id", "note")
    assert [str(rows["orders"][name]) for name in shown] == ["2", "1.50", "None", "None", "None", "o"]
    assert [str(rows["payments"][name]) for name in shown] == ["None", "None", "p2", "much", "1", "p"]
    assert [rows[topic]["late_by"].total_seconds() for topic in sorted(rows)] == [0, 25]


def test_a_label_that_is_taken_by_another_type_gets_a_number(spark: SparkSession) -> None:
    frames = [spark.sql(f"SELECT {text}") for text in ("1 AS v, true AS a_v", "'x' AS v", "2 AS v")]
    (first, second, third) = united(list(zip("aaa", frames, strict=True))).toArrow().to_pylist()
    assert first == {"a_v_2": 1, "a_v": True, "a_v_3": None}
    assert second == {"a_v_2": None, "a_v": None, "a_v_3": "x"}
    assert third == {"a_v_2": 2, "a_v": None, "a_v_3": None}


BIDS = """
CREATE STREAM bids (id INT, item STRING, at TIMESTAMP, WATERMARK FOR at AS at);
CREATE STREAM asks (id INT, item STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '0.001' SECOND);
CREATE MATERIALIZED VIEW pairs AS SELECT b.id, a.id AS ask FROM bids b JOIN asks a ON a.item = b.item AND a.at = b.at;
CREATE MATERIALIZED VIEW lately WITH (key = 'id') AS
SELECT id, count(*) OVER (ORDER BY at RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW) AS n FROM bids;
CREATE MATERIALIZED VIEW at_once AS SELECT at, count(*) AS n FROM bids GROUP BY at;
CREATE MATERIALIZED VIEW patient WITH (grace = '1 millisecond') AS SELECT at, count(*) AS n FROM bids GROUP BY at;
"""


def test_rows_that_are_late_by_equality_alone_are_counted(spark: SparkSession) -> None:
    assert spark
    with scenario(BIDS) as found:
        seconds = [1, 1, 1, 2, 3, 2, 3]  # one of them is late by a second, three by nothing
        rows = [
            {"id": number, "item": "x", "at": f"2026-01-01T00:00:0{second}Z"} for number, second in enumerate(seconds)
        ]
        for topic in ("bids", "asks"):
            found.append(topic, rows, commits=[2, 5])
        found.run(per_batch=1)
        ledgers = {view: found.project.views.ledger(view) for view in ("pairs", "lately", "at_once", "patient")}
        shown = {view.view: view.ledger for view in found.project.status().views}
        assert all(found.project.verify(view).identical for view in ledgers)
    assert {view: (ledger.late, ledger.late_by_equality, ledger.remainder) for view, ledger in ledgers.items()} == {
        "pairs": (5, 3, 0),
        "lately": (4, 3, 0),
        "at_once": (4, 3, 0),
        "patient": (1, 0, 0),
    }
    assert shown["lately"] is not None
    assert shown["lately"].late_by_equality == 3
