"""Views that keep their open groups in parts: which they are, and that their steps give the rows of batch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.engine import settle, small
from headwater.engine.kept import KeptRows
from headwater.engine.parts import Groups
from headwater.engine.prepared import Prepared
from headwater.engine.slice import Slice
from headwater.operators.lowering.stamp import FINAL, KEEP, MARK, PARTS
from tests.plan.planning import view

SETTLED = "WITH (execution = 'settle', grace = '5 seconds')"
TUMBLE = "TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
SESSION = "SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
START = datetime(2026, 1, 5, 12, tzinfo=UTC)
STREAM = """
CREATE STREAM clicks (id BIGINT NOT NULL, page STRING, price DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '2' SECOND){};
"""
WINDOWS = "TUMBLE(TABLE clicks, DESCRIPTOR(at), INTERVAL '10' SECOND)"
VIEWS = f"""
CREATE MATERIALIZED VIEW changing WITH (grace = '5 seconds', execution = 'settle') AS
SELECT page, window_end, count(*) AS n, sum(price) AS total, avg(price) AS mean, first(id) AS first, max(id) AS newest
FROM {WINDOWS} WHERE price > 0.1 GROUP BY page, window_end HAVING count(*) <> 3;
CREATE MATERIALIZED VIEW final WITH (grace = '5 seconds', emit = 'final', execution = 'settle') AS
SELECT upper(page) AS page, window_start, count(*) AS n, stddev(price) AS spread
FROM {WINDOWS} GROUP BY upper(page), window_start, window_end;
CREATE MATERIALIZED VIEW instants WITH (grace = '5 seconds', execution = 'settle') AS
SELECT at, count(*) AS n FROM clicks GROUP BY at;
CREATE MATERIALIZED VIEW visits WITH (grace = '5 seconds', emit = 'changes') AS
SELECT page, window_start, window_end, count(*) AS n, sum(price) AS total, first(id) AS first
FROM SESSION(TABLE clicks PARTITION BY page, DESCRIPTOR(at), INTERVAL '1' SECOND)
GROUP BY page, window_start, window_end HAVING count(*) <> 3;
CREATE MATERIALIZED VIEW bursts WITH (grace = '2 seconds') AS
SELECT window_start, window_end, count(*) AS n, max(id) AS newest
FROM SESSION(TABLE clicks, DESCRIPTOR(at), INTERVAL '1' SECOND) WHERE price > 2.4 GROUP BY window_start, window_end;
"""
NAMES = ("changing", "final", "instants", "visits", "bursts")


def adds(query: str, options: str = SETTLED) -> str | None:
    step = view(query, options).physical.step
    return step.adds if step is not None else None


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT customer, window_end, count(*) AS n FROM {TUMBLE} GROUP BY customer, window_end",
        f"SELECT upper(customer) AS c, window_end, max(id) AS id FROM {TUMBLE} GROUP BY 1, 2 HAVING count(*) > 1",
        "SELECT at, customer, count(*) AS n FROM orders GROUP BY at, customer",
        f"SELECT customer, window_start, window_end, sum(id) AS n FROM {SESSION} GROUP BY 1, 2, 3",
    ],
)
def test_groups_that_end_and_can_be_merged_are_kept_in_parts(query: str) -> None:
    assert adds(query) == "parts"


@pytest.mark.parametrize(
    ("query", "options"),
    [
        (f"SELECT customer, window_end, collect_list(id) AS ids FROM {TUMBLE} GROUP BY customer, window_end", SETTLED),
        (f"SELECT customer, window_end, count(DISTINCT id) AS n FROM {TUMBLE} GROUP BY customer, window_end", SETTLED),
        (
            f"SELECT customer, window_end, count(*) AS n FROM {TUMBLE} GROUP BY customer, window_end",
            "WITH (execution = 'settle', every = '5 seconds')",
        ),
        (f"SELECT customer, window_start, window_end, collect_list(id) AS n FROM {SESSION} GROUP BY 1, 2, 3", ""),
        (  # the declared key is the same for two windows of a customer
            f"SELECT customer, window_end, count(*) AS n FROM {TUMBLE} GROUP BY customer, window_end",
            "WITH (execution = 'settle', key = 'customer')",
        ),
        (
            "SELECT at, customer, count(*) AS n FROM orders GROUP BY at, customer "
            "UNION ALL SELECT at, customer, 1L AS n FROM orders",
            "WITH (execution = 'settle', emit = 'final')",
        ),
        (
            "SELECT at, n, each FROM (SELECT at, count(*) AS n FROM orders GROUP BY at) "
            "LATERAL VIEW explode(sequence(1L, n)) AS each",
            "WITH (execution = 'settle', emit = 'final')",
        ),
    ],
    ids=[
        "lists",
        "distinct",
        "at a cadence",
        "lists in sessions",
        "a key of several groups",
        "beside rows",
        "several rows a group",
    ],
)
def test_other_groups_are_not(query: str, options: str) -> None:
    assert adds(query, options) != "parts"


def test_the_columns_that_groups_are_told_by_are_known() -> None:
    step = view(f"SELECT customer, window_end, count(*) AS n FROM {TUMBLE} GROUP BY customer, window_end", SETTLED)
    assert step.physical.step is not None
    assert step.physical.step.grouped_by == (("customer", "customer"),)


def groups(*rows: tuple[str | None, int, int]) -> Groups:
    """Groups of a page, each with its count and the second at which it is final."""
    pages, counts = [page for page, _, _ in rows], [count for _, count, _ in rows]
    final = pa.array([START + timedelta(seconds=second) for _, _, second in rows], pa.timestamp("us", "UTC"))
    parts = pa.StructArray.from_arrays(
        [pa.array(pages, pa.string()), final, pa.array(counts)], ["page", MARK, "__part0"]
    )
    columns = {"page": pa.array(pages, pa.string()), "n": pa.array(counts), FINAL: final}
    return Groups(pa.table({**columns, KEEP: [True] * len(rows), PARTS: parts}), frozenset(["page", MARK]))


def shown(some: Groups) -> list[tuple[str | None, int]]:
    return [(row["page"], row["n"]) for row in some.rows.to_pylist()]


def test_groups_take_the_place_of_those_that_they_are() -> None:
    before = groups(("a", 1, 10), (None, 2, 10), ("a", 3, 20))
    after = before.added(groups((None, 5, 10), ("b", 7, 20)))
    assert shown(after) == [("a", 1), ("a", 3), (None, 5), ("b", 7)]
    assert shown(after.where(after.after(START + timedelta(seconds=10)))) == [("a", 3), ("b", 7)]


def test_parts_are_those_of_groups_that_new_rows_can_touch() -> None:
    known = groups(("a", 1, 10), (None, 2, 10), ("b", 3, 20)).parts({"page": pa.array(["b", None])})
    assert known.select(["page", "__part0"]).to_pylist() == [{"page": None, "__part0": 2}, {"page": "b", "__part0": 3}]


@pytest.fixture(params=["", " WITH (unique = 'id')"], ids=["all rows", "each event once"])
def project(request: pytest.FixtureRequest, tmp_path: Path, spark: Any) -> Iterator[hw.Project]:
    (tmp_path / "headwater.toml").write_text('name = "parts"\n')
    (tmp_path / "views.sql").write_text(STREAM.format(request.param) + VIEWS)
    with hw.open(tmp_path) as opened:
        yield opened


def feed(project: hw.Project, chance: random.Random, commits: int) -> Iterator[int]:
    """Some commits of clicks, out of order, some of them late, some of them copies."""
    sent: dict[int, dict[str, object]] = {}
    for commit in range(commits):
        rows = []
        for _ in range(chance.randint(1, 20)):
            at = START + timedelta(seconds=2 * commit + chance.random() * 2 - chance.choice([0, 0, 0, 3, 9, 20]))
            number = len(sent) if chance.random() < 0.9 or not sent else chance.randrange(len(sent))
            page, price = chance.choice(["a", "b", None, "B"]), f"{chance.randint(0, 300) / 100:.2f}"
            row = {"id": number, "page": page, "price": price, "at": at.replace(microsecond=0).isoformat()}
            rows.append(sent.setdefault(number, row))
        project.append("clicks", rows)
        yield commit
        if commit % 6 == 5:  # a step without rows
            project.log.tick("clicks", to=START + timedelta(seconds=2 * commit + 3))
            yield commit


@pytest.mark.parametrize("compiled", [settle.COMPILED, 0])
def test_every_step_gives_the_rows_of_batch_whatever_was_lost_before(
    project: hw.Project, compiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of one commit and of several, with the kept parts, with older ones, without any, and with damaged ones."""
    monkeypatch.setattr(settle, "COMPILED", compiled)
    chance, states = random.Random(18), project.folder
    older: dict[Path, bytes] = {}
    for commit in feed(project, chance, 16):
        if chance.random() < 0.3:
            continue
        if commit % 5 == 0:
            for kept in states.rglob("parts-*.arrow"):
                kept.unlink() if chance.random() < 0.5 else kept.write_bytes(kept.read_bytes()[:-9])
            for kept, data in older.items():
                kept.write_bytes(data)
        if commit % 5 == 3:
            older = {kept: kept.read_bytes() for kept in states.rglob("parts-*.arrow")}
        assert [str(done.error) for done in project.catch_up() if done.error] == []
        if commit % 4 == 0:
            assert [project.verify(name).identical for name in NAMES] == [True] * len(NAMES)
    project.catch_up()
    assert [project.verify(name).identical for name in NAMES] == [True] * len(NAMES)
    assert [project.views.ledger(name).remainder for name in NAMES] == [0] * len(NAMES)


def test_a_small_step_is_computed_by_the_plan_that_was_prepared(
    project: hw.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed: list[int] = []
    run = Prepared.run

    def counted(self: Prepared, tables: Any, instants: Any) -> Any:
        executed.append(id(self))
        return run(self, tables, instants)

    monkeypatch.setattr(Prepared, "run", counted)
    for _ in feed(project, random.Random(5), 4):
        project.catch_up("changing")
    assert len(executed) == 4, "every step, also the first: the log is small"
    assert project.verify("changing").identical


def test_parts_that_are_older_than_the_position_are_added_to(
    project: hw.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a killed process leaves them: nothing is read of the log that they hold."""
    commits = feed(project, random.Random(11), 9)
    for commit in commits:
        project.catch_up("visits")
        if commit == 3:
            older = {kept: kept.read_bytes() for kept in project.folder.rglob("parts-*.arrow")}
    for kept in project.folder.rglob("parts-*.arrow"):
        kept.unlink()
    for kept, data in older.items():
        kept.write_bytes(data)
    made_again: list[bool] = []
    groups = Slice.groups

    def told(self: Slice, *given: Any) -> Any:
        made_again.append(self.again)
        return groups(self, *given)

    monkeypatch.setattr(Slice, "groups", told)
    for _ in feed(project, random.Random(12), 2):
        project.catch_up("visits")
    assert True not in made_again
    assert project.verify("visits").identical


def test_a_tick_closes_what_is_due_without_asking_spark(project: hw.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in feed(project, random.Random(5), 4):
        project.catch_up()
    before = [fates(project, name) for name in NAMES]
    monkeypatch.setattr(Prepared, "run", None)
    monkeypatch.setattr(Slice, "groups", None)
    project.log.tick("clicks", START + timedelta(hours=1))
    done = project.catch_up()
    monkeypatch.undo()
    assert [caught_up.error for caught_up in done] == [None] * len(NAMES)
    assert project.query("SELECT count(*) AS n FROM final").to_pylist()[0]["n"] > 0
    assert [project.verify(name).identical for name in NAMES] == [True] * len(NAMES)
    assert [fates(project, name) for name in NAMES] == before


def fates(project: hw.Project, view: str) -> tuple[int, ...]:
    """The number of rows that were read, used and late, and of those that nothing is known of."""
    ledger = project.views.ledger(view)
    return ledger.logged, ledger.used, ledger.late, ledger.remainder


def test_a_step_of_long_rows_is_planned_anew(project: hw.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prepared, "run", None)
    monkeypatch.setattr(settle, "LONG", 10)
    for _ in feed(project, random.Random(3), 3):
        (done,) = project.catch_up("changing")
        assert done.error is None
    assert project.verify("changing").identical


@pytest.mark.parametrize("begun", [True, False])
def test_what_has_come_meanwhile_is_settled_in_a_few_small_steps(
    project: hw.Project, begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    run = Prepared.run

    def told(self: Prepared, tables: Any, instants: Any) -> Any:
        sizes.append(tables["__scan0"].num_rows)
        return run(self, tables, instants)

    monkeypatch.setattr(Prepared, "run", told)
    for module in (settle, small):
        monkeypatch.setattr(module, "FEW", 60)
    commits = feed(project, random.Random(7), 14)
    next(commits)
    if begun:
        project.catch_up("changing")
    for _ in commits:
        pass
    (done,) = project.catch_up("changing")
    assert done.error is None
    assert len(sizes) > 1, "one step would have been too large for the plan that is prepared"
    assert max(sizes) <= 60
    assert project.verify("changing").identical


def test_what_is_kept_at_the_end_is_read_at_the_next_start(
    project: hw.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[bool] = []
    read = KeptRows.read

    def told(self: KeptRows, commits: Any) -> Any:
        rows = read(self, commits)
        reads.append(rows is not None)
        return rows

    monkeypatch.setattr(KeptRows, "read", told)
    for _ in feed(project, random.Random(7), 3):
        project.catch_up("changing")
    assert reads == [True, True]
