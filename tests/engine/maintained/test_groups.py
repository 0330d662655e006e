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
from headwater.engine.maintained.arrangement import Arrangement

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


@pytest.fixture(params=["", " WITH (unique = 'id')"], ids=["all rows", "each event once"])
def project(request: pytest.FixtureRequest, tmp_path: Path, spark: Any) -> Iterator[hw.Project]:
    views = [
        f"CREATE MATERIALIZED VIEW {name} WITH (retention = 'forever') AS {query};"
        for name, query in (QUERIES | ANEW).items()
    ]
    (tmp_path / "headwater.toml").write_text('name = "forever"\n')
    (tmp_path / "views.sql").write_text(STREAM.format(request.param) + "\n".join(views))
    with hw.open(tmp_path) as opened:
        yield opened


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
        if commit % 6 == 5:  # a step without rows
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


def shown(project: hw.Project, name: str) -> list[tuple[Any, ...]]:
    rows = project.query(f"SELECT * FROM {name}")
    return sorted((tuple(row.values()) for row in rows.to_pylist()), key=repr)


def same(project: hw.Project) -> None:
    for name, query in (QUERIES | ANEW).items():
        if name != "computed":
            assert shown(project, name) == expected(project, query), name


def test_every_step_gives_the_rows_of_the_whole_log_whatever_was_lost_before(project: hw.Project) -> None:
    """Steps of one commit and of several; with what was kept, without it, and with damaged files."""
    chance, names = random.Random(19), [*QUERIES, *ANEW]
    for commit in feed(project, chance, 14):
        if chance.random() < 0.3:
            continue
        if commit % 5 == 0:
            for kept in [*project.folder.rglob("groups-*.run"), *project.folder.rglob("groups.json")]:
                kept.unlink() if chance.random() < 0.3 else kept.write_bytes(kept.read_bytes()[:-9])
        assert [str(done.error) for done in project.catch_up() if done.error] == []
        same(project)
    project.catch_up()
    same(project)
    assert [project.verify(name).identical for name in names] == [True] * len(names)
    assert [project.views.ledger(name).remainder for name in names] == [0] * len(names)
    assert [project.views.ledger(name).late for name in names] == [0] * len(names)
    assert [project.views.late(name).num_rows for name in names] == [0] * len(names)


def test_a_step_touches_the_groups_of_its_new_rows_alone(project: hw.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    find = Arrangement.find

    def counted(self: Arrangement, keys: pa.Array) -> pa.Table | None:
        rows = find(self, keys)
        found.append(0 if rows is None else rows.num_rows)
        return rows

    def movement(number: int, account: str) -> dict[str, object]:
        return {"id": number, "account": account, "amount": "1.00", "made_at": START.isoformat()}

    project.append("movements", [movement(number, f"account {number}") for number in range(1000)])
    project.catch_up("balances", "computed")
    monkeypatch.setattr(Arrangement, "find", counted)
    project.append("movements", [movement(1000 + number, f"account {number % 3}") for number in range(30)])
    project.catch_up("balances", "computed")
    assert max(found) == 3
    assert [project.verify(name).identical for name in ("balances", "computed")] == [True, True]


def test_the_one_group_of_all_rows_is_there_before_the_first(project: hw.Project) -> None:
    project.log.tick("movements", to=START)
    project.catch_up("total")
    assert shown(project, "total") == [(0, None)]
    project.append("movements", [{"id": 1, "account": "a", "amount": "2.50", "made_at": START.isoformat()}])
    project.catch_up("total")
    assert shown(project, "total") == expected(project, QUERIES["total"])
    assert project.verify("total").identical
