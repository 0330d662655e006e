"""As-of joins against brute force: random logs of both sides, however they are cut into steps."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from headwater import testing
from headwater.cli.views import show_ledger
from headwater.engine.small import Reach, SmallSlices
from headwater.log.columns import KeptColumns
from headwater.testing import Scenario

START = datetime(2026, 1, 1, tzinfo=UTC)
DECLARED = """
CREATE STREAM payments (
  id STRING, customer INT, region STRING, amount INT, paid_at TIMESTAMP NOT NULL,
  WATERMARK FOR paid_at AS paid_at - INTERVAL '4' SECOND
);
CREATE TABLE customers (
  id BIGINT, region STRING, tier STRING, least INT, changed_at TIMESTAMP NOT NULL,
  WATERMARK FOR changed_at AS changed_at - INTERVAL '4' SECOND, PRIMARY KEY (region, id)
);
"""
KINDS = {"inner": "JOIN", "left": "LEFT JOIN", "semi": "LEFT SEMI JOIN", "anti": "LEFT ANTI JOIN"}
SHOWN = {"inner": "c.tier, c.changed_at", "left": "c.tier, c.changed_at"}
VIEWS = "".join(
    f"""
CREATE MATERIALIZED VIEW {kind}_{emit} WITH (grace = '3 seconds', emit = '{emit}', key = 'id, paid_at') AS
SELECT {", ".join(["p.id", "p.paid_at", *([SHOWN[kind]] if kind in SHOWN else [])])}
FROM payments p {joined} customers FOR SYSTEM_TIME AS OF p.paid_at AS c
  ON p.customer = c.id AND p.region = c.region AND p.amount >= c.least;
"""
    for kind, joined in KINDS.items()
    for emit in ("final", "changes")
    if emit == "final" or kind in SHOWN
)


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
    """Rows of both sides in commits of all sizes; now and then the views catch up, or all of it crashes."""
    number = 0
    for second in range(1, 60, 3):
        for topic in chance.sample(["payments", "customers"], 2):
            count = chance.randint(0, 4)
            if topic == "payments":
                rows = [payment(chance, number + index, second) for index in range(count)]
                number += count
            else:
                rows = [change(chance, second) for _ in range(count)]
            if rows:
                shop.append(topic, rows, commits=None if chance.random() < 0.5 else [1] * count)
        if chance.random() < 0.3:
            shop.project.catch_up(options={"max_commits": str(chance.randint(1, 3))})


def brute_force(shop: Scenario, kind: str, final: bool) -> list[tuple[Any, ...]]:
    """The rows of a view as DuckDB finds them among all pairs."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name, topic in (("p", "payments"), ("c", "customers")):
        connection.register(name, shop.project.read(topic))
    settled = min(shop.project.log.watermark(topic) for topic in ("payments", "customers")) - timedelta(seconds=3)
    newer = "(n.changed_at, n._commit, n._row) > (c.changed_at, c._commit, c._row)"
    seen = f"""
      SELECT p._commit, p._row, c.tier, c.changed_at FROM pt p JOIN ct c
        ON p.customer = c.id AND p.region = c.region AND c.changed_at <= p.paid_at
      WHERE c._op = 'upsert' AND p.amount >= c.least AND NOT EXISTS (SELECT 1 FROM ct n
        WHERE n.id = c.id AND n.region = c.region AND n.changed_at <= p.paid_at AND {newer})
    """
    joined, test = {
        "inner": ("JOIN", "TRUE"),
        "left": ("LEFT JOIN", "TRUE"),
        "semi": ("LEFT JOIN", "s.changed_at IS NOT NULL"),
        "anti": ("LEFT JOIN", "s.changed_at IS NULL"),
    }[kind]
    found = connection.sql(f"""
      WITH pt AS (SELECT * FROM p WHERE paid_at + INTERVAL 3 SECOND > _watermark),
        ct AS (SELECT * FROM c WHERE changed_at + INTERVAL 3 SECOND > _watermark), s AS ({seen})
      SELECT pt.id, pt.paid_at{", s.tier, s.changed_at" if kind in SHOWN else ""}
      FROM pt {joined} s USING (_commit, _row)
      WHERE {test} {f"AND pt.paid_at <= TIMESTAMPTZ '{settled.isoformat()}'" if final else ""}
    """)
    return rows_of(found.to_arrow_table())


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


@pytest.mark.parametrize("seed", range(3))
def test_any_steps_give_what_brute_force_finds(spark: SparkSession, seed: int) -> None:
    assert spark
    chance = random.Random(seed)
    with testing.scenario(DECLARED + VIEWS) as shop:
        let_happen(shop, chance)
        for done in shop.project.catch_up():
            assert done.error is None, done.view
        for view in [f"{kind}_{emit}" for kind in KINDS for emit in ("final", "changes")]:
            kind, _, emit = view.partition("_")
            if emit == "changes" and kind not in SHOWN:
                continue
            shown = [row if kind in SHOWN else row[:2] for row in rows_of(shop.project.rows(view))]
            assert _instants(shown) == _instants(brute_force(shop, kind, emit == "final")), view
            ledger = shop.project.views.ledger(view)
            assert ledger.remainder == 0
            if kind == "inner":
                settled = len(brute_force(shop, "anti", final=True))
                assert ledger.unmatched == settled, "dropped for good, whatever the steps"
            else:
                assert ledger.unmatched == 0
        assert [view for view in ("left_changes", "inner_changes") if not shop.project.verify(view).identical] == []


def _instants(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(
        (tuple(value.timestamp() if isinstance(value, datetime) else value for value in row) for row in rows), key=repr
    )


def test_why_and_late_tell_of_both_sides(spark: SparkSession) -> None:
    assert spark
    with testing.scenario(DECLARED + VIEWS) as shop:
        at = [START + timedelta(seconds=second) for second in range(60)]
        gold = {"id": 1, "region": "n", "tier": "gold", "least": 0}
        shop.append("customers", [gold | {"changed_at": at[5]}, gold | {"changed_at": at[30]}])
        shop.append("customers", [gold | {"tier": "late", "changed_at": at[7]}])
        paid = {"customer": 1, "region": "n", "amount": 3}
        shop.append("payments", [{"id": "p1", **paid, "paid_at": at[10]}, {"id": "p2", **paid, "paid_at": at[40]}])
        shop.project.catch_up("inner_final")
        rows = shop.project.rows("inner_final").to_pylist()
        assert [(row["id"], row["tier"], row["changed_at"]) for row in rows] == [("p1", "gold", at[5])]
        reasons = shop.project.why("inner_final", {"id": "p1"})
        assert {topic: rows.num_rows for topic, rows in reasons.shown.items()} == {"payments": 1, "customers": 1}
        assert shop.project.views.late("inner_final")["tier"].to_pylist() == ["late"]
        ledger = shop.project.views.ledger("inner_final")
        assert (ledger.rows_in, ledger.used, ledger.late, ledger.remainder) == (5, 4, 1, 0)


def test_rows_that_find_none_are_counted_apart_once_that_is_final(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two tables: a row that the first one doesn't have is not counted again for the second."""
    assert spark
    view = """
        CREATE TABLE tiers (tier STRING, share INT, at TIMESTAMP, WATERMARK FOR at AS at, PRIMARY KEY (tier));
        CREATE MATERIALIZED VIEW shares AS SELECT p.id, p.paid_at, t.share FROM payments p
        JOIN customers FOR SYSTEM_TIME AS OF p.paid_at AS c ON p.customer = c.id AND p.region = c.region
        JOIN tiers FOR SYSTEM_TIME AS OF p.paid_at AS t ON t.tier = c.tier;
    """
    with testing.scenario(DECLARED + view) as shop:
        at = [START + timedelta(seconds=second) for second in range(60)]
        shop.append("tiers", [{"tier": "gold", "share": 3, "at": at[1]}])
        changes = [{"id": 1, "tier": "gold"}, {"id": 2, "tier": "lead"}]
        shop.append("customers", [change | {"region": "n", "changed_at": at[2]} for change in changes])
        paid = {"region": "n", "amount": 3}
        shop.append("payments", [{"id": f"p{n}", "customer": n, **paid, "paid_at": at[10 + n]} for n in (1, 2, 3)])
        shop.project.catch_up("shares")
        ledger = shop.project.views.ledger("shares")
        assert (ledger.rows_in, ledger.used, ledger.unmatched, ledger.remainder) == (6, 6, 0, 0)
        for topic in ("payments", "customers", "tiers"):
            shop.project.log.tick(topic, to=at[50])
        shop.project.catch_up("shares")
        ledger = shop.project.views.ledger("shares")
        assert (ledger.rows_in, ledger.used, ledger.unmatched, ledger.remainder) == (6, 4, 2, 0)
        assert [row["id"] for row in shop.project.rows("shares").to_pylist()] == ["p1"]
        assert shop.project.verify("shares").identical
        show_ledger(ledger)
        assert "unmatched" in capsys.readouterr().out


def test_a_small_step_reads_the_changes_that_are_asked_for_and_the_new_ones() -> None:
    view = """
        CREATE TABLE regions (region STRING, name STRING, at TIMESTAMP, WATERMARK FOR at AS at, PRIMARY KEY (region));
        CREATE MATERIALIZED VIEW named AS
        SELECT p.id, p.paid_at, c.tier, r.name FROM (SELECT * FROM payments WHERE amount > 0) p
        JOIN customers FOR SYSTEM_TIME AS OF p.paid_at AS c ON p.customer = c.id AND p.region = c.region
        LEFT JOIN regions FOR SYSTEM_TIME AS OF p.paid_at AS r ON r.region = p.region;
    """
    with testing.scenario(DECLARED.replace("id BIGINT", "id INT") + view) as shop:
        project = shop.project
        changes = {"id": list(range(60_000)), "tier": ["a"] * 60_000, "least": [0] * 60_000}
        for region in "ns":
            table = pa.table(
                changes | {"region": [region] * 60_000, "changed_at": [START + timedelta(seconds=1)] * 60_000}
            )
            project.append("customers", table, history=True)
            project.append("regions", {"region": region, "name": region, "at": START + timedelta(seconds=1)})
        paid = {"region": "n", "amount": 3, "paid_at": START + timedelta(seconds=9)}
        project.append("payments", [{"id": f"p{key}", "customer": key, **paid} for key in (7, 8, None)])
        planned = project.plan().view("named")
        logs = project.views.opened().catalog.logs(planned)
        reaches = {name: Reach(1 if name == "customers" else 0, log.head, None, None) for name, log in logs.items()}
        read = SmallSlices(planned, logs, KeptColumns()).read({**reaches, "customers": Reach(2, 2, None, None)})
        assert read is not None
        assert {scan.relation: rows.num_rows for scan, rows in read.items()} == {
            "payments": 3, "customers": 2, "regions": 2,
        }  # fmt: skip
        assert SmallSlices(planned, logs, KeptColumns()).read(reaches) is None, "the second region's are new"
