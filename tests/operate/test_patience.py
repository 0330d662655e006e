"""A run that follows, before Spark is asked for anything: another run that has the view, and a store that is away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.errors import ViewBusy
from headwater.model import Store as Declared
from headwater.operate import Patience, Reading
from headwater.operate.halt import Halt
from headwater.operate.supervise import Run, RunOptions, Work
from headwater.operate.versions import Versions
from headwater.project import Project
from headwater.store import open_store

SQL = """
CREATE STREAM sales (shop STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW plain AS SELECT shop FROM sales;
"""
BRIEF = Patience(attempts=2, backoff=timedelta(milliseconds=1), longest_backoff=timedelta(milliseconds=20))


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    (tmp_path / "shop.sql").write_text(SQL)
    with hw.open(tmp_path) as opened:
        yield opened


Follow = Callable[..., tuple[Run, list[Reading]]]


@pytest.fixture
def follow(project: Project) -> Follow:
    """Makes a run of the view in a store, and a list of what it reports."""

    def make(url: str = "sqlite:///views.db", **options: Any) -> tuple[Run, list[Reading]]:
        planned, told = project.plan().view("plain"), list[Reading]()
        store = open_store(Declared(name="main", url=url), project.folder)
        versions = Versions(planned, store, project.folder / ".headwater" / "state", {})
        how = RunOptions(Halt(), told.append, patience=BRIEF, chance=lambda: 0.5)
        return Run(Work(planned, store, versions, project.wishes, {}, None), replace(how, **options)), told

    return make


def test_a_second_run_is_told_at_once_or_waits_until_it_may_take_over(follow: Follow) -> None:
    theirs, _ = follow()
    impatient, _ = follow(waits=False)
    patient, told = follow()
    waiting = threading.Thread(target=patient.keep_up)
    with theirs.work.versions.locked():
        done = impatient.keep_up()
        assert isinstance(done.error, ViewBusy) and "process " in str(done.error.detail)
        waiting.start()
        while len(told) < 3:
            time.sleep(0.01)
        assert all("brought up to date by another run" in str(found.note) for found in told)
    patient.how.halt.now()
    waiting.join()


def test_a_view_whose_store_is_away_waits_and_stops_after_the_stated_time(follow: Follow) -> None:
    stated = replace(BRIEF, give_up_after=timedelta(milliseconds=200))
    run, told = follow("delta://headwater.toml", patience=stated)  # a file where a folder should be
    began = time.monotonic()
    done = run.keep_up()
    assert time.monotonic() - began > 0.2
    assert done.error is not None and done.error.code() == "store-unavailable"
    assert told and all("could not be" in str(found.note) for found in told)
