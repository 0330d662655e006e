"""Joins with a table as it was known when a row arrived, against brute force: random logs, whatever the steps."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from headwater import testing
from headwater.engine.known import with_known
from headwater.engine.small import Reach, SmallSlices
from headwater.findings import ForeignSpelling
from headwater.log.columns import KeptColumns
from headwater.testing import Scenario

START = datetime(2026, 1, 1, tzinfo=UTC)
DECLARED = """
CREATE STREAM payments (
  id STRING, customer INT, region STRING, amount INT, paid_at TIMESTAMP NOT NULL,
  WATERMARK FOR paid_at AS paid_at - INTERVAL '4' SECOND
);
CREATE STREAM orders (id STRING, customer INT, region STRING, amount INT, paid_at TIMESTAMP NOT NULL,
  WATERMARK FOR paid_at AS paid_at - INTERVAL '4' SECOND) WITH (unique = 'id');
CREATE TABLE customers (
  id BIGINT, region STRING, tier STRING, least INT, changed_at TIMESTAMP NOT NULL,
  WATERMARK FOR changed_at AS changed_at - INTERVAL '4' SECOND, PRIMARY KEY (region, id)
);
CREATE TABLE prices (region STRING, price INT, PRIMARY KEY (region));
"""
KINDS = {"inner": "JOIN", "left": "LEFT JOIN", "semi": "LEFT SEMI JOIN", "anti": "LEFT ANTI JOIN"}
SHOWN = {"inner": "c.tier, c.changed_at", "left": "c.tier, c.changed_at"}
VIEWS = "".join(
    f"""
CREATE MATERIALIZED VIEW {kind}_{stream} WITH (key = 'id, paid_at') AS
SELECT {", ".join(["p.id", "p.paid_at", *([SHOWN[kind]] if kind in SHOWN else [])])}
FROM {stream} p {joined} customers FOR SYSTEM_TIME AS OF p._arrived_at AS c
  ON p.customer = c.id AND p.region = c.region AND p.amount >= c.least;
"""
    for kind, joined in KINDS.items()
    for stream in ("payments", "orders")
)
ABOVE = """
CREATE MATERIALIZED VIEW priced AS
SELECT p.id, p.paid_at, c.tier, r.price FROM orders p
JOIN customers FOR SYSTEM_TIME AS OF p._arrived_at AS c ON p.customer = c.id AND p.region = c.region
LEFT JOIN prices FOR SYSTEM_TIME AS OF p._arrived_at AS r ON r.region = p.region;
CREATE MATERIALIZED VIEW per_tier WITH (grace = '2 seconds') AS SELECT window_end, tier, count(*) AS n,
  sum(price) AS price
FROM TUMBLE(TABLE priced, DESCRIPTOR(paid_at), INTERVAL '10' SECOND) GROUP BY window_end, tier;
CREATE MATERIALIZED VIEW last_per_tier WITH (grace = '2 seconds') AS SELECT window_end, tier, id
FROM TUMBLE(TABLE priced, DESCRIPTOR(paid_at), INTERVAL '10' SECOND)
QUALIFY ROW_NUMBER() OVER (PARTITION BY window_end, tier ORDER BY paid_at DESC, id) = 1;
CREATE MATERIALIZED VIEW hopping WITH (grace = '2 seconds', emit = 'final') AS SELECT window_end, tier, count(*) AS n
FROM HOP(TABLE priced, DESCRIPTOR(paid_at), INTERVAL '1' SECOND, INTERVAL '20' SECOND) GROUP BY window_end, tier;
CREATE MATERIALIZED VIEW arrivals AS SELECT window_end, c.tier, count(*) AS n
FROM TUMBLE(TABLE payments, DESCRIPTOR(_arrived_at), INTERVAL '1' HOUR) p
JOIN customers FOR SYSTEM_TIME AS OF p._arrived_at AS c ON p.customer = c.id AND p.region = c.region
GROUP BY window_end, c.tier;
CREATE MATERIALIZED VIEW counted WITH (retention = '1 day') AS SELECT c.tier, count(*) AS n FROM payments p
JOIN customers FOR SYSTEM_TIME AS OF p._arrived_at AS c ON p.customer = c.id AND p.region = c.region GROUP BY c.tier;
"""


def payment(chance: random.Random, number: int, second: int) -> dict[str, Any]:
    at = START + timedelta(seconds=max(1, second - chance.choice([0, 0, 1, 2, 5, 9])))
    key = {"customer": chance.choice([1, 2, 3, None]), "region": chance.choice(["n", "s"])}
    return {"id": f"p{number}", **key, "amount": chance.randint(0, 9), "paid_at": at}


def change(chance: random.Random, second: int) -> dict[str, Any]:
    at = START + timedelta(seconds=max(1, second - chance.choice([0, 0, 1, 2, 5, 9])))
    key = {"id": chance.choice([1, 2, 3]), "region": chance.choice(["n", "s"]), "changed_at": at}
    if chance.random() < 0.2:
        return {**key, "_op": "delete"}
    return {**key, "tier": chance.choice("abc"), "least": chance.choice([0, 0, 5])}


def let_happen(shop: Scenario, chance: random.Random) -> None:
    """Rows of all topics in commits of all sizes; some orders come again; now and then the views catch up."""
    sent: list[dict[str, Any]] = []
    for second in range(1, 60, 4):
        for topic in chance.sample(["payments", "customers", "orders", "prices"], 4):
            count = chance.randint(0, 4)
            if topic == "customers":
                rows = [change(chance, second) for _ in range(count)]
            elif topic == "prices":
                rows = [{"region": chance.choice(["n", "s"]), "price": chance.randint(1, 9)} for _ in range(count)]
            else:
                rows = [payment(chance, len(sent) + index, second) for index in range(count)]
                sent += rows
            if topic == "orders" and sent and chance.random() < 0.5:
                rows += chance.sample(sent, 1)
            if rows:
                shop.append(topic, rows, commits=None if chance.random() < 0.5 else [1] * len(rows))
        if chance.random() < 0.3:
            for done in shop.project.catch_up(options={"max_commits": str(chance.randint(1, 3))}):
                assert done.error is None, done


def brute_force(shop: Scenario, kind: str, stream: str) -> list[tuple[Any, ...]]:
    """The rows of a view as DuckDB finds them among all pairs; of a copy's the first in the log."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name, topic in (("s", stream), ("c", "customers")):
        connection.register(name, shop.project.read(topic))
    first = "QUALIFY row_number() OVER (PARTITION BY id, paid_at ORDER BY _commit, _row) = 1"
    joined, test = {
        "inner": ("JOIN", "TRUE"),
        "left": ("LEFT JOIN", "TRUE"),
        "semi": ("LEFT JOIN", "k.changed_at IS NOT NULL"),
        "anti": ("LEFT JOIN", "k.changed_at IS NULL"),
    }[kind]
    found = connection.sql(f"""
      WITH p AS (SELECT * FROM s {first if stream == "orders" else ""}), k AS (
        SELECT p._commit, p._row, c.tier, c.changed_at FROM p JOIN c
          ON p.customer = c.id AND p.region = c.region AND c._arrived_at <= p._arrived_at
        WHERE c._op = 'upsert' AND p.amount >= c.least AND NOT EXISTS (SELECT 1 FROM c n
          WHERE n.id = c.id AND n.region = c.region AND n._arrived_at <= p._arrived_at
            AND (n.changed_at, n._commit, n._row) > (c.changed_at, c._commit, c._row)))
      SELECT p.id, p.paid_at{", k.tier, k.changed_at" if kind in SHOWN else ""}
      FROM p {joined} k USING (_commit, _row) WHERE {test}
    """)
    return rows_of(found.to_arrow_table())


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    rows = (tuple(row.values()) for row in table.to_pylist())
    return sorted(
        (tuple(value.timestamp() if isinstance(value, datetime) else value for value in row) for row in rows), key=repr
    )


@pytest.mark.parametrize("seed", range(2))
def test_any_steps_give_what_brute_force_finds(spark: SparkSession, seed: int) -> None:
    assert spark
    with testing.scenario(DECLARED + VIEWS) as shop:
        let_happen(shop, random.Random(seed))
        for done in shop.project.catch_up():
            assert done.error is None, done.view
        for view in shop.views:
            kind, _, stream = view.partition("_")
            assert rows_of(shop.project.rows(view)) == brute_force(shop, kind, stream), view
            ledger = shop.project.views.ledger(view)
            assert ledger.remainder == 0
            assert ledger.unmatched == (len(brute_force(shop, "anti", stream)) if kind == "inner" else 0)
        assert [view for view in ("left_orders", "inner_payments") if not shop.project.verify(view).identical] == []


def test_what_reads_such_rows_is_the_same_in_any_steps(spark: SparkSession) -> None:
    """Two tables one behind the other, and windows, rankings, panes and groups without an end above them."""
    assert spark
    with testing.scenario(DECLARED + ABOVE) as shop:
        let_happen(shop, random.Random(7))
        for done in shop.project.catch_up():
            assert done.error is None, done
        kept = {view: rows_of(shop.project.rows(view)) for view in shop.views}
        assert all(kept.values())
        assert [view for view in shop.views if not shop.project.verify(view).identical] == []
        for view in shop.views:
            ledger = shop.project.views.ledger(view)
            assert ledger.remainder == 0, ledger
        shop.rebuild()
        assert {view: rows_of(shop.project.rows(view)) for view in shop.views} == kept


def test_a_change_that_is_on_its_way_when_a_row_is_shown_arrives_behind_it(spark: SparkSession) -> None:
    """A table that nobody changes is told the time: one commit, for all views that ask it."""
    assert spark
    view = (
        "CREATE MATERIALIZED VIEW {} AS SELECT p.id, c.tier FROM payments p LEFT JOIN customers FOR SYSTEM_TIME AS OF "
    )
    view += "p._arrived_at AS c ON p.customer = c.id AND p.region = c.region;"
    with testing.scenario(DECLARED + view.format("one") + view.format("other")) as shop:
        gold = {"id": 1, "region": "n", "tier": "gold", "least": 0, "changed_at": START}
        paid = {"customer": 1, "region": "n", "amount": 3, "paid_at": START + timedelta(seconds=1)}
        shop.append("payments", [{"id": "p1", **paid}])
        shop.run()
        assert rows_of(shop.project.rows("one")) == [("p1", None)]
        early = shop.project.read("payments")["_arrived_at"][0].as_py() - timedelta(seconds=5)
        shop.set_now(early)
        shop.append("customers", [gold])
        assert shop.project.read("customers")["_arrived_at"][0].as_py() > early + timedelta(seconds=5)
        assert shop.project.read("customers")["_commit"].to_pylist() == [2], "behind its creation there is one tick"
        shop.rebuild()
        assert rows_of(shop.project.rows("one")) == [("p1", None)]
        shop.append("payments", [{"id": "p2", **paid}])
        shop.run()
        assert shop.project.verify("other").identical


def test_a_small_step_reads_the_changes_that_are_asked_for() -> None:
    view = """
        CREATE MATERIALIZED VIEW named AS SELECT p.id, p.paid_at, c.tier, r.price FROM payments p
        JOIN customers FOR SYSTEM_TIME AS OF p._arrived_at AS c ON p.customer = c.id AND p.region = c.region
        LEFT JOIN prices FOR SYSTEM_TIME AS OF p._arrived_at AS r ON r.region = p.region;
    """
    with testing.scenario(DECLARED.replace("id BIGINT", "id INT") + view) as shop:
        project = shop.project
        changes = {"id": list(range(60_000)), "tier": ["a"] * 60_000, "least": [0] * 60_000}
        for region in "ns":
            table = pa.table(changes | {"region": [region] * 60_000, "changed_at": [START] * 60_000})
            project.append("customers", table, history=True)
            project.append("prices", {"region": region, "price": 1})
        paid = {"region": "n", "amount": 3, "paid_at": START + timedelta(seconds=9)}
        project.append("payments", [{"id": f"p{key}", "customer": key, **paid} for key in (7, 8, None)])
        planned = project.plan().view("named")
        logs = project.views.opened().catalog.logs(planned)
        upto = with_known(planned, logs, {"payments": 1, "customers": 0, "prices": 0})
        assert upto == {"payments": 1, "customers": 3, "prices": 3}, "each is told the time, and read to its head"
        read = SmallSlices(planned, logs, KeptColumns()).read(
            {name: Reach(0, last, None, None, only_new=True) for name, last in upto.items()}
        )
        assert read is not None
        assert {scan.relation: rows.num_rows for scan, rows in read.items()} == {
            "payments": 3, "customers": 2, "prices": 1,
        }  # fmt: skip
        nothing = SmallSlices(planned, logs, KeptColumns()).read(
            {name: Reach(last, last, None, None, only_new=True) for name, last in upto.items()}
        )
        assert nothing is not None
        assert not any(rows.num_rows for rows in nothing.values()), "a tick asks for nothing"


def test_the_planner_says_that_it_does_not_wait_and_refuses_the_clock() -> None:
    joined = "CREATE MATERIALIZED VIEW v AS SELECT p.id, c.tier FROM payments p JOIN customers FOR SYSTEM_TIME AS OF "
    on = " AS c ON p.customer = c.id AND p.region = c.region;"
    with testing.scenario(DECLARED + joined + "p._arrived_at" + on) as shop:
        planned = shop.project.plan().view("v")
        assert planned.execution.kind == "settle"
        assert planned.inputs == ("customers", "payments")
        assert planned.physical.step is not None
        assert planned.physical.step.as_they_come
        assert "known at _arrived_at: a row waits for no watermark of the table" in str(shop.project.explain("v"))
    with testing.scenario(DECLARED + joined + "PROCTIME()" + on) as shop:
        (finding,) = shop.project.check().findings
        assert isinstance(finding, ForeignSpelling)
        assert shop.project.plan().view("v").root == planned.root
    with testing.scenario(DECLARED + joined + "current_timestamp()" + on) as shop:
        (finding,) = shop.project.check().findings
        assert "as of the time of processing" in finding.summary
        assert "FOR SYSTEM_TIME AS OF p._arrived_at" in (finding.hint or "")
