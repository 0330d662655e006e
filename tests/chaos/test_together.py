"""Views that step together in a process that is killed: each has the rows of the commits that it says it has read."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.project import Project
from tests.chaos.test_kill import KILLS, SEED
from tests.operate.test_run import sell
from tests.operate.test_together import BAD, DECLARED, SETTINGS, STREAM, VIEWS, stands

COMMAND = (sys.executable, "-c", "from headwater.cli import main; main()", "run", "--no-serve", "--json")


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`headwater run` in a process group of its own, which is killed at the end."""
    with (folder / "stderr.txt").open("ab") as errors:
        started = subprocess.Popen(COMMAND, cwd=folder, stderr=errors, start_new_session=True)
    try:
        yield started
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait(30)


def check_rows(project: Project, folder: Path) -> None:
    """Each view has counted the events of the commits that it says it has read, once."""
    commits = project.log.commits("sales", last=10_000)
    for view, read in stands(folder).items():
        counted = project.query(f"SELECT sum(n) AS n FROM {view}").to_pylist()[0]["n"]
        assert (view, counted) == (view, sum(commit.rows for commit in commits if commit.number <= read))


@pytest.mark.timeout(300 * (1 + KILLS))
def test_a_run_that_is_killed_within_a_step_leaves_each_view_as_it_says(tmp_path: Path, spark: SparkSession) -> None:
    chance, number = random.Random(SEED), 0
    (tmp_path / "headwater.toml").write_text(SETTINGS)
    (tmp_path / "project.sql").write_text(STREAM + DECLARED + BAD)
    with hw.open(tmp_path) as project:
        sell(project, number)
        project.catch_up()
        for _ in range(KILLS):
            with running(tmp_path):
                wanted = project.log.head("sales") + chance.randint(5, 15)
                while min(stands(tmp_path)[view] for view in VIEWS) < wanted:
                    number += 1
                    sell(project, number, "4.00" if chance.random() < 0.1 else "1.50")
                    time.sleep(chance.random() * 0.2)
            check_rows(project, tmp_path)
        done = {caught_up.view: caught_up for caught_up in project.catch_up(*VIEWS)}
        assert {view: (done[view].error, done[view].rebuilt) for view in VIEWS} == dict.fromkeys(VIEWS, (None, None))
        assert {stands(tmp_path)[view] for view in VIEWS} == {project.log.head("sales")}
        for view in VIEWS:
            verified = project.verify(view)
            assert (view, verified.identical, verified.remainder) == (view, True, 0)
