"""Groups for ever: every step gives what the same SQL gives in DuckDB over the whole log, and touches few groups."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import headwater as hw
from headwater import model
from tests.engine.maintained.forever import COMMITS, assert_right, looked_up, opened, shown, step

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
STREAM = """
CREATE STREAM movements (id BIGINT NOT NULL, account STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND){};
"""
QUERIES = {
    "balances": "SELECT account, sum(amount) AS balance, count(*) AS n, min(id) AS least, max(id) AS greatest "
    "FROM movements WHERE amount > -2.9 GROUP BY account HAVING count(*) <> 3",
    "computed": "SELECT upper(account) AS name, date_trunc('MINUTE', made_at) AS minute, avg(amount) AS mean "
    "FROM movements GROUP BY upper(account), date_trunc('MINUTE', made_at)",
    "total": "SELECT count(*) AS n, sum(amount) AS balance FROM movements",
}
ANEW = {
    "kinds": "SELECT account, count(DISTINCT amount) AS kinds FROM movements GROUP BY account",
    "accounts": "SELECT DISTINCT account FROM movements",
    "latest": "SELECT account, id, amount FROM movements "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY account ORDER BY made_at DESC, id DESC) = 1",
    "richest": "SELECT account, sum(amount) AS balance FROM movements GROUP BY account "
    "ORDER BY balance DESC, account DESC LIMIT 2",
}
VIEWS = QUERIES | ANEW


@pytest.fixture(params=["", " WITH (unique = 'id')"], ids=["all rows", "each event once"])
def project(request: pytest.FixtureRequest, tmp_path: Path, spark: Any) -> Iterator[hw.Project]:
    with opened(tmp_path, STREAM.format(request.param), {name: ("", query) for name, query in VIEWS.items()}) as found:
        yield found


def feed(project: hw.Project, chance: random.Random, commits: int) -> Iterator[int]:
    """Some commits of movements, out of order, some of them long past, some of them copies."""
    sent: dict[int, dict[str, object]] = {}
    for commit in range(commits):
        rows = []
        for _ in range(chance.randint(1, 20)):
            at = START + timedelta(seconds=20 * commit + chance.randint(0, 20) - chance.choice([0, 0, 0, 3, 900]))
            number = len(sent) if chance.random() < 0.9 or not sent else chance.randrange(len(sent))
            account, amount = chance.choice(["a", "b", None, "B", "c", "ä"]), f"{chance.randint(-300, 300) / 100:.2f}"
            row = {"id": number, "account": account, "amount": amount, "made_at": at.isoformat()}
            rows.append(sent.setdefault(number, row))
        project.append("movements", rows)
        yield commit
        if commit % 6 == 3:  # a step without rows
            project.log.tick("movements", to=START + timedelta(seconds=20 * commit + 30))
            yield commit


def expected(project: hw.Project, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query over all of the log, in DuckDB."""
    movements: pa.Table = project.read("movements")
    with duckdb.connect() as connection:
        once = (
            "QUALIFY row_number() OVER (PARTITION BY id, made_at ORDER BY _commit, _row) = 1"
            if is_unique(project)
            else ""
        )
        connection.sql("SET TimeZone = 'UTC'")
        connection.register("log", movements)
        connection.sql(f"CREATE VIEW movements AS SELECT * FROM log {once}")
        return sorted(connection.sql(query).fetchall(), key=repr)


def is_unique(project: hw.Project) -> bool:
    return any(isinstance(topic, model.Stream) and topic.unique for topic in project.plan().project.topics)


def same(project: hw.Project) -> None:
    for name, query in VIEWS.items():
        if name != "computed":
            assert shown(project, name) == expected(project, query), name


def test_every_step_gives_the_rows_of_the_whole_log_whatever_was_lost_before(project: hw.Project) -> None:
    """Steps of one commit and of several; with what was kept, without it, and with damaged files."""
    chance = random.Random(19)
    for commit in feed(project, chance, COMMITS):
        if chance.random() < 0.3:
            continue
        if commit % 3 == 0:
            for kept in [*project.folder.rglob("groups-*.run"), *project.folder.rglob("groups.json")]:
                kept.unlink() if chance.random() < 0.3 else kept.write_bytes(kept.read_bytes()[:-9])
        step(project)
        same(project)
    step(project)
    same(project)
    assert_right(project, list(VIEWS))
    assert [name for name in VIEWS if project.views.ledger(name).late] == []


@pytest.mark.parametrize("project", [" WITH (unique = 'id')"], indirect=True)
def test_a_step_touches_the_groups_of_its_new_rows_alone(project: hw.Project, monkeypatch: pytest.MonkeyPatch) -> None:

    def movement(number: int, account: str) -> dict[str, object]:
        return {"id": number, "account": account, "amount": "1.00", "made_at": START.isoformat()}

    project.append("movements", [movement(number, f"account {number}") for number in range(1000)])
    project.catch_up("balances", "computed")
    found = looked_up(monkeypatch)
    project.append("movements", [movement(1000 + number, f"account {number % 3}") for number in range(30)])
    project.catch_up("balances", "computed")
    assert max(found) == 3
    assert_right(project, ("balances", "computed"))


@pytest.mark.parametrize("project", [""], indirect=True)
def test_the_one_group_of_all_rows_is_there_before_the_first(project: hw.Project) -> None:
    project.log.tick("movements", to=START)
    project.catch_up("total")
    assert shown(project, "total") == [(0, None)]
    project.append("movements", [{"id": 1, "account": "a", "amount": "2.50", "made_at": START.isoformat()}])
    project.catch_up("total")
    assert shown(project, "total") == expected(project, QUERIES["total"])
    assert project.verify("total").identical
