"""Views that read the same topic step together: they stand at the same commits, and one that fails is alone with it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.engine import pulse
from headwater.project import Project
from tests.operate.test_run import running, sell
from tests.patience import PATIENCE, eventually, until

pytestmark = pytest.mark.timeout(900)  # each follows many steps, and one may take many seconds
SETTINGS = 'name = "together"\n[spark]\n"spark.master" = "local[2]"\n'
STREAM = """
CREATE STREAM sales (id STRING, shop STRING, amount DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '1' SECOND);
"""
WINDOWS = "TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND)"
VIEWS = ("totals", "averages", "counts")
DECLARED = f"""
CREATE MATERIALIZED VIEW totals WITH (grace = '1 minute') AS
SELECT shop, window_end, sum(amount) AS total, count(*) AS n FROM {WINDOWS} GROUP BY shop, window_end;
CREATE MATERIALIZED VIEW averages WITH (grace = '1 minute') AS
SELECT window_end, avg(amount) AS mean, count(*) AS n FROM {WINDOWS} GROUP BY window_end;
CREATE MATERIALIZED VIEW counts WITH (grace = '1 minute') AS SELECT at, count(*) AS n FROM sales GROUP BY at;
"""
BAD = f"""
CREATE MATERIALIZED VIEW bad WITH (grace = '1 minute') AS
SELECT window_end, sum(1 / CAST(amount - 4 AS INT)) AS x, count(*) AS n FROM {WINDOWS} GROUP BY window_end;
"""


def stands(folder: Path) -> Mapping[str, int]:
    """The commit that each view has read, all at one moment; whoever reads the store sees them so."""
    with closing(sqlite3.connect(f"file:{folder / 'views.db'}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT view, commits, max(batch) FROM headwater_batches GROUP BY view")
        return {view: json.loads(commits)["sales"] for view, commits, _ in rows}


def test_views_of_a_topic_are_written_together_and_one_that_fails_is_alone(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark
    monkeypatch.setattr(pulse, "SLOW", PATIENCE)  # nobody is slow, however busy the machine is
    (tmp_path / "headwater.toml").write_text(SETTINGS)
    (tmp_path / "project.sql").write_text(STREAM + DECLARED + BAD)
    with hw.open(tmp_path) as project:
        project.catch_up()  # the file is there
        with running(project) as done:
            for number in range(pulse.FIRST + 1):  # they begin apart
                append(project, number, tmp_path, [*VIEWS, "bad"])
            for number in range(10, 20):
                sell(project, number)
                until(lambda: together(tmp_path, [*VIEWS, "bad"]) == head(project))
            sell(project, 20, "4.00")
            for number in range(21, 30):
                sell(project, number)
                until(lambda: together(tmp_path, VIEWS) == head(project))
            eventually(lambda: {view.view: view.state for view in project.status().views}["bad"], "stopped")
            append(project, 30, tmp_path, VIEWS)
            assert stands(tmp_path)["bad"] < head(project)
        assert {ended.view: ended.error is None for ended in done} == {**dict.fromkeys(VIEWS, True), "bad": False}
        for view in VIEWS:
            verified = project.verify(view)
            assert (view, verified.identical, verified.remainder) == (view, True, 0)


def append(project: Project, number: int, folder: Path, views: list[str] | tuple[str, ...]) -> None:
    """Sell, until views stand where the log does."""
    sell(project, number)
    until(lambda: {stands(folder).get(view) for view in views} == {head(project)})


def together(folder: Path, views: list[str] | tuple[str, ...]) -> int:
    """The commit that views stand at; no other is ever seen of one of them."""
    at = {view: commit for view, commit in stands(folder).items() if view in views}
    assert len(set(at.values())) == 1, at
    return next(iter(at.values()))


def head(project: Project) -> int:
    return project.log.head("sales")
