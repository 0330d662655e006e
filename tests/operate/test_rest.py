"""Views that a catch-up has nothing to do for: it ends without Spark, and says the same."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.operate.rest import at_rest
from tests.patience import PATIENCE

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DECLARED = """
CREATE STREAM payments (id STRING NOT NULL, card STRING, amount INT, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND);
CREATE MATERIALIZED VIEW per_minute WITH (emit = 'final', execution = 'live') AS
SELECT card, window_start, window_end, sum(amount) AS spent
FROM TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY card, window_start, window_end;
CREATE MATERIALIZED VIEW settled WITH (execution = 'settle') AS
SELECT card, window_start, window_end, count(*) AS payments
FROM TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY card, window_start, window_end;
CREATE MATERIALIZED VIEW large AS SELECT id, amount, at FROM payments WHERE amount > 5;
CREATE MATERIALIZED VIEW per_hour AS
SELECT window_start, window_end, sum(spent) AS spent
FROM TUMBLE(TABLE per_minute, DESCRIPTOR(window_end), INTERVAL '1' HOUR) GROUP BY window_start, window_end;
"""
CATCH_UP = [sys.executable, "-c", "from headwater.cli import main; main()", "catch-up"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "headwater.toml").write_text('name = "bank"\n')
    (tmp_path / "bank.sql").write_text(DECLARED)
    return tmp_path


def pay(project: hw.Project, *minutes: float) -> None:
    rows = [
        {"id": f"{minute}", "card": "c", "amount": 1 + int(minute), "at": NOON + timedelta(minutes=minute)}
        for minute in minutes
    ]
    project.append("payments", rows)


def without_java(folder: Path) -> subprocess.CompletedProcess[str]:
    """`headwater catch-up` where Spark can't start."""
    java = folder / "java" / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text('#!/bin/sh\n[ "$1" = -version ] && echo \'openjdk version "21"\' >&2 || exit 1\n')
    java.chmod(0o755)
    environment = os.environ | {"JAVA_HOME": str(folder / "java"), "NO_COLOR": "1", "COLUMNS": "200"}
    return subprocess.run(CATCH_UP, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE)


def resting(project: hw.Project) -> dict[str, bool]:
    catalog = project.views.opened().catalog
    return {planned.name: at_rest(catalog, planned) is not None for planned in catalog.materialized()}


def test_a_catch_up_with_nothing_to_do_says_the_same_and_needs_no_spark(folder: Path, spark: SparkSession) -> None:
    with hw.open(folder) as project:
        pay(project, 0, 1, 2, 70)
        first = project.catch_up()
        rows = {view.view: project.rows(view.view).to_pylist() for view in first}
        assert all(view.error is None for view in first)
        assert [(view.view, view.version, view.position) for view in project.catch_up()] == [
            (view.view, view.version, view.position) for view in first
        ]
    again = without_java(folder)
    assert (again.returncode, again.stderr) == (0, "")
    assert [line.split(":")[0] for line in again.stdout.splitlines()] == [view.view for view in first]
    with hw.open(folder) as project:
        assert {view: project.rows(view).to_pylist() for view in rows} == rows
        pay(project, 75)
    refused = without_java(folder)
    assert (refused.returncode, "Spark did not start" in refused.stderr) == (1, True), "there is something to do"


def test_a_view_is_not_at_rest_while_anything_is_left_to_do(folder: Path, spark: SparkSession) -> None:
    with hw.open(folder) as project:
        pay(project, 0, 1, 70)
        assert not any(resting(project).values()), "nothing was read"
        project.catch_up()
        assert all(resting(project).values())
        project.wishes.ask_replay("large")
        assert resting(project) == {"per_minute": True, "settled": True, "large": False, "per_hour": True}
        project.catch_up()
        project.log.tick("payments", to=NOON + timedelta(hours=3))
        assert resting(project) == {"per_minute": False, "settled": False, "large": False, "per_hour": True}
        done = project.catch_up()
        assert [view.error for view in done] == [None] * 4, "what is published meanwhile is read too"
        assert [row["spent"] for row in project.rows("per_hour").to_pylist()] == [3, 71]
        assert all(resting(project).values())


def test_a_view_whose_last_batch_is_not_finished_is_run(folder: Path, spark: SparkSession) -> None:
    with hw.open(folder) as project:
        pay(project, 0, 70)
        project.catch_up()
        commits = folder / ".headwater" / "state" / "per_minute" / "v1" / "commits"
        newest = max(commits.iterdir(), key=lambda file: int(file.name) if file.name.isdigit() else -1)
        newest.unlink()
        (commits / f".{newest.name}.crc").unlink()
        assert not resting(project)["per_minute"]
        assert project.catch_up("per_minute")[0].error is None
        assert resting(project)["per_minute"]


def test_a_view_that_was_declared_anew_or_is_not_served_is_run(folder: Path, spark: SparkSession) -> None:
    with hw.open(folder) as project:
        pay(project, 0, 70)
        project.catch_up()
    (folder / "bank.sql").write_text(DECLARED.replace("amount > 5", "amount > 6"))
    with hw.open(folder) as project:
        assert resting(project) == {"per_minute": True, "settled": True, "large": False, "per_hour": True}
