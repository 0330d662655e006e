"""The real process, killed in the middle of its work: nothing is lost and nothing doubled.

`headwater catch-up` is killed at moments that chance decides, and started again with other batches, until it has been
killed often enough; then it may finish. CHAOS_KILLS says how often, CHAOS_SEED which chance: `make chaos` takes many.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.errors import Fenced, StoreUnavailable, ViewBusy
from headwater.operate.supervise import CaughtUp
from headwater.project import Project
from tests.chaos.shop import SETTINGS, VIEWS, Traffic, make

KILLS = int(os.environ.get("CHAOS_KILLS", "1"))
SEED = int(os.environ.get("CHAOS_SEED", "20260101"))
LONGEST_START = 240
COMMAND = (sys.executable, "-c", "from headwater.cli import main; main()", "catch-up", "--json")


class Process:
    """`headwater catch-up` on a project, in a process group of its own."""

    def __init__(self, folder: Path, views: list[str], max_commits: int) -> None:
        self._folder = folder
        with (folder / "stderr.txt").open("wb") as errors:
            self._running = subprocess.Popen(
                [*COMMAND, *views, "--max-commits", str(max_commits)],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )

    @property
    def has_ended(self) -> bool:
        return self._running.poll() is not None

    def kill(self, everything: bool) -> bool:
        """Kill it as a machine would stop it; or Python alone, whose JVM lives on until it has noticed.

        False if it had ended by itself.
        """
        if self.has_ended:
            return False
        if everything:
            os.killpg(self._running.pid, signal.SIGKILL)
        else:
            self._running.kill()
        self._running.wait(30)
        return True

    def signal(self, number: int) -> None:
        """Send a signal to Python and to its JVM."""
        os.killpg(self._running.pid, number)

    def stopped_until(self, catch_up: Callable[[], list[CaughtUp]]) -> CaughtUp:
        """Stop it until another run has caught up; one that was stopped within a transaction goes on for a moment."""
        while True:
            self.signal(signal.SIGSTOP)
            (done,) = catch_up()
            if done.error is None:
                return done
            if isinstance(done.error, ViewBusy):
                time.sleep(0.2)
                continue
            assert isinstance(done.error, StoreUnavailable), done.error
            self.signal(signal.SIGCONT)
            time.sleep(0.01)

    def finish(self) -> int:
        """Wait for its end, and return its exit code."""
        return self._running.wait(280)

    def said(self) -> str:
        return (self._folder / "stderr.txt").read_text()


@contextmanager
def started(folder: Path, views: list[str], max_commits: int) -> Iterator[Process]:
    process = Process(folder, views, max_commits)
    try:
        yield process
    finally:
        process.kill(everything=True)


def batches_of(folder: Path) -> int:
    """How many batches Spark has begun, in all views; it keeps the offsets of the newest ones."""
    checkpoints = (folder / ".headwater" / "state").glob("*/v*/offsets")
    return sum(1 + max((int(file.name) for file in found.glob("[0-9]*")), default=-1) for found in checkpoints)


def wait_until(condition: Callable[[], bool], process: Process) -> None:
    deadline = time.monotonic() + LONGEST_START
    while not condition() and not process.has_ended:
        assert time.monotonic() < deadline, process.said()
        time.sleep(0.01)


def verify(project: Project, views: list[str]) -> None:
    for view in views:
        found = project.verify(view)
        assert found.identical, found
        assert found.rows > 0, f"{view} is empty, which proves nothing"
        assert project.views.ledger(view).remainder == 0


@pytest.mark.timeout(300 * (1 + KILLS))
def test_a_process_that_is_killed_again_and_again_leaves_what_the_log_says(tmp_path: Path, spark: SparkSession) -> None:
    chance = random.Random(SEED)
    views = list(VIEWS) if KILLS > 5 else ["tumbling", "bought"]
    folder, traffic = make(tmp_path / "shop", views), Traffic(chance)
    killed = 0
    while killed < KILLS:
        with hw.open(folder) as project:
            traffic.append(project, commits=chance.randint(5, 25))
        before = batches_of(folder)
        order = chance.sample(views, len(views))
        with started(folder, order, max_commits=chance.choice((1, 1, 2, 5))) as process:
            wanted = before + chance.randint(1, 15)
            wait_until(lambda: batches_of(folder) >= wanted, process)  # noqa: B023  # called at once
            time.sleep(chance.random() * 0.5)
            killed += process.kill(everything=chance.random() < 0.5)
    with hw.open(folder) as project:
        done = project.catch_up()
        assert [(found.error, found.rebuilt) for found in done] == [(None, None)] * len(views)
        verify(project, views)


@pytest.mark.skipif(
    KILLS <= 5, reason="three starts of Spark, and stores are fenced in tests of their own: `make chaos`"
)
def test_a_second_run_is_told_of_the_first_and_one_that_takes_over_fences_it_off(
    tmp_path: Path, spark: SparkSession
) -> None:
    folder = make(tmp_path / "shop", ["tumbling"])
    with hw.open(folder) as project:
        Traffic(random.Random(SEED)).append(project, commits=60)
        with started(folder, ["tumbling"], max_commits=1) as first:
            wait_until(lambda: batches_of(folder) >= 2, first)
            (second,) = project.catch_up()
            assert isinstance(second.error, ViewBusy), first.said()
            assert "process " in str(second.error.detail)
            # as on a shared disk that has no locks, where nobody can see that the first run still works
            for lock in (folder / ".headwater" / "state" / "tumbling").glob("lock*"):  # of the view, and of its version
                lock.unlink()
            (second,) = project.catch_up()
            assert second.error is None, second.error
            assert first.finish() == 1
            assert Fenced.code() in first.said() or ViewBusy.code() in first.said()
        verify(project, ["tumbling"])


@pytest.mark.skipif(KILLS <= 5, reason="two starts of Spark, and leases are tested without it: `make chaos`")
def test_a_run_that_is_stopped_loses_its_view_after_its_lease_and_is_fenced_when_it_goes_on(
    tmp_path: Path, spark: SparkSession
) -> None:
    folder = make(tmp_path / "shop", ["tumbling"])
    (folder / "headwater.toml").write_text(SETTINGS + "[catch_up]\nlease = '2 seconds'\n")
    with hw.open(folder) as project:
        Traffic(random.Random(SEED)).append(project, commits=60)
        with started(folder, ["tumbling"], max_commits=1) as first:
            wait_until(lambda: batches_of(folder) >= 2, first)
            heir = first.stopped_until(project.catch_up)
            assert heir.rebuilt is None, "it goes on from the state of the run that it took the view from"
            first.signal(signal.SIGCONT)
            assert first.finish() == 1
            assert Fenced.code() in first.said()
        assert project.catch_up()[0].rebuilt is None
        verify(project, ["tumbling"])
