"""Runs that are disturbed: a locked store, a damaged checkpoint, Ctrl-C, another run at the same time."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headwater as hw
from headwater.engine.checkpoint import Checkpoint
from headwater.engine.failure import failure_of
from headwater.errors import ViewInterrupted
from headwater.operate import CaughtUp, Patience, Reading
from headwater.operate.versions import Versions
from headwater.project import Project
from tests.patience import PATIENCE

START = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = """
name = "supervised"
[stores.main]
url = "sqlite:///views.db"
options = { busy_timeout = "100 ms" }
[catch_up]
attempts = 3
backoff = "1 second"
[spark]
"spark.master" = "local[2]"
"""
STREAM = """
CREATE STREAM sales (id STRING, shop STRING, amount DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND);
"""
TOTALS = (
    "CREATE MATERIALIZED VIEW totals WITH (emit = 'changes', grace = '1 minute', execution = 'live') AS"
    " SELECT shop, window_end, sum(amount) AS total, count(*) AS n"
    " FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY shop, window_end;\n"
)
PLAIN = "CREATE MATERIALIZED VIEW plain AS SELECT id, amount FROM sales;\n"


def make(folder: Path, views: str) -> Path:
    folder.mkdir()
    (folder / "headwater.toml").write_text(SETTINGS)
    (folder / "project.sql").write_text(STREAM + views)
    return folder


def feed(project: Project, commits: range) -> None:
    """Two sales a commit, two seconds apart."""
    for number in commits:
        at = [START + timedelta(seconds=4 * number + second) for second in (0, 2)]
        rows = [{"id": f"{number}-{shop}", "shop": shop, "amount": "1.50"} for shop in ("a", "b")]
        project.append("sales", [row | {"at": found} for row, found in zip(rows, at, strict=True)])


def counted(project: Project) -> int:
    return int(project.query("SELECT sum(n) AS n FROM totals").to_pylist()[0]["n"])


def one(done: list[CaughtUp]) -> CaughtUp:
    (found,) = done
    if found.error is not None:
        raise found.error
    return found


@pytest.fixture
def home(tmp_path: Path, spark: SparkSession) -> Path:
    assert spark
    return tmp_path


# Trying again


class Locked:
    """A process that holds a transaction of the store, until it is let go of."""

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self._connection.execute("BEGIN IMMEDIATE")

    def release(self) -> None:
        self._connection.execute("ROLLBACK")
        self._connection.close()


def test_a_store_that_is_locked_for_a_while_is_waited_for_and_nothing_is_doubled(home: Path) -> None:
    folder = make(home / "project", TOTALS)
    readings: list[Reading] = []
    locks: list[Locked] = []

    def disturb(reading: Reading) -> None:
        """Lock the store once a batch is in it, and let go when the run has been told to wait."""
        readings.append(reading)
        if sum(reading.commits.values()) == 2 and not locks:
            locks.append(Locked(folder / "views.db"))
        elif reading.note and len([found for found in readings if found.note]) == 1:
            locks[0].release()

    with hw.open(folder) as project:
        feed(project, range(6))
        done = one(project.catch_up(options={"max_commits": "2"}, progress=disturb))
        assert done.rebuilt is None
        (note,) = [reading.note for reading in readings if reading.note]
        assert note.startswith("attempt 2 of 3 in ")
        assert "could not be written" in note
        assert counted(project) == 12
        assert project.verify("totals").identical


def test_a_file_of_the_log_that_is_away_for_a_while_is_waited_for(home: Path) -> None:
    folder = make(home / "project", TOTALS)
    notes: list[str] = []

    with hw.open(folder) as project:
        feed(project, range(6))
        files = (folder / "data" / "log" / "sales").glob("*.parquet")
        away = max(files, key=lambda file: file.stat().st_mtime_ns)
        away.rename(home / away.name)

        def restore(reading: Reading) -> None:
            if reading.note:
                notes.append(reading.note)
                (home / away.name).rename(away)

        one(project.catch_up(options={"max_commits": "3"}, progress=restore))
        assert len(notes) == 1
        assert away.name in notes[0]
        assert counted(project) == 12
        assert project.verify("totals").identical


def test_patience_comes_to_an_end_and_the_next_run_goes_on(home: Path) -> None:
    folder = make(home / "project", TOTALS)
    with hw.open(folder) as project:
        feed(project, range(2))
        one(project.catch_up())
        feed(project, range(2, 4))
        lock, notes = Locked(folder / "views.db"), list[str]()
        (done,) = project.catch_up(progress=lambda reading: notes.append(reading.note) if reading.note else None)
        assert done.error is not None
        assert (done.error.code(), len(notes)) == ("store-unavailable", 2)
        lock.release()
        assert one(project.catch_up()).rebuilt is None
        assert counted(project) == 8
        assert project.verify("totals").identical


def test_the_wait_grows_is_spread_by_chance_and_has_an_end() -> None:
    patience = Patience(attempts=9, backoff=timedelta(seconds=1), longest_backoff=timedelta(seconds=10))
    assert [patience.wait(failures, chance=1).total_seconds() for failures in range(1, 7)] == [1, 2, 4, 8, 10, 10]
    assert [patience.wait(2, chance).total_seconds() for chance in (0, 0.5, 1)] == [1, 1.5, 2]


def test_a_lost_worker_is_a_reason_to_try_again(spark: SparkSession) -> None:
    crash = F.udf(lambda _: os._exit(1), "int")
    with pytest.raises(Exception, match="worker") as caught:
        spark.range(1).select(crash("id")).collect()
    assert isinstance(failure_of("v", caught.value), ViewInterrupted)


# Checkpoints that can't be read


def newest(folder: Path) -> Path:
    return max((file for file in folder.iterdir() if file.name.isdigit()), key=lambda file: int(file.name))


def changelogs(checkpoint: Path) -> list[Path]:
    return sorted((checkpoint / "state" / "0").glob("*/*.changelog"))


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "offsets cut short": (lambda at: newest(at / "offsets").write_text("v2\n"), "offsets/"),
    "offsets empty": (lambda at: newest(at / "offsets").write_text(""), "offsets/"),
    "offsets lost": (lambda at: shutil.rmtree(at / "offsets"), "its checkpoint is gone"),
    "commits foreign": (lambda at: newest(at / "commits").write_text("rubbish"), "commits/"),
    "commits lost": (lambda at: shutil.rmtree(at / "commits"), "Batch "),
    "metadata foreign": (lambda at: (at / "metadata").write_text("rubbish"), "metadata"),
    "state lost": (lambda at: shutil.rmtree(at / "state"), "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"),
    "state of a partition lost": (lambda at: shutil.rmtree(at / "state" / "0" / "1"), "CANNOT_LOAD_STATE_STORE"),
    "a file of the state lost": (lambda at: changelogs(at)[0].unlink(), "CANNOT_LOAD_STATE_STORE"),
    "state cut short": (
        lambda at: [file.write_bytes(file.read_bytes()[:9]) for file in changelogs(at)],
        "CANNOT_LOAD_STATE_STORE",
    ),
    "state of another format": (
        lambda at: [file.write_bytes(b"another format" * 9) for file in changelogs(at)],
        "CANNOT_LOAD_STATE_STORE",
    ),
    "a bit of the state flipped": (lambda at: [flip(file) for file in changelogs(at)], "CANNOT_LOAD_STATE_STORE"),
}


@pytest.fixture(scope="module")
def built(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose view was brought up to date in several batches, and two commits that it has not read."""
    folder = make(tmp_path_factory.mktemp("built") / "project", TOTALS)
    with hw.open(folder) as project:
        feed(project, range(3))
        one(project.catch_up(options={"max_commits": "1"}))
        feed(project, range(3, 5))
    return folder


@pytest.mark.parametrize("name", DAMAGES)
def test_a_checkpoint_that_cannot_be_read_is_rebuilt_and_says_so(built: Path, home: Path, name: str) -> None:
    folder = shutil.copytree(built, home / "copy")
    damage, said = DAMAGES[name]
    damage(folder / ".headwater" / "state" / "totals" / "v1")
    with hw.open(folder) as project:
        done = one(project.catch_up())
        assert done.version == 2
        assert done.rebuilt is not None
        assert said in done.rebuilt
        assert counted(project) == 10
        assert project.verify("totals").identical


def test_a_rebuild_that_fails_is_not_begun_again_and_what_is_served_stays(home: Path) -> None:
    folder = make(home / "project", TOTALS.replace("sum(amount)", "sum(10 / (amount - 1))"))
    with hw.open(folder) as project:
        feed(project, range(2))
        one(project.catch_up())
        project.append("sales", {"id": "poison", "shop": "a", "amount": "1.00", "at": START})
        shutil.rmtree(folder / ".headwater" / "state" / "totals" / "v1" / "state")
        for _ in range(2):
            (done,) = project.catch_up()
            assert done.error is not None
            assert (done.error.code(), done.error.fields["commit"]) == ("view-failed", 3)
            versions = project.explain("totals").versions
            assert [(found.target.version, found.promoted) for found in versions] == [(1, True), (2, False)]
        assert counted(project) == 4


# Stopping


@pytest.mark.parametrize("way", ["Ctrl-C", "close"])
def test_a_run_that_is_stopped_keeps_what_it_has_done_and_goes_on_later(home: Path, way: str) -> None:
    folder = make(home / "project", TOTALS)
    reached: list[int] = []

    def stop(reading: Reading) -> None:
        reached.append(sum(reading.commits.values()))
        if reached[-1] == 2:
            if way == "Ctrl-C":
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            else:
                threading.Thread(target=project.views.opened().run.stop).start()

    with hw.open(folder) as project:
        feed(project, range(12))
        if way == "Ctrl-C":
            with pytest.raises(KeyboardInterrupt):
                project.catch_up(options={"max_commits": "1"}, progress=stop)
        else:
            (done,) = project.catch_up(options={"max_commits": "1"}, progress=stop)
            assert isinstance(done.error, ViewInterrupted)
    assert max(reached) < 12
    with hw.open(folder) as project:
        done = one(project.catch_up())
        assert (done.version, done.rebuilt) == (1, None)
        assert counted(project) == 24
        assert project.verify("totals").identical


# Several at a time


def test_views_run_side_by_side_and_are_answered_in_the_order_of_declaration(home: Path) -> None:
    both = threading.Barrier(2)
    met: set[str] = set()

    def meet(reading: Reading) -> None:
        """Let no view end before the other has begun."""
        if reading.view not in met:
            met.add(reading.view)
            both.wait(PATIENCE)

    with hw.open(make(home / "project", TOTALS + PLAIN)) as project:
        feed(project, range(2))
        assert [done.view for done in project.catch_up(progress=meet)] == ["totals", "plain"]
        assert [done.view for done in project.catch_up("plain", "totals")] == ["plain", "totals"], "as they were named"
        assert project.query("SELECT count(*) AS n FROM plain").to_pylist() == [{"n": 4}]


def test_a_view_that_another_run_works_on_is_left_alone(home: Path) -> None:
    with hw.open(make(home / "project", TOTALS + PLAIN)) as project:
        feed(project, range(1))
        planned = project.plan().view("totals")
        views = project.views.opened()
        theirs = Versions(planned, views.catalog.stores.named("main"), project.folder / ".headwater" / "state", {})
        with theirs.locked():
            totals, plain = project.catch_up()
        assert totals.error is not None
        assert totals.error.code() == "view-busy"
        assert plain.error is None
        assert Checkpoint.of(planned, project.folder / ".headwater" / "state" / "totals" / "v1").last_begun() is None
