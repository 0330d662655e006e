"""Views on views over all of time: right in every step under changes of all that is below, as DuckDB has it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import headwater as hw
from tests.engine.maintained.forever import COMMITS, Values, assert_right, in_order, opened, shown, step

TOPICS = """
CREATE TABLE orders (id BIGINT, region BIGINT, total DECIMAL(10, 2), PRIMARY KEY (id));
CREATE TABLE regions (id BIGINT, name STRING, PRIMARY KEY (id));
CREATE STREAM visits (number BIGINT NOT NULL, order_id BIGINT, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '1' SECOND) WITH (unique = 'number');
CREATE VIEW busy AS SELECT region, n, total FROM per_region WHERE n > 1;
"""
QUERIES = {
    "per_region": ("", "SELECT region, count(*) AS n, sum(total) AS total FROM orders GROUP BY region"),
    "named": ("", "SELECT r.id, r.name, b.total FROM regions r LEFT JOIN busy b ON b.region = r.id"),
    "by_name": ("", "SELECT name, max(total) AS most, count(*) AS n FROM named GROUP BY name"),
    "shares": (
        "",
        "SELECT o.id, r.name, n.total AS of_region FROM orders o LEFT JOIN regions r ON o.region = r.id "
        "LEFT JOIN named n ON n.id = r.id",
    ),
    "sizes": ("", "SELECT n, count(*) AS regions FROM per_region GROUP BY n"),
    "top": ("", "SELECT region, total FROM per_region ORDER BY total DESC NULLS LAST, region NULLS LAST LIMIT 2"),
    "idle": ("", "SELECT id, name FROM regions r WHERE NOT EXISTS (SELECT 1 FROM per_region p WHERE p.region = r.id)"),
    "keys": (
        "",
        "SELECT k, count(*) AS parts FROM (SELECT region AS k FROM per_region UNION ALL SELECT id AS k FROM regions "
        "UNION ALL SELECT order_id AS k FROM visits) GROUP BY k",
    ),
    "dearest": (
        "",
        "SELECT o.region, max(o.total) AS most FROM orders o LEFT JOIN regions r ON r.id = o.region GROUP BY o.region",
    ),
    "unnamed": ("", "SELECT region FROM per_region EXCEPT SELECT id AS region FROM regions"),
}
TRACED = set(QUERIES) - {"top"}

Rows = dict[str, dict[int, tuple[Any, ...]]]


@pytest.fixture
def project(tmp_path: Path, spark: Any) -> Iterator[hw.Project]:
    with opened(tmp_path, TOPICS, QUERIES, forever=False) as found:
        yield found


def feed(project: hw.Project, chance: random.Random, commits: int) -> Iterator[Rows]:
    """Some commits of changes; the rows that each topic has then."""
    rows: Rows = {"orders": {}, "regions": {}, "visits": {}}
    for commit in range(commits):
        row: dict[str, Any]
        for key in {chance.randrange(10) for _ in range(3)}:
            region, total = chance.choice([1, 2, 3, None]), f"{chance.randint(-50, 300) / 100:.2f}"
            row = {"id": key, "region": region, "total": total}
            project.append("orders", [row])
            rows["orders"][key] = tuple(row.values())
        gone = chance.randrange(10)
        project.delete("orders", [{"id": gone}])
        rows["orders"].pop(gone, None)
        number, name = chance.randint(1, 4), chance.choice(["north", "south", None])
        project.append("regions", [{"id": number, "name": name}])
        rows["regions"][number] = (number, name)
        if commit % 3 == 2:
            gone = chance.randint(1, 4)
            project.delete("regions", [{"id": gone}])
            rows["regions"].pop(gone, None)
        if commit % 2:
            visit = {"number": commit, "order_id": chance.randint(1, 4), "made_at": f"2026-01-05T12:00:{commit:02}Z"}
            project.append("visits", [visit])
            rows["visits"][commit] = tuple(visit.values())
        yield rows


def expected(rows: Rows) -> dict[str, Values]:
    """The rows of every view, in DuckDB."""
    with duckdb.connect() as connection:
        connection.sql("CREATE TABLE orders (id BIGINT, region BIGINT, total DECIMAL(10, 2))")
        connection.sql("CREATE TABLE regions (id BIGINT, name VARCHAR)")
        connection.sql("CREATE TABLE visits (number BIGINT, order_id BIGINT, made_at VARCHAR)")
        for topic, known in rows.items():
            for row in known.values():
                connection.execute(f"INSERT INTO {topic} VALUES ({', '.join('?' * len(row))})", row)
        found: dict[str, Values] = {}
        for name, (_, query) in QUERIES.items():
            connection.sql(f"CREATE VIEW {name} AS {query}")
            if name == "per_region":
                connection.sql(TOPICS[TOPICS.index("CREATE VIEW busy") :])
            found[name] = in_order(connection.sql(f"SELECT * FROM {name}").fetchall())
        return found


def test_every_step_gives_the_rows_of_the_views_below(project: hw.Project) -> None:
    for rows in feed(project, random.Random(11), COMMITS):
        step(project)
        assert {name: shown(project, name) for name in QUERIES} == expected(rows)
    assert_right(project, list(QUERIES))


def test_what_a_change_reaches_is_found_through_the_views_below(project: hw.Project) -> None:
    steps = {name: project.plan().view(name).physical.step for name in QUERIES}
    assert {name for name, step in steps.items() if step is not None and step.trace is not None} == TRACED
    assert project.plan().graph.upstream("by_name") >= {"orders", "regions", "per_region", "busy", "named"}
