"""The commands for views, on the tests' own Spark session: what they print, and what they exit with."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rich.console import Console
from typer.testing import CliRunner

import headwater as hw
from headwater.cli import views as shown
from headwater.cli.app import app
from headwater.operate import Reading

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
SQL = """
CREATE STREAM sales (id STRING, shop STRING, amount INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW totals AS SELECT shop, window_end, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY shop, window_end;
CREATE MATERIALIZED VIEW shares AS SELECT id, 100 DIV amount AS share FROM sales;
"""


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("cli")
    (found / "headwater.toml").write_text('name = "cli"\n[spark]\n"spark.master" = "local[2]"\n')
    (found / "project.sql").write_text(SQL)
    with hw.open(found) as project:
        for amount in (5, 7, 0):
            project.append("sales", {"id": f"s{amount}", "shop": "a", "amount": amount, "at": "2026-01-01T00:00:01Z"})
    return found


def run(folder: Path, *arguments: str) -> tuple[int, list[dict[str, Any]], list[dict[str, Any]]]:
    """The exit code, and the records on standard output and on standard error."""
    done = CliRunner().invoke(app, [*arguments, "--json", "--project", str(folder)])
    return done.exit_code, *([json.loads(line) for line in text.splitlines()] for text in (done.stdout, done.stderr))


def test_catch_up_ends_with_1_if_a_view_stopped_and_names_the_row(folder: Path) -> None:
    code, done, errors = run(folder, "catch-up", "--max-commits", "1")
    assert code == 1
    assert [(record["view"], record["commits"], record["rebuilt"]) for record in done] == [
        ("totals", {"sales": 3}, None)
    ]
    (error,) = errors
    assert (error["error"], error["view"], error["topic"], error["commit"], error["row"]) == (
        "view-failed", "shares", "sales", "3", "0",
    )  # fmt: skip
    assert json.loads(error["event"])["id"] == "s0"


def test_verify_and_explain_of_a_view_that_was_built(folder: Path) -> None:
    run(folder, "catch-up", "totals")
    code, (verified,), _ = run(folder, "verify", "totals")
    assert (code, verified["identical"], verified["rows"]) == (0, True, 1)
    code, (explained,), _ = run(folder, "explain", "totals")
    assert (code, explained["execution"], explained["versions"][0]["served"]) == (0, "settle", True)
    text = CliRunner().invoke(app, ["explain", "totals", "--project", str(folder)]).stdout
    assert "    parts: one row per shop, window_end, in memory, until the end of its window\n" in text


def test_why_names_the_events_behind_a_row(folder: Path) -> None:
    run(folder, "catch-up", "totals")
    code, (found,), _ = run(folder, "why", "totals", "shop=a")
    assert (code, found["row"]["total"], found["events"]["count"], found["late"]["count"]) == (0, 12, 3, 0)
    assert [event["id"] for event in found["events"]["shown"]["sales"]] == ["s5", "s7", "s0"]
    text = CliRunner().invoke(app, ["why", "totals", "shop=a", "--events", "1", "--project", str(folder)]).stdout
    assert "3 events behind it (sales, the first 1 here)" in text
    code, _, (error,) = run(folder, "why", "totals", "shop=b")
    assert (code, error["error"]) == (1, "unknown-row")


def test_each_view_has_a_line_of_its_own_while_it_catches_up(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120, color_system=None)
    monkeypatch.setattr(shown, "problems", terminal)
    with shown.CatchingUp(quiet=False) as watched:
        watched.update(Reading("totals", {}, {"sales": 9}))
        watched.update(Reading("totals", {"sales": 4}, {"sales": 9}, rows=1200, watermark=START))
        watched.update(
            Reading("shares", {}, {}, note='attempt 2 of 5 in 0.7 s: the store "views.db" could not be written')
        )
        watched._bar.refresh()
        lines = terminal.file.getvalue()  # type: ignore[attr-defined]
    assert "4/9 commits 1,200 rows, watermark 2026-01-01 12:00:00.000" in lines
    assert "attempt 2 of 5 in 0.7 s" in lines


def test_nothing_is_drawn_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with shown.CatchingUp(quiet=False) as watched:
        watched.update(Reading("totals", {"sales": 4}, {"sales": 9}))
    assert capsys.readouterr().err == ""
