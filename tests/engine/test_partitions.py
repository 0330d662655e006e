"""Views of window functions: a step computes the partitions that new rows come to, and gives the rows of batch."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater import model, sql
from headwater.engine import recent, settle, small
from headwater.engine.prepared import Prepared
from headwater.engine.recent import RecentRows
from headwater.engine.slice import Slice
from headwater.engine.small import Reach
from headwater.log import TopicLog, open_storage
from headwater.log.columns import KeptColumns
from headwater.log.maintenance import compact
from headwater.plan import check
from headwater.plan.physical.description import facts
from tests.plan.planning import view

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
STREAM = """
CREATE STREAM clicks (id BIGINT NOT NULL, page STRING, user INT, price DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '2' SECOND){};
"""
BACK = "ORDER BY at RANGE BETWEEN INTERVAL '6' SECOND PRECEDING AND CURRENT ROW"
AROUND = "ORDER BY at RANGE BETWEEN INTERVAL '3' SECOND PRECEDING AND INTERVAL '2' SECOND FOLLOWING"
VIEWS = f"""
CREATE MATERIALIZED VIEW running WITH (key = 'id, at', grace = '3 seconds') AS
SELECT id, at, page, sum(price) OVER (PARTITION BY page {BACK}) AS total FROM clicks WHERE price > 0.1;
CREATE MATERIALIZED VIEW few WITH (key = 'id, at', grace = '1 second') AS
SELECT id, at, n FROM (SELECT id, at, count(*) OVER (PARTITION BY user, page {AROUND}) AS n FROM clicks) WHERE n < 3;
CREATE MATERIALIZED VIEW before WITH (key = 'id, at', horizon = '5 seconds') AS
SELECT id, at, lag(id) OVER (PARTITION BY page ORDER BY at) AS before FROM clicks;
"""
NAMES = ("running", "few", "before")
SUM = "sum(amount) OVER (PARTITION BY {} ORDER BY at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS s"
KEYED = "WITH (key = 'id')"


def touched(query: str, options: str = KEYED) -> tuple[str, ...]:
    step = view(query, options).physical.step
    return step.touched if step is not None else ()


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        (f"SELECT id, {SUM.format('customer')} FROM orders", ("customer",)),
        (f"SELECT id, {SUM.format('customer, id')} FROM orders WHERE amount > 1", ("customer", "id")),
        (f"SELECT id FROM (SELECT id, {SUM.format('customer')} FROM orders) WHERE s > 3", ("customer",)),
    ],
)
def test_a_step_computes_the_partitions_that_new_rows_come_to(query: str, columns: tuple[str, ...]) -> None:
    assert touched(query) == columns


@pytest.mark.parametrize(
    ("query", "options"),
    [
        (f"SELECT id, {SUM.format('upper(customer)')} FROM orders", KEYED),
        (f"SELECT id, {SUM.format('customer, upper(customer)')} FROM orders", KEYED),
        (f"SELECT id, {SUM.format('customer')} FROM orders", "WITH (emit = 'final')"),
        (f"SELECT id, {SUM.format('customer')} FROM orders", "WITH (key = 'id', every = '5 seconds')"),
        (f"SELECT id, {SUM.format('customer')} FROM orders", "WITH (key = 'id', execution = 'batch')"),
    ],
)
def test_of_other_views_all_that_is_open_is_computed(query: str, options: str) -> None:
    assert touched(query, options) == ()


def test_explain_tells_the_rows_that_are_kept() -> None:
    planned = view(f"SELECT id, {SUM.format('customer')} FROM orders", "WITH (key = 'id', grace = '2 minutes')")
    assert [str(kept) for kept in planned.physical.keeps] == [
        "settle: its position in the store; each step reads what is new",
        "rows: those of orders by customer, in memory, until their time + 1 hour 2 minutes",
    ]
    said = "read what its rows can reach; rows of the same customer matter to each other; the others are as they were"
    assert dict(facts(planned.physical))["steps"].startswith(said)


@pytest.fixture(params=["", " WITH (unique = 'id')"], ids=["all rows", "each event once"])
def project(request: pytest.FixtureRequest, tmp_path: Path, spark: Any) -> Iterator[hw.Project]:
    (tmp_path / "headwater.toml").write_text('name = "partitions"\n')
    (tmp_path / "views.sql").write_text(STREAM.format(request.param) + VIEWS)
    with hw.open(tmp_path) as opened:
        yield opened


def feed(project: hw.Project, chance: random.Random, commits: int) -> Iterator[int]:
    """Some commits of clicks, out of order, some of them late, some of them copies, some of these on other pages."""
    has_copies = "unique" in (project.folder / "views.sql").read_text()
    sent: dict[tuple[int, str], dict[str, object]] = {}
    for commit in range(commits):
        rows: dict[tuple[int, str], dict[str, object]] = {}
        for _ in range(chance.randint(1, 12)):
            at = START + timedelta(seconds=2 * commit + chance.random() * 2 - chance.choice([0, 0, 0, 3, 9, 20]))
            known = chance.choice(list(sent)) if sent and chance.random() < 0.15 else None
            key = known or (len(sent) + len(rows), at.replace(microsecond=0).isoformat())
            page, price = chance.choice(["a", "b", None, "B", "c"]), f"{chance.randint(0, 300) / 100:.2f}"
            row = {"id": key[0], "page": page, "user": chance.randint(1, 2), "price": price, "at": key[1]}
            if known is None or has_copies:  # else a key would be that of several rows
                rows[key] = row
        sent |= rows
        project.append("clicks", list(rows.values()))
        yield commit
        if commit % 6 == 5:  # a step without rows
            project.log.tick("clicks", to=START + timedelta(seconds=2 * commit + 3))
            yield commit


@pytest.mark.parametrize(("few", "compiled"), [(small.FEW, 0), (8, settle.COMPILED)])
def test_every_step_gives_the_rows_of_batch_whatever_was_lost_before(
    project: hw.Project, few: int, compiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of one commit and of several, small and large; with the kept rows, without them, and with damaged ones."""
    monkeypatch.setattr(settle, "COMPILED", compiled)
    monkeypatch.setattr(small, "FEW", few)
    chance = random.Random(18)
    for commit in feed(project, chance, 10 if few > 8 else 6):
        if chance.random() < 0.3:
            continue
        if commit % 5 == 0:
            for kept in project.folder.rglob("partitions-*.arrow"):
                kept.unlink() if chance.random() < 0.5 else kept.write_bytes(kept.read_bytes()[:-9])
        assert [str(done.error) for done in project.catch_up() if done.error] == []
        if commit % 4 == 0:
            assert [project.verify(name).identical for name in NAMES] == [True] * len(NAMES)
    project.catch_up()
    assert [project.verify(name).identical for name in NAMES] == [True] * len(NAMES)
    assert [project.views.ledger(name).remainder for name in NAMES] == [0] * len(NAMES)


def test_what_new_rows_come_to_is_computed_by_a_prepared_plan_and_nothing_else(
    project: hw.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def click(number: int, page: str, second: float) -> dict[str, object]:
        at = (START + timedelta(seconds=second)).isoformat()
        return {"id": number, "page": page, "user": 1, "price": "1.00", "at": at}

    ran: list[int] = []
    run = Prepared.run

    def counted(own: Prepared, tables: Any, instants: Any) -> Any:
        ran.append(sum(table.num_rows for table in tables.values()))
        return run(own, tables, instants)

    project.append("clicks", [click(number, "ab"[number % 2], number / 4) for number in range(8)])
    project.catch_up("running")
    monkeypatch.setattr(Prepared, "run", counted)
    monkeypatch.setattr(Slice, "computed", lambda _: pytest.fail("a step was planned anew"))
    project.append("clicks", [click(8, "b", 2), click(9, "new", 2)])
    project.catch_up("running")
    assert ran == [6], "four of the page, and two that are new"
    project.log.tick("clicks", START + timedelta(hours=1))
    project.catch_up("running")
    assert ran == [6], "a tick asks nothing of Spark"
    project.append("clicks", [click(10, "a", 3601)])
    project.catch_up("running")
    assert ran == [6, 1], "what is too far back is left out"
    assert project.query("SELECT max(total) AS t, count(*) AS n FROM running").to_pylist() == [{"t": 5, "n": 11}]
    monkeypatch.undo()
    assert project.verify("running").identical


# The rows that are found by key

Row = tuple[str, str | None, float]
"""The id, the shop and the minute of a sale."""
SALES = """
CREATE STREAM sales (id STRING, shop STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '1' SECOND){};
CREATE MATERIALIZED VIEW v WITH (key = 'id') AS SELECT id, count(*) OVER (PARTITION BY shop ORDER BY at
  RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS n FROM sales;
"""


@dataclass
class Sales:
    """A log of sales, and those of some shops that are found in it."""

    log: TopicLog
    recent: RecentRows

    def append(self, *rows: Row) -> None:
        values = [{"id": name, "shop": shop, "at": START + timedelta(minutes=minute)} for name, shop, minute in rows]
        table = pa.Table.from_pylist(values, schema=self.log.topic.schema)
        self.log.append(table.append_column("_id", table["id"]) if self.recent.scan.unique else table)

    def find(self, *, after: int, last: int, since: float) -> list[str] | None:
        found = self.recent.find(Reach(after, last, START + timedelta(minutes=since), None))
        return None if found is None else found["id"].to_pylist()


def sales(*commits: Sequence[Row], options: str = "") -> Sales:
    declarations = sql.parse_declarations(SALES.format(options), "views.sql").declarations
    plan = check(model.Project(name="shop", declarations=declarations)).checked()
    (scan,) = plan.view("v").scans
    log = TopicLog(plan.topics["sales"], open_storage(f"memory://{uuid.uuid4()}"), now=lambda: START)
    found = Sales(log, RecentRows(log, scan, plan.view("v").physical.pace, ("shop",), KeptColumns()))
    for rows in commits:
        found.append(*rows)
    return found


def test_rows_are_found_that_have_a_key_of_a_new_one_and_are_not_too_far_back() -> None:
    found = sales([("1", "a", 1), ("2", "b", 2), ("3", None, 3), ("4", "a", 50)], [("5", "a", 60), ("6", None, 2)])
    assert found.find(after=1, last=2, since=1) == ["3", "4", "5", "6"]
    found.append(("7", "b", 61))
    assert found.find(after=2, last=2, since=1) == []
    assert found.find(after=2, last=3, since=1) == ["2", "7"]
    assert found.find(after=1, last=3, since=1) == ["2", "3", "4", "5", "6", "7"], "it begins anew"
    assert found.find(after=1, last=2, since=1) == ["3", "4", "5", "6"], "what came later is left out"


def test_what_is_too_far_back_is_let_go_of() -> None:
    found = sales([(str(number), "a", number) for number in range(10)])
    for number in range(10, 40):
        found.append((str(number), "a", number))
        assert found.find(after=number - 9, last=number - 8, since=number - 3) == [str(number - n) for n in (2, 1, 0)]
    assert len(found.recent._by_key) < 10
    assert found.find(after=0, last=31, since=0) == [str(number) for number in range(40)], "it begins anew"


def test_of_an_event_all_copies_are_found_whatever_their_keys() -> None:
    found = sales([("1", "a", 1), ("2", "b", 2), ("3", "c", 3)], [("2", "a", 2)], options=" WITH (unique = 'id')")
    assert found.find(after=1, last=2, since=0) == ["1", "2", "2"]


def test_rows_of_files_that_were_compacted_are_found_once() -> None:
    found = sales([("1", "a", 1)], [("2", "b", 2)], [("3", "a", 3)])
    assert found.find(after=1, last=2, since=0) == ["2"]
    other = TopicLog(found.log.topic, found.log.storage, now=lambda: START + timedelta(days=30))
    before = found.log.snapshot().files
    assert compact(other) == 3
    for path in before:
        found.log.storage.delete(path)
    assert found.find(after=2, last=3, since=0) == ["1", "3"]


def test_nothing_is_found_where_it_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sales([("1", "a", 1), ("2", "a", 2)], [("3", "a", 3)], [("4", "a", 4), ("5", "a", 5)])
    with monkeypatch.context() as few:
        few.setattr(small, "FEW", 1)
        assert found.find(after=2, last=3, since=0) is None, "two are new"
    with monkeypatch.context() as most:
        most.setattr(recent, "MOST", 2)
        assert found.find(after=1, last=2, since=0) is None, "three are found"
    assert found.find(after=2, last=3, since=0) == ["1", "2", "3", "4", "5"]
    monkeypatch.setattr(recent, "ROOM", 0)
    found.append(*[(str(number), "b", 6) for number in range(6, 20)])
    assert found.find(after=3, last=4, since=0) is None, "there is no room for them"
    assert found.find(after=3, last=4, since=0) is None
