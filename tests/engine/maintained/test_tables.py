"""Maintained views over tables: right under inserts, updates and deletes on both sides, as DuckDB has it."""

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
CREATE TABLE orders (id BIGINT, region INT, status STRING, total DECIMAL(10, 2), PRIMARY KEY (id));
CREATE TABLE regions (id INT, name STRING, changed_at TIMESTAMP, PRIMARY KEY (id),
  WATERMARK FOR changed_at AS changed_at - INTERVAL '1' SECOND);
CREATE STREAM visits (number BIGINT NOT NULL, order_id BIGINT, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '1' SECOND);
"""
QUERIES = {
    "open_orders": (
        "",
        "SELECT r.name, count(*) AS n, sum(o.total) AS total FROM orders o JOIN regions r ON o.region = r.id "
        "WHERE o.status = 'open' GROUP BY r.name",
    ),
    "named": ("id", "SELECT o.id, o.status, r.name FROM orders o LEFT JOIN regions r ON o.region = r.id"),
    "either": ("id, region", "SELECT o.id, r.id AS region FROM orders o FULL JOIN regions r ON o.region = r.id"),
    "without": (
        "id",
        "SELECT id, total FROM orders o WHERE NOT EXISTS (SELECT 1 FROM regions r WHERE r.id = o.region)",
    ),
    "open_ones": ("", "SELECT id, total FROM orders WHERE status = 'open'"),
    "per_status": ("", "SELECT status, count(*) AS n, max(total) AS most FROM orders GROUP BY status"),
    "statuses": ("", "SELECT DISTINCT status, region FROM orders"),
    "largest": (
        "",
        "SELECT region, id, total FROM orders "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY region ORDER BY total DESC, id) = 1",
    ),
    "visited": (
        "number",
        "SELECT v.number, v.order_id, o.status FROM visits v JOIN orders o ON o.id = v.order_id",
    ),
    "above_average": ("", "SELECT id, total FROM orders WHERE total > (SELECT avg(total) FROM orders)"),
    "beside_the_whole": (
        "",
        "SELECT id, (SELECT count(*) FROM orders) AS n, (SELECT max(i.total) FROM orders i WHERE i.region = o.region) "
        "AS most FROM orders o",
    ),
    "seen": (
        "",
        "SELECT id, (SELECT count(*) FROM visits v WHERE v.order_id = o.id) AS visits, "
        "EXISTS (SELECT 1 FROM regions r WHERE r.id = o.region) AS known FROM orders o",
    ),
    "either_way": (
        "",
        "SELECT id FROM orders o WHERE status = 'paid' OR EXISTS (SELECT 1 FROM regions r WHERE r.id = o.region)",
    ),
    "asked_by_key": (
        "",
        "SELECT id, (SELECT r.name FROM regions r WHERE r.id = o.region) AS name FROM orders o",
    ),
    "busy": (
        "",
        "SELECT region, count(*) AS n FROM orders GROUP BY region HAVING count(*) >= (SELECT count(*) FROM regions)",
    ),
    "known_only": (
        "",
        "SELECT region, max(total) AS most FROM orders o GROUP BY region "
        "HAVING EXISTS (SELECT 1 FROM regions r WHERE r.id = o.region) OR min(total) < 1",
    ),
    "of_large_ones": (
        "",
        "SELECT id, status FROM orders o WHERE total >= (SELECT max(i.total) FROM orders i WHERE i.status = o.status)",
    ),
    "all_in_all": ("", "SELECT count(*) AS n, sum(total) AS total FROM orders"),
}


@pytest.fixture
def project(tmp_path: Path, spark: Any) -> Iterator[hw.Project]:
    with opened(tmp_path, TOPICS, QUERIES, forever=False) as found:
        yield found


Rows = dict[str, dict[int, dict[str, Any]]]


def feed(project: hw.Project, chance: random.Random, commits: int) -> Iterator[Rows]:
    """Some commits of changes, some of them to keys that are not there; the rows that each table has then."""
    rows: Rows = {"orders": {}, "regions": {}, "visits": {}}
    for commit in range(commits):
        at = (START + timedelta(seconds=commit)).isoformat()
        made = {
            chance.randrange(12): {
                "region": chance.choice([1, 2, 3, None]),
                "status": chance.choice(["open", "paid", None]),
                "total": f"{chance.randint(0, 300) / 100:.2f}",
            }
            for _ in range(chance.randint(1, 5))
        }
        upsert(project, rows, "orders", made)
        if chance.random() < 0.4:
            take_away(project, rows, "orders", [chance.randrange(12)])
        if chance.random() < 0.5:
            name = chance.choice(["north", "south", "east"])
            upsert(project, rows, "regions", {chance.randint(1, 4): {"name": name, "changed_at": at}})
        if chance.random() < 0.2:
            take_away(project, rows, "regions", [chance.randint(1, 4)], changed_at=at)
        if chance.random() < 0.4:
            visit = {"number": commit, "order_id": chance.randrange(12), "made_at": at}
            rows["visits"][commit] = visit
            project.append("visits", [visit])
        yield rows


def upsert(project: hw.Project, rows: Rows, table: str, made: dict[int, dict[str, Any]]) -> None:
    project.append(table, [{"id": key, **values} for key, values in made.items()])
    rows[table] |= {key: {"id": key, **values} for key, values in made.items()}


def take_away(project: hw.Project, rows: Rows, table: str, keys: list[int], **more: Any) -> None:
    project.delete(table, [{"id": key, **more} for key in keys])
    for key in keys:
        rows[table].pop(key, None)


def expected(rows: Rows) -> dict[str, list[tuple[Any, ...]]]:
    with duckdb.connect() as connection:
        connection.sql("CREATE TABLE orders (id BIGINT, region INT, status VARCHAR, total DECIMAL(10, 2))")
        connection.sql("CREATE TABLE regions (id INT, name VARCHAR, changed_at VARCHAR)")
        connection.sql("CREATE TABLE visits (number BIGINT, order_id BIGINT, made_at VARCHAR)")
        for table, known in rows.items():
            for row in known.values():
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", list(row.values()))
        return answers(connection, QUERIES)


def test_every_step_gives_the_rows_that_the_tables_have(project: hw.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of one commit and of several, found by keys and as a whole, with what was kept and without it."""
    chance = random.Random(29)
    for number, rows in enumerate(feed(project, chance, COMMITS)):
        if chance.random() < 0.2 and number < COMMITS - 1:
            continue
        monkeypatch.setattr(traced, "FEW", 3 if chance.random() < 0.2 else 50_000)
        if number % 4 == 3:
            for kept in project.folder.rglob("rows*.json"):
                kept.unlink()
        step(project)
        assert {name: shown(project, name) for name in QUERIES} == expected(rows)
    assert_right(project, list(QUERIES))


def test_a_change_reads_the_rows_that_it_matters_to(project: hw.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("open_orders", "named", "per_status")
    at = START.isoformat()
    order = {"region": 1, "status": "open", "total": "1.00"}
    project.append("regions", [{"id": number, "name": f"r{number}", "changed_at": at} for number in range(100)])
    made = [order | {"id": number, "region": number % 100, "status": f"s{number % 50}"} for number in range(1000)]
    project.append("orders", made)
    step(project, *names)
    found = looked_up(monkeypatch)
    project.append("orders", [order | {"id": 5, "region": 7}])
    project.delete("orders", [{"id": 6}])
    step(project, *names)
    assert 0 < sum(found) < 300
    assert_right(project, names)
