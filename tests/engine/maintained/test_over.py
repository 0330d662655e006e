"""Window functions over all of time: every step gives what DuckDB gives of the whole log."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

import headwater as hw
from headwater.engine.maintained import traced
from tests.engine.maintained.forever import COMMITS, answers, assert_right, looked_up, opened, shown, step

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
TOPICS = """
CREATE STREAM orders (id BIGINT NOT NULL, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND);
CREATE STREAM payments (number BIGINT NOT NULL, order_id BIGINT, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL);
CREATE TABLE customers (name STRING NOT NULL, city STRING, PRIMARY KEY (name));
"""
BY_CUSTOMER = "OVER (PARTITION BY customer ORDER BY made_at, id"
TRACED = {
    "running": (
        "id",
        f"SELECT id, sum(amount) {BY_CUSTOMER} ROWS UNBOUNDED PRECEDING) AS spent, "
        f"CAST(avg(amount) {BY_CUSTOMER} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS DECIMAL(12, 3)) AS of_three, "
        f"count(*) {BY_CUSTOMER} ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS behind FROM orders",
    ),
    "placed": (
        "id",
        f"SELECT id, lag(id) {BY_CUSTOMER}) AS former, lead(id, 2) {BY_CUSTOMER}) AS later, "
        f"row_number() {BY_CUSTOMER}) AS place, ntile(2) {BY_CUSTOMER}) AS half, last_value(id) {BY_CUSTOMER} "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS newest FROM orders",
    ),
    "share": (
        "id",
        "SELECT id, amount, max(amount) OVER (PARTITION BY customer) AS most, "
        "rank() OVER (PARTITION BY customer ORDER BY amount DESC) AS place, "
        "sum(amount) OVER (PARTITION BY customer ORDER BY made_at RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING "
        "AND CURRENT ROW) AS lately FROM orders",
    ),
    "so_far": (
        "number",
        "SELECT p.number, o.customer, sum(p.paid) OVER (PARTITION BY o.customer ORDER BY p.number) AS paid "
        "FROM orders o JOIN payments p ON p.order_id = o.id",
    ),
    "by_city": (
        "id",
        "SELECT o.id, c.city, count(*) OVER (PARTITION BY c.city ORDER BY o.id ROWS UNBOUNDED PRECEDING) AS place "
        "FROM orders o JOIN customers c ON c.name = o.customer",
    ),
    "of_last_two": (
        "",
        "SELECT customer, CAST(max(mean) AS DECIMAL(12, 3)) AS best FROM (SELECT customer, avg(amount) OVER "
        "(PARTITION BY customer ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS mean FROM orders) "
        "GROUP BY customer",
    ),
    "risen": (
        "id",
        "SELECT id, customer FROM (SELECT id, customer, amount, lag(amount) OVER (PARTITION BY customer ORDER BY id)"
        " AS former FROM orders) WHERE amount > former",
    ),
}
ANEW = {
    "places": ("id", "SELECT id, dense_rank() OVER (ORDER BY amount DESC, id) AS place FROM orders"),
    "both": (
        "id",
        "SELECT id, count(*) OVER (PARTITION BY customer) AS of_customer, count(*) OVER (PARTITION BY amount) AS alike "
        "FROM orders",
    ),
}
QUERIES = TRACED | ANEW


@pytest.fixture
def project(tmp_path: Path, spark: Any) -> Iterator[hw.Project]:
    with opened(tmp_path, TOPICS, QUERIES) as found:
        yield found


def feed(project: hw.Project, chance: random.Random, commits: int) -> Iterator[int]:
    """Orders out of order, some long past, payments of some of them, customers that move or leave."""
    orders = payments = 0
    for commit in range(commits):
        made = range(orders, orders := orders + chance.randint(1, 6))
        project.append("orders", [order(number, commit, chance) for number in made])
        if chance.random() < 0.6:
            paid = range(payments, payments := payments + chance.randint(1, 4))
            at = (START + timedelta(seconds=commit)).isoformat()
            rows = [
                {"number": number, "order_id": chance.randrange(orders + 2), "paid": chance.randrange(9), "made_at": at}
                for number in paid
            ]
            project.append("payments", rows)
        name = chance.choice("abc")
        if chance.random() < 0.7:
            project.append("customers", [{"name": name, "city": chance.choice(["x", "y"])}])
        elif commit > 2:
            project.delete("customers", [{"name": name}])
        yield commit


def order(number: int, commit: int, chance: random.Random) -> dict[str, object]:
    at = START + timedelta(seconds=20 * commit + chance.randint(0, 20) - chance.choice([0, 0, 3, 900]))
    customer, amount = chance.choice(["a", "b", None, "c"]), f"{chance.randint(-30, 300) / 100:.2f}"
    return {"id": number, "customer": customer, "amount": amount, "made_at": at.isoformat()}


def expected(project: hw.Project) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of every query over all of the log, in DuckDB."""
    with duckdb.connect() as connection:
        connection.sql("SET TimeZone = 'UTC'")
        for topic in ("orders", "payments"):
            connection.register(topic, project.read(topic))
        connection.register("customers", project.query("SELECT * FROM customers"))
        return answers(connection, QUERIES)


def test_every_step_gives_the_rows_of_the_whole_log(project: hw.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(7)
    for commit in feed(project, chance, COMMITS):
        monkeypatch.setattr(traced, "FEW", 3 if chance.random() < 0.2 else 50_000)
        if commit % 2:
            step(project)
            assert {name: shown(project, name) for name in QUERIES} == expected(project)
    step(project)
    assert {name: shown(project, name) for name in QUERIES} == expected(project)
    assert_right(project, list(QUERIES))


def test_partitions_are_found_by_keys_where_there_is_one_kind_of_them(project: hw.Project) -> None:
    steps = {name: project.plan().view(name).physical.step for name in QUERIES}
    assert {name for name, found in steps.items() if found is None or found.trace is None} == set(ANEW)


def test_a_step_reads_the_partitions_of_its_new_rows(project: hw.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(number: int) -> dict[str, object]:
        return {"id": number, "customer": f"c{number % 200}", "amount": "1", "made_at": START.isoformat()}

    project.append("orders", [made(number) for number in range(1000)])
    step(project, "running", "risen")
    found = looked_up(monkeypatch)
    project.append("orders", [made(1003), made(1004)])
    step(project, "running", "risen")
    assert 0 < sum(found) < 40
    assert_right(project, ["running", "risen"])
