"""Views of events that ask tables: a step computes those that are new, final, or ask for what has changed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.engine import recent, settle, small
from headwater.engine.prepared import Prepared
from headwater.engine.slice import Slice
from headwater.engine.table_rows import TableRows
from headwater.plan import check
from headwater.plan.physical.description import facts
from tests.plan.planning import declared

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
TOPICS = """
CREATE STREAM clicks (id BIGINT NOT NULL, page STRING, user INT, price INT, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '2' SECOND){};
CREATE TABLE pages (page STRING, title STRING, since TIMESTAMP NOT NULL, PRIMARY KEY (page),
  WATERMARK FOR since AS since - INTERVAL '1' SECOND);
CREATE TABLE limits (user BIGINT, page STRING, most INT, since TIMESTAMP NOT NULL, PRIMARY KEY (user, page),
  WATERMARK FOR since AS since - INTERVAL '1' SECOND);
"""
VIEWS = """
CREATE MATERIALIZED VIEW titled WITH (key = 'id, at', grace = '3 seconds') AS
SELECT c.id, c.at, upper(p.title) AS title FROM clicks c
JOIN pages FOR SYSTEM_TIME AS OF c.at AS p ON p.page = c.page WHERE p.title <> 'b';
CREATE MATERIALIZED VIEW limited WITH (key = 'id, at', grace = '2 seconds') AS
SELECT c.id, c.at, p.title, l.most, l.since FROM (SELECT * FROM clicks WHERE price > 5) c
LEFT JOIN pages FOR SYSTEM_TIME AS OF c.at AS p ON p.page = c.page
LEFT JOIN limits FOR SYSTEM_TIME AS OF c.at AS l ON l.page = c.page AND l.user = c.user AND l.most >= c.price;
CREATE MATERIALIZED VIEW refused WITH (emit = 'final', grace = '1 second') AS
SELECT c.id, c.at, p.title FROM clicks c
JOIN pages FOR SYSTEM_TIME AS OF c.at AS p ON p.page = c.page
LEFT ANTI JOIN limits FOR SYSTEM_TIME AS OF c.at AS l ON l.page = c.page AND l.user = c.user AND l.most >= c.price;
"""
NAMES = ("titled", "limited", "refused")
TITLED = "SELECT c.id, c.at, p.title FROM clicks c JOIN pages FOR SYSTEM_TIME AS OF c.at AS p ON p.page = "


@pytest.fixture(params=["", " WITH (unique = 'id')"], ids=["all rows", "each event once"])
def project(request: pytest.FixtureRequest, tmp_path: Path, spark: Any) -> Iterator[hw.Project]:
    (tmp_path / "headwater.toml").write_text('name = "events"\n')
    (tmp_path / "views.sql").write_text(TOPICS.format(request.param) + VIEWS)
    with hw.open(tmp_path) as opened:
        yield opened


def step_of(query: str, options: str = "WITH (key = 'id')") -> Any:
    project, _ = declared(TOPICS.format("") + f"CREATE MATERIALIZED VIEW v {options} AS {query};", streams="")
    return check(project).checked().view("v").physical


def test_explain_tells_what_a_step_computes_and_what_is_kept() -> None:
    physical = step_of(TITLED + "c.page", "WITH (key = 'id', grace = '2 minutes')")
    assert physical.step.executor == "events"
    assert [str(kept) for kept in physical.keeps] == [
        "settle: its position in the store; each step reads what is new",
        "rows: those of pages by page, in memory; earlier ones, until their time + 2 minutes",
    ]
    said = dict(facts(physical))["steps"]
    assert said.startswith("read events that are new or become final, and what they ask tables for; of the others")


@pytest.mark.parametrize(
    ("query", "options"),
    [
        (TITLED + "upper(c.page)", "WITH (key = 'id')"),
        (TITLED + "c.page", "WITH (key = 'id', every = '5 seconds')"),
        (TITLED + "c.page", "WITH (key = 'id', execution = 'batch')"),
        (f"SELECT title, at, count(*) AS n FROM ({TITLED}c.page) GROUP BY title, at", ""),
    ],
)
def test_of_other_views_all_that_is_open_is_computed(query: str, options: str) -> None:
    assert not step_of(query, options).step.asks


def feed(project: hw.Project, chance: random.Random, commits: int) -> Iterator[int]:
    """Some commits of all topics, out of order, some of the rows late, some copies, some of these of other pages."""
    has_copies = "unique" in (project.folder / "views.sql").read_text()
    sent: dict[tuple[int, str], dict[str, object]] = {}

    def at(commit: int) -> str:
        moved = chance.random() * 2 - chance.choice([0, 0, 0, 3, 9, 20])
        return (START + timedelta(seconds=2 * commit + moved)).replace(microsecond=0).isoformat()

    for commit in range(commits):
        rows: dict[tuple[int, str], dict[str, object]] = {}
        for _ in range(chance.randint(1, 12)):
            known = chance.choice(list(sent)) if sent and chance.random() < 0.15 else None
            key = known or (len(sent) + len(rows), at(commit))
            page, price = chance.choice(["a", "b", None, "c"]), chance.randint(0, 30)
            row = {"id": key[0], "page": page, "user": chance.randint(1, 2), "price": price, "at": key[1]}
            if known is None or has_copies:  # else a key would be that of several rows
                rows[key] = row
        sent |= rows
        project.append("clicks", list(rows.values()))
        for _ in range(chance.randint(0, 2)):
            change = {"page": chance.choice("abc"), "since": at(commit)}
            gone = chance.random() < 0.2
            project.append("pages", [change | ({"_op": "delete"} if gone else {"title": chance.choice("abxy")})])
        if chance.random() < 0.7:
            change = {"page": chance.choice("abc"), "user": chance.randint(1, 2), "since": at(commit)}
            project.append("limits", [change | {"most": chance.randint(0, 30)}])
        yield commit
        if commit % 6 == 5:  # a step without rows
            for topic in ("clicks", "pages", "limits"):
                project.log.tick(topic, to=START + timedelta(seconds=2 * commit + 3))
            yield commit


@pytest.mark.parametrize(("most", "compiled"), [(recent.MOST, 0), (25, settle.COMPILED)])
def test_every_step_gives_the_rows_of_batch_whatever_was_lost_before(
    project: hw.Project, most: int, compiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of one commit and of several, small and large; with the kept rows, without them, and with damaged ones."""
    monkeypatch.setattr(settle, "COMPILED", compiled)
    monkeypatch.setattr(settle, "WORTH", 0)
    monkeypatch.setattr(recent, "MOST", most)
    chance = random.Random(18 + most)
    for commit in feed(project, chance, 10):
        if chance.random() < 0.3:
            continue
        if commit % 5 == 0:
            for kept in project.folder.rglob("partitions-*.arrow"):
                kept.unlink() if chance.random() < 0.5 else kept.write_bytes(kept.read_bytes()[:-9])
        assert [str(done.error) for done in project.catch_up() if done.error] == []
        if commit % 4 == 0:
            assert [name for name in NAMES if not project.verify(name).identical] == []
    project.catch_up()
    assert [name for name in NAMES if not project.verify(name).identical] == []
    assert [project.views.ledger(name).remainder for name in NAMES] == [0] * len(NAMES)


def test_an_event_is_computed_when_it_comes_and_again_when_what_it_asks_for_has_changed(
    project: hw.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def click(number: int, page: str, second: float, price: int = 6) -> dict[str, object]:
        at = (START + timedelta(seconds=second)).isoformat()
        return {"id": number, "page": page, "user": 1, "price": price, "at": at}

    ran: list[dict[str, int]] = []
    run = Prepared.run

    def counted(own: Prepared, tables: Any, instants: Any) -> Any:
        ran.append({name: table.num_rows for name, table in tables.items() if table.num_rows})
        return run(own, tables, instants)

    before = (START - timedelta(seconds=1)).isoformat()
    project.append("pages", [{"page": page, "title": page, "since": before} for page in "abcdefgh"])
    project.append("clicks", [click(number, "ab"[number % 2], number / 4) for number in range(8)])
    project.catch_up("limited")
    monkeypatch.setattr(Prepared, "run", counted)
    monkeypatch.setattr(Slice, "computed", lambda _: pytest.fail("a step was planned anew"))
    project.append("clicks", [click(8, "b", 2), click(9, "c", 2)])
    project.catch_up("limited")
    assert ran == [{"__scan0": 2, "__scan1": 2}], "two that are new, and their pages"
    project.append("pages", [{"page": "a", "title": "A", "since": (START + timedelta(seconds=1)).isoformat()}])
    project.catch_up("limited")
    assert ran[1:] == [{"__scan0": 4, "__scan1": 2}], "those that ask for the page"
    for topic in ("clicks", "pages", "limits"):
        project.log.tick(topic, START + timedelta(hours=1))
    project.catch_up("limited")
    assert len(ran) == 2, "a tick asks nothing of Spark"
    rows = project.query("SELECT id, title FROM limited ORDER BY id").to_pylist()
    assert [row["title"] for row in rows] == ["a", "b", "a", "b", "A", "b", "A", "b", "b", "c"]
    monkeypatch.undo()
    assert project.verify("limited").identical


def test_a_step_holds_one_row_for_each_key_of_a_table_and_those_that_open_events_may_ask_for(
    project: hw.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []
    find = TableRows.find

    def counted(own: TableRows, *arguments: Any) -> Any:
        found = find(own, *arguments)
        held.append(len(own))
        return found

    monkeypatch.setattr(TableRows, "find", counted)
    monkeypatch.setattr(small, "FEW", 1000)
    for second in range(40):
        at = (START + timedelta(seconds=second)).isoformat()
        project.append("pages", [{"page": page, "title": f"{page}{second}", "since": at} for page in "abc"])
        project.append("limits", [{"user": 1, "page": page, "most": second, "since": at} for page in "abc"])
        project.append("clicks", [{"id": second, "page": "a", "user": 1, "price": 9, "at": at}])
        project.catch_up("limited")
    assert 3 <= max(held[-8:]) < 60, held
    assert project.verify("limited").identical
