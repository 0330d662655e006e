"""A version that is held: built beside the one that is served, compared, promoted if it may be, and the way back."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.errors import PromotionRefused
from headwater.store import Store
from headwater.testing.history import History, Read, Write, check_history
from tests.patience import PATIENCE
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

STREAM = "CREATE STREAM sales (id STRING, shop STRING, n INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);\n"
SHOPS = """CREATE MATERIALIZED VIEW shops {options} AS SELECT shop, window_end, sum(n) AS n, count(*) AS read
FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' DAY) GROUP BY shop, window_end;\n"""
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession) -> Path:
    del spark  # it is begun, and goes on
    (tmp_path / "headwater.toml").write_text('name = "shop"\n')
    declare(tmp_path)
    return tmp_path


def declare(folder: Path, what: str = "sum(n)", options: str = "") -> None:
    (folder / "shop.sql").write_text(STREAM + SHOPS.format(options=options).replace("sum(n)", what))


def sell(project: hw.Project, first: int, count: int = 1, shop: str = "a") -> None:
    rows = [
        {"id": f"{n}", "shop": shop, "n": n, "at": NOON + timedelta(seconds=n)} for n in range(first, first + count)
    ]
    project.append("sales", rows)


def caught_up(project: hw.Project) -> None:
    for done in project.catch_up():
        assert done.error is None, done.error


def rows(project: hw.Project) -> list[dict[str, Any]]:
    return project.rows("shops").select(["shop", "n", "read"]).sort_by("shop").to_pylist()


def held(folder: Path, options: str = "") -> None:
    """A project with version 1 served and version 2, which doubles sums, built beside it."""
    declare(folder, options=options)
    with hw.open(folder) as project:
        sell(project, 1, 3)
        sell(project, 10, 1, shop="b")
        caught_up(project)
        declare(folder, "sum(n * 2)", options)
        project.admin.promote(hold=True)
        caught_up(project)


@pytest.mark.parametrize("execution", ["settle", "live"])
def test_both_versions_are_fed_and_the_way_there_and_back_is_a_promotion(folder: Path, execution: str) -> None:
    held(folder, f"WITH (execution = '{execution}')")
    with hw.open(folder) as project:
        assert rows(project) == [{"shop": "a", "n": 6, "read": 3}, {"shop": "b", "n": 10, "read": 1}]
        sell(project, 4)
        caught_up(project)
        assert rows(project)[0] == {"shop": "a", "n": 10, "read": 4}, "what is served is fed while it is held"
        seen = project.versions.compare("shops")
        assert (seen.old, seen.new, seen.changed, seen.only_old, seen.only_new) == (1, 2, 2, 0, 0)
        assert seen.commits == {"sales": 3}
        (delta,) = seen.deltas
        assert (delta.column, delta.changed, delta.before, delta.after) == ("n", 2, 20, 40)
        assert (delta.least, delta.greatest) == (10, 10)

        done = project.versions.promote("shops", require="SELECT sum(v2.n) = 2 * (SELECT sum(n) FROM v1) FROM v2")
        assert (done.before, done.version) == (1, 2)
        assert done.kept_until is not None
        assert rows(project)[0] == {"shop": "a", "n": 20, "read": 4}
        sell(project, 5)
        caught_up(project)
        assert rows(project)[0] == {"shop": "a", "n": 30, "read": 5}

        assert project.versions.rollback("shops").version == 1
        assert rows(project)[0] == {"shop": "a", "n": 15, "read": 5}, "it was fed all the while"
        sell(project, 6)
        caught_up(project)
        assert rows(project)[0] == {"shop": "a", "n": 21, "read": 6}, "a run doesn't undo it"
        assert [act.act for act in project.admin.audit() if act.subject == "shops"] == [
            "hold view", "promote view", "promoted view", "roll back view",
        ]  # fmt: skip
        assert project.versions.prune("shops") == []
        assert project.verify("shops").version == 1


def test_a_promotion_refuses_itself_and_nothing_is_changed(folder: Path) -> None:
    held(folder)
    with hw.open(folder) as project:
        for gate, why in (
            ({"max_diff": 0.999}, "100.000% of its rows differ, and 99.900% may"),
            ({"require": "SELECT count(*) = 0 FROM new"}, "what is required doesn't hold"),
            ({"version": 7}, "has no version 7"),
        ):
            with pytest.raises(PromotionRefused, match=why):
                project.versions.promote("shops", **gate)  # type: ignore[arg-type]
        assert rows(project)[0]["n"] == 6
        assert [one.served for one in project.versions.of("shops")] == [True, False]
        assert project.versions.promote("shops", max_diff=1, max_missing=0).version == 2
        with pytest.raises(PromotionRefused, match="has no other version"):
            project.versions.promote("shops")


def test_a_replay_that_is_held_is_built_beside_and_has_the_same_rows(folder: Path) -> None:
    with hw.open(folder) as project:
        sell(project, 1, 3)
        caught_up(project)
        (done,) = project.admin.replay("shops", hold=True)
        assert (done.error, done.version) == (None, 2)
        assert [one.served for one in project.versions.of("shops")] == [True, False]
        assert project.versions.compare("shops").is_same
        sell(project, 4)
        caught_up(project)
        assert rows(project)[0]["n"] == 10
        project.versions.promote("shops", max_diff=0, keep_old=timedelta())
        assert project.versions.prune("shops") == [1]


def test_a_reader_of_a_view_that_changes_is_held_and_compared_with_it(folder: Path) -> None:
    """Both versions of it read derived topics of their own, whose commits are not the same."""
    best = """CREATE MATERIALIZED VIEW best AS SELECT window_end AS until, max(n) AS most
    FROM TUMBLE(TABLE shops, DESCRIPTOR(window_end), INTERVAL '1' DAY) GROUP BY window_end;"""
    declare(folder)
    (folder / "best.sql").write_text(best)
    with hw.open(folder) as project:
        sell(project, 1, 3)
        caught_up(project)
        declare(folder, "sum(n * 2)")
        project.admin.promote(hold=True)
        caught_up(project)
        project.log.tick("sales", NOON + timedelta(days=2))
        caught_up(project)
        assert [row["most"] for row in project.rows("best").to_pylist()] == [6], "both are fed, each by its own"
        (changed,) = project.versions.compare("best").examples["changed"]
        assert [row["most"] for row in changed] == [6, 12]
        assert [project.versions.promote(view, max_diff=1).version for view in ("shops", "best")] == [2, 2]
        assert project.rows("best").to_pylist()[0]["most"] == 12


@contextmanager
def without_a_pause(folder: Path) -> Iterator[None]:
    """Events of two shops come all the time, by a process of their own as it seems: nobody waits for views."""
    over = threading.Event()

    def come() -> None:
        with hw.open(folder) as project:
            number = 1
            while not over.wait(0.01):
                sell(project, number, 5, shop="ab"[number % 2])
                number += 5

    coming = threading.Thread(target=come)
    coming.start()
    try:
        yield
    finally:
        over.set()
        coming.join()


@pytest.mark.parametrize(
    "how", ["execution = 'settle'", "execution = 'live', emit = 'changes'", "execution = 'live', emit = 'final'"]
)
def test_a_difference_is_never_one_of_lag_while_events_come_without_a_pause(folder: Path, how: str) -> None:
    """Each row of the new version is twice that of the old one, and each is there in both, whenever one asks."""

    def declared(what: str) -> None:
        declare(folder, what, f"WITH ({how})")
        text = (folder / "shop.sql").read_text()
        (folder / "shop.sql").write_text(text.replace("INTERVAL '1' DAY", "INTERVAL '20' SECOND"))

    declared("sum(n)")
    with without_a_pause(folder), running(folder) as project:
        wait_until(lambda: project.views.served("shops"))
        declared("sum(n * 2)")
        project.admin.promote(hold=True)
        wait_until(lambda: len(project.versions.of("shops")) == 2 and project.versions.of("shops")[1].position)
        seen = []
        for _ in range(5):
            one = project.versions.compare("shops")
            assert (one.only_old, one.only_new) == (0, 0), one
            assert one.rows == one.rows_new == one.changed > 0, one
            assert [(delta.column, delta.after) for delta in one.deltas] == [("n", one.deltas[0].before * 2)], one
            seen.append(one.commits["sales"])
            wait_until(lambda: read_up_to(project) > seen[-1])
        assert seen == sorted(seen)
        twice = "SELECT sum(new.n) = 2 * (SELECT sum(n) FROM old) FROM new"
        assert project.versions.promote("shops", max_missing=0, require=twice).version == 2
        at = project.log.head("sales")
        wait_until(lambda: read_up_to(project) >= at)


def read_up_to(project: hw.Project) -> int:
    """The commit of the sales that the version that is served has read."""
    served = project.views.served("shops")
    assert served is not None and served.position is not None
    return dict(served.position.commits)["sales"]


class Reader:
    """Somebody who looks at a store all the time, and what they saw: of how many events, by which version."""

    def __init__(self, folder: Path, store: str | None = None) -> None:
        self.folder, self.store, self.over = folder, store, threading.Event()
        self.reads: list[Read] = []
        self.factors: list[int] = []
        self.problems: list[str] = []
        self.thread = threading.Thread(target=self.look)

    def look(self) -> None:
        with hw.open(self.folder) as project:
            while not self.over.is_set():
                began = time.monotonic()
                try:
                    answer = project.query("SELECT n, read FROM shops WHERE shop = 'a'", store=self.store).to_pylist()
                except Exception as problem:
                    self.problems.append(repr(problem))
                    continue
                if len(answer) != 1:
                    self.problems.append(f"missing: {answer}")
                    continue
                read, total = answer[0]["read"], answer[0]["n"]
                factor, rest = divmod(total, read * (read + 1) // 2)
                if rest or factor not in (1, 2):
                    self.problems.append(f"mixed: {answer}")
                self.factors.append(factor)
                self.reads.append(Read(str(self.store), began, time.monotonic(), [read]))

    def has_seen(self, states: int, since: int) -> bool:
        """Tells whether so many states were seen since a read: what is served goes on."""
        return len({tuple(read.rows) for read in self.reads[since:]}) > states


@contextmanager
def running(folder: Path) -> Iterator[hw.Project]:
    """A project that runs."""
    with hw.open(folder) as project:
        wanted = threading.Event()
        thread = threading.Thread(target=lambda: project.run(stop=wanted, stays=True))
        thread.start()
        try:
            yield project
        finally:
            wanted.set()
            thread.join(PATIENCE)


def wait_until(what: Any) -> None:
    until = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.05)


@pytest.fixture(params=["sqlite", "postgres and redis"])
def stores(request: pytest.FixtureRequest, folder: Path) -> list[str]:
    """The stores of the project, the one that leads first."""
    if request.param == "sqlite":
        return ["main"]
    server: PostgresServer = request.getfixturevalue("postgres_server")
    redis: RedisServer = request.getfixturevalue("redis_server")
    name = f"swap_{uuid.uuid4().hex}"
    server.query(f"CREATE DATABASE {name}")
    request.addfinalizer(lambda: server.query(f"DROP DATABASE {name} WITH (FORCE)"))
    urls = {"main": server.url.removesuffix("postgres") + name, "other": redis.url.removesuffix("0") + "13"}
    sections = [f'[stores.{store}]\nurl = "{url}"\n' for store, url in urls.items()]
    (folder / "headwater.toml").write_text("\n".join(['name = "shop"', *sections]))
    return list(urls)


def test_a_reader_sees_nothing_missing_mixed_or_backwards_while_versions_are_swapped(
    folder: Path, stores: list[str]
) -> None:
    """The whole story, while a run is at work, events come, and somebody looks at each store all the time."""
    options = f"WITH (store = '{', '.join(stores)}')"
    declare(folder, options=options)
    readers, over, writes = [Reader(folder, store) for store in stores], threading.Event(), []

    def come(project: hw.Project) -> None:
        while True:
            began, number = time.monotonic(), len(writes) + 1
            sell(project, number)
            writes.append(Write(began, None, frozenset({number})))
            if over.wait(0.2):
                return

    with running(folder) as project:
        coming = threading.Thread(target=come, args=(project,))
        coming.start()
        try:
            wait_until(lambda: all(store.promoted("shops") for store in parts(project)))
            for reader in readers:
                reader.thread.start()
            declare(folder, "sum(n * 2)", options)
            (step,) = project.admin.change().views
            assert (step.kind, step.way, step.version) == ("other rows", "build", 2)
            project.admin.promote(hold=True)
            wait_until(lambda: len(project.versions.of("shops")) == 2 and project.versions.of("shops")[1].position)
            with pytest.raises(PromotionRefused, match="of its rows differ"):
                project.versions.promote("shops", max_diff=0.1)
            for _ in range(2):
                for swap in (project.versions.promote, project.versions.rollback):
                    assert swap("shops").version == (2 if swap == project.versions.promote else 1)
                    begun = [len(reader.reads) for reader in readers]
                    for reader, since in zip(readers, begun, strict=True):
                        wait_until(lambda reader=reader, since=since: reader.has_seen(2, since))
        finally:
            over.set()
            coming.join()
            for reader in readers:
                reader.over.set()
                if reader.thread.is_alive():
                    reader.thread.join()
    for reader in readers:
        assert reader.problems == []
        assert check_history(History(writes, reader.reads)) == []
        assert sum(one != other for one, other in pairwise(reader.factors)) == 4, "two ways there and back"


def parts(project: hw.Project) -> list[Store]:
    return list(project.views.opened().ask.store("shops").parts)


def test_a_policy_holds_what_has_changed_over_a_restart(folder: Path) -> None:
    (folder / "headwater.toml").write_text('name = "shop"\n[promotion]\nhold = true\n')
    with hw.open(folder) as project:
        sell(project, 1, 3)
        caught_up(project)
    declare(folder, "sum(n * 2)")
    with hw.open(folder) as project:
        caught_up(project)
        assert rows(project)[0]["n"] == 6
        assert project.versions.is_held("shops")
        assert [view["held"] for view in project.status().as_dict()["views"]] == [True]
        assert project.versions.promote("shops").version == 2
        (done,) = project.admin.replay()
        assert (done.error, done.version, rows(project)[0]["n"]) == (None, 3, 12), "the declaration is the same"
        assert [one.served for one in project.versions.of("shops")] == [False, False, True]


@pytest.mark.parametrize("way", ["changed", "replayed"])
def test_a_version_that_lacks_history_is_held_and_the_old_rows_stay_until_somebody_promotes_it(
    folder: Path, way: str
) -> None:
    with hw.open(folder) as project:
        sell(project, 1, 3)
        sell(project, 10, 1, shop="b")
        caught_up(project)
        assert project.admin.trim("sales", before=2) == 3
        caught_up(project)
        if way == "changed":
            declare(folder, "sum(n * 1)")
            (step,) = project.admin.change().views
            assert (step.view, step.gone) == ("shops", 3)
            project.admin.promote()
            caught_up(project)
        else:
            for done in project.admin.replay():
                assert done.error is None
        assert rows(project)[0] == {"shop": "a", "n": 6, "read": 3}, "what can't be rebuilt is still served"
        sell(project, 11, 1, shop="b")
        caught_up(project)
        assert [row["read"] for row in rows(project)] == [3, 2], "and is fed"
        assert project.versions.is_held("shops")
        with pytest.raises(PromotionRefused, match=r"50\.000% of its rows are missing"):
            project.versions.promote("shops", max_missing=0)
        assert project.versions.promote("shops").version == 2
        assert rows(project) == [{"shop": "b", "n": 21, "read": 2}]
