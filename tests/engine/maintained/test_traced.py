"""Traced views: every step of joins, rankings and lists over all of time gives what DuckDB gives of the whole log."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

import headwater as hw
from headwater import model
from headwater.engine.maintained import traced
from tests.engine.maintained.forever import COMMITS, Queries, answers, assert_right, looked_up, opened, shown, step

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
STREAMS = """
CREATE STREAM orders (id BIGINT NOT NULL, customer STRING, region INT, amount DECIMAL(10, 2),
  made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND){unique};
CREATE STREAM payments (number BIGINT NOT NULL, order_id BIGINT, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND);
CREATE STREAM regions (code INT, name STRING, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND);
"""
PAIR = "o.id, o.made_at, p.number, p.paid FROM orders o"
TRACED = {
    "pairs": ("id, made_at, number", f"SELECT {PAIR} JOIN payments p ON p.order_id = o.id WHERE p.paid > 1"),
    "left_pairs": ("id, made_at, number", f"SELECT {PAIR} LEFT JOIN payments p ON p.order_id = o.id"),
    "right_pairs": (
        "id, made_at, number",
        f"SELECT {PAIR} RIGHT JOIN payments p ON p.order_id = o.id AND o.amount > 0",
    ),
    "full_pairs": ("id, made_at, number", f"SELECT {PAIR} FULL JOIN payments p ON p.order_id = o.id"),
    "paid": (
        "id, made_at",
        "SELECT id, made_at FROM orders o "
        "WHERE EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.paid > o.amount)",
    ),
    "unpaid": (
        "id, made_at",
        "SELECT id, made_at FROM orders o WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id)",
    ),
    "per_region": (
        "",
        "SELECT r.name, count(*) AS n, sum(o.amount) AS total FROM orders o JOIN regions r ON o.region = r.code "
        "WHERE o.amount > 0 GROUP BY r.name",
    ),
    "per_customer": (
        "",
        "SELECT o.customer, count(*) AS n, count(p.number) AS payments, sum(p.paid) AS paid "
        "FROM orders o LEFT JOIN payments p ON p.order_id = o.id GROUP BY o.customer HAVING count(*) <> 2",
    ),
    "best_of_region": (
        "",
        "SELECT region, max(total) AS best, count(*) AS customers FROM "
        "(SELECT region, customer, sum(amount) AS total FROM orders GROUP BY region, customer) GROUP BY region",
    ),
    "kinds": ("", "SELECT customer, count(DISTINCT amount) AS kinds FROM orders GROUP BY customer"),
    "customers": ("", "SELECT DISTINCT customer, region FROM orders"),
    "latest": (
        "",
        "SELECT customer, id, amount FROM orders "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY customer ORDER BY made_at DESC, id DESC) = 1",
    ),
    "three": (
        "id, made_at, number, name",
        f"SELECT o.id, o.made_at, p.number, r.name {PAIR[PAIR.index('FROM') :]} "
        "JOIN payments p ON p.order_id = o.id JOIN regions r ON r.code = o.region",
    ),
    "itself": (
        "id, other",
        "SELECT a.id, a.made_at, b.id AS other, b.made_at AS other_at FROM orders a "
        "JOIN orders b ON a.customer = b.customer AND a.id < b.id",
    ),
    "everyone": (
        "",
        "SELECT who, count(DISTINCT made_at) AS n FROM "
        "(SELECT id AS who, made_at FROM orders UNION ALL SELECT order_id AS who, made_at FROM payments) GROUP BY who",
    ),
}
ANEW = {
    "by_amount": (
        "",
        "SELECT o.amount + 0 AS a, count(*) AS n FROM orders o JOIN payments p ON p.order_id = o.id "
        "GROUP BY o.amount + 0",
    ),
    "dearer": ("id, number", f"SELECT {PAIR} JOIN payments p ON p.paid > o.amount * 10"),
    "of_regions": (
        "",
        "SELECT r.name, count(*) AS n FROM orders o LEFT JOIN regions r ON o.region = r.code GROUP BY r.name",
    ),
}
QUERIES = TRACED | ANEW


ONCE = " WITH (unique = 'id')"


def timeless(streams: str) -> str:
    """The same streams without an event time."""
    return re.sub(r",\s*WATERMARK .* SECOND", "", streams)


@pytest.fixture(params=["", ONCE], ids=["all rows", "each event once"])
def project(request: pytest.FixtureRequest, tmp_path: Path, spark: Any) -> Iterator[hw.Project]:
    """A shop; the one that takes each order once has payments and regions without an event time."""
    orders, payments = STREAMS.format(unique=request.param).split(";", 1)
    streams = f"{orders};{timeless(payments) if request.param else payments}"
    with opened(tmp_path, streams, QUERIES) as found:
        yield found


def feed(project: hw.Project, chance: random.Random, commits: int) -> Iterator[int]:
    """Some commits to one or several topics, out of order, some rows long past, some orders copies of others."""
    sent: list[dict[str, object]] = []
    numbers = iter(range(10**6))

    def at(commit: int) -> str:
        return (
            START + timedelta(seconds=20 * commit + chance.randint(0, 20) - chance.choice([0, 0, 3, 900]))
        ).isoformat()

    for commit in range(commits):
        if chance.random() < 0.7:
            rows = []
            for _ in range(chance.randint(1, 6)):
                row = {
                    "id": len(sent),
                    "customer": chance.choice(["a", "b", None, "B", "c"]),
                    "region": chance.choice([1, 2, 3, None]),
                    "amount": f"{chance.randint(-30, 300) / 100:.2f}",
                    "made_at": at(commit),
                }
                if sent and chance.random() < 0.2 and is_unique(project):
                    row = chance.choice(sent) | {"customer": chance.choice(["a", "b"])}  # a copy that was changed
                else:
                    sent.append(row)
                rows.append(row)
            project.append("orders", rows)
        if chance.random() < 0.6:
            paid = [
                {
                    "number": next(numbers),
                    "order_id": chance.choice([*range(len(sent) + 3), None]),
                    "paid": f"{chance.randint(-30, 300) / 100:.2f}",
                    "made_at": at(commit),
                }
                for _ in range(chance.randint(1, 6))
            ]
            project.append("payments", paid)
        if chance.random() < 0.3:
            region = {"code": chance.choice([1, 2, 3, None]), "name": chance.choice(["north", "south"])}
            project.append("regions", [region | {"made_at": at(commit)}])
        yield commit


def is_unique(project: hw.Project) -> bool:
    orders = project.plan().topics["orders"]
    return isinstance(orders, model.Stream) and bool(orders.unique)


def expected(project: hw.Project, queries: Queries = QUERIES) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of every query over all of the log, in DuckDB."""
    with duckdb.connect() as connection:
        connection.sql("SET TimeZone = 'UTC'")
        for topic in ("orders", "payments", "regions"):
            connection.register(f"log_{topic}", project.read(topic))
            once = "QUALIFY row_number() OVER (PARTITION BY id, made_at ORDER BY _commit, _row) = 1"
            cut = once if topic == "orders" and is_unique(project) else ""
            connection.sql(f"CREATE TABLE {topic} AS SELECT * FROM log_{topic} {cut}")
        return answers(connection, queries)


def test_every_step_gives_the_rows_of_the_whole_log(project: hw.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of one commit and of several, with what was kept, without it and damaged, found by keys and as a whole."""
    chance = random.Random(23)
    for commit in feed(project, chance, COMMITS):
        if chance.random() < 0.3:
            continue
        monkeypatch.setattr(traced, "FEW", 3 if chance.random() < 0.2 else 50_000)
        if commit % 4 == 0:
            for kept in [*project.folder.rglob("rows*.run"), *project.folder.rglob("rows*.json")]:
                kept.unlink() if chance.random() < 0.2 else None
        step(project)
        assert {name: shown(project, name) for name in QUERIES} == expected(project)
    step(project)
    assert {name: shown(project, name) for name in QUERIES} == expected(project)
    assert_right(project, list(QUERIES) if COMMITS > 6 or is_unique(project) else ["of_regions", "three"])


def test_an_event_without_a_time_is_told_from_others_by_its_id(tmp_path: Path, spark: Any) -> None:
    names = ("per_customer", "pairs", "customers", "latest", "paid")
    streams = timeless(STREAMS.format(unique=ONCE))
    keys = {"pairs": "id, number", "paid": "id"}
    queries = {
        name: (keys.get(name, ""), QUERIES[name][1].replace("o.made_at, ", "").replace("id, made_at", "id"))
        for name in names
    }
    with opened(tmp_path, streams, queries) as project:
        for _ in feed(project, random.Random(5), 5):
            step(project)
        kept = expected(project, queries)
        assert {name: shown(project, name) for name in queries} == kept
        assert all(kept.values())
        assert_right(project, names)


@pytest.mark.parametrize("project", [""], indirect=True)
def test_what_is_traced_and_what_is_computed_anew_is_planned(project: hw.Project) -> None:
    steps = {name: project.plan().view(name).physical.step for name in QUERIES}
    assert {name: step.untraced for name, step in steps.items() if step and step.trace is None} == {
        "dearer": "a join has no equality of two columns of the log",
    }


@pytest.mark.parametrize("project", [ONCE], indirect=True)
def test_a_step_reads_the_rows_that_its_new_rows_matter_to(
    project: hw.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def order(number: int) -> dict[str, object]:
        return {"id": number, "customer": f"c{number // 5}", "region": 1, "amount": "1", "made_at": START.isoformat()}

    def payment(number: int) -> dict[str, object]:
        return {"number": number, "order_id": number, "paid": "1", "made_at": START.isoformat()}

    names = ("pairs", "left_pairs", "per_customer", "latest", "unpaid")
    project.append("orders", [order(number) for number in range(1000)])
    project.append("payments", [payment(number) for number in range(0, 1000, 2)])
    step(project, *names)
    found = looked_up(monkeypatch)
    project.append("payments", [payment(number) for number in (1, 3, 501)])
    step(project, *names)
    assert 0 < sum(found) < 100
    assert_right(project, names)
