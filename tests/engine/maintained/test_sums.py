"""Groups that are added to and taken off from: above joins, by computed values, in one; as DuckDB has them."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import headwater as hw
from tests.engine.maintained.forever import COMMITS, answers, assert_right, looked_up, opened, shown, step

TOPICS = """
CREATE TABLE accounts (id INT, owner INT, balance DECIMAL(10, 2), kind STRING, PRIMARY KEY (id));
CREATE TABLE owners (id INT, region STRING, PRIMARY KEY (id));
"""
JOINED = "FROM accounts a JOIN owners o ON a.owner = o.id"
QUERIES = {
    "per_region": (
        "",
        f"SELECT o.region, count(*) AS n, sum(a.balance) AS total, count(a.balance) AS m {JOINED} GROUP BY o.region",
    ),
    "of_all": ("", f"SELECT count(*) AS n, sum(a.balance) AS total {JOINED}"),
    "computed": ("", "SELECT coalesce(kind, '-') AS k, count(*) AS n FROM accounts GROUP BY coalesce(kind, '-')"),
    "many": ("", "SELECT kind, sum(owner) AS owners FROM accounts GROUP BY kind HAVING count(*) > 2"),
    "some": ("", "SELECT kind, count(*) FILTER (WHERE balance > 100) AS n FROM accounts GROUP BY kind"),
    "everyone": (
        "",
        "SELECT coalesce(o.region, 'none') AS region, count(a.id) AS accounts, count(o.id) AS owners "
        "FROM accounts a FULL JOIN owners o ON a.owner = o.id GROUP BY coalesce(o.region, 'none')",
    ),
    "by_size": ("", "SELECT n % 3 AS size, count(*) AS regions, sum(total) AS total FROM per_region GROUP BY n % 3"),
    "chosen": (
        "",
        "SELECT kind, n + 1 AS more FROM (SELECT kind, count(*) AS n FROM accounts GROUP BY kind) AS g WHERE n > 1",
    ),
}


@pytest.fixture
def project(tmp_path: Path, spark: Any) -> Iterator[hw.Project]:
    with opened(tmp_path, TOPICS, QUERIES, forever=False) as found:
        yield found


def feed(project: hw.Project, chance: random.Random, commits: int) -> Iterator[dict[str, dict[int, dict[str, Any]]]]:
    """Some commits of changes; the rows that each table has then."""
    rows: dict[str, dict[int, dict[str, Any]]] = {"accounts": {}, "owners": {}}
    for commit in range(commits):
        for table, count in (("accounts", 15), ("owners", 4)):
            made = [made_row(table, chance.randrange(count), chance) for _ in range(chance.randint(0, 6))]
            rows[table] |= {row["id"]: row for row in made}
            if made:
                project.append(table, made)
            gone = [key for key in rows[table] if chance.random() < (0.9 if commit % 7 == 6 else 0.1)]
            if gone:
                project.delete(table, [{"id": key} for key in gone])
            rows[table] = {key: row for key, row in rows[table].items() if key not in gone}
        yield rows


def made_row(table: str, key: int, chance: random.Random) -> dict[str, Any]:
    if table == "owners":
        return {"id": key, "region": chance.choice(["north", "south", None])}
    balance = chance.choice([None, f"{chance.randint(-30000, 30000) / 100:.2f}"])
    return {
        "id": key,
        "owner": chance.choice([None, 0, 1, 2, 3]),
        "balance": balance,
        "kind": chance.choice(["a", "b", None]),
    }


def expected(rows: dict[str, dict[int, dict[str, Any]]]) -> dict[str, Any]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE accounts (id INT, owner INT, balance DECIMAL(10, 2), kind VARCHAR)")
        connection.execute("CREATE TABLE owners (id INT, region VARCHAR)")
        for table, kept in rows.items():
            for row in kept.values():
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' for _ in row)})", list(row.values()))
        connection.execute(f"CREATE VIEW per_region AS {QUERIES['per_region'][1]}")
        return answers(connection, QUERIES)


def test_all_of_them_are_summed(project: hw.Project) -> None:
    steps = {name: project.plan().view(name).physical.step for name in QUERIES}
    assert {name for name, each in steps.items() if each is None or each.executor != "sums"} == set()
    assert "aggregate by sums" in str(project.explain("per_region"))


def test_every_step_gives_the_groups_that_the_tables_have(project: hw.Project) -> None:
    for rows in feed(project, random.Random(7), COMMITS + 2):
        step(project)
        assert {name: shown(project, name) for name in QUERIES} == expected(rows)
    assert_right(project, list(QUERIES))


def test_totals_that_are_older_than_the_position_or_lost_are_made_again(project: hw.Project, tmp_path: Path) -> None:
    chance, names = random.Random(8), ["per_region", "of_all", "by_size"]
    changes = feed(project, chance, 4)
    next(changes)
    step(project, *names)
    kept = tmp_path / ".headwater" / "state"
    shutil.copytree(kept, tmp_path / "older")
    next(changes)
    step(project, *names)
    for name in names:
        for file in (kept / name).rglob("totals*"):
            file.unlink()
    rows = next(changes)
    step(project, *names)
    assert {name: shown(project, name) for name in names} == {name: expected(rows)[name] for name in names}
    for name in names:  # those of an earlier step, as a run that was killed leaves them
        for file in (kept / name).rglob("*.json"):
            older = tmp_path / "older" / file.relative_to(kept)
            for found in older.parent.iterdir():
                shutil.copy(found, file.parent / found.name)
    rows = next(changes)
    step(project, *names)
    assert {name: shown(project, name) for name in names} == {name: expected(rows)[name] for name in names}


def test_a_change_looks_up_its_own_rows_whatever_the_group_has(
    project: hw.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.append("owners", [{"id": 0, "region": "north"}])
    project.append("accounts", [{"id": n, "owner": 0, "balance": "1.00", "kind": "a"} for n in range(500)])
    step(project, "per_region")
    project.append("accounts", [{"id": 3, "owner": 0, "balance": "5.00", "kind": "a"}])
    found = looked_up(monkeypatch)
    step(project, "per_region")
    assert sum(found) < 10
    assert [row[:2] for row in shown(project, "per_region")] == [("north", 500)]
