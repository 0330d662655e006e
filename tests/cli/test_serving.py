"""Commands that show how a project goes, and the tokens of its API, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

import headwater as hw
from headwater.cli.app import app
from headwater.cli.watch import Board
from tests.cli.test_commands import headwater, records
from tests.patience import PATIENCE, eventually, until
from tests.serve.conftest import DECLARED, Bank

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "headwater.toml").write_text('name = "bank"\n')
    (tmp_path / "bank.sql").write_text(DECLARED)
    return tmp_path


def test_status_shows_topics_and_views(folder: Path) -> None:
    with hw.open(folder) as project:
        project.append("payments", [{"id": "1", "card": "c", "amount": "1", "at": NOON}])
        Bank(project, None).write([("c", "1.00", 1)])  # type: ignore[arg-type]
    shown = headwater("status", folder=folder)
    assert shown.returncode == 0, shown.stderr
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert lines[2][:4] == ["payments", "1", "1", "0"]
    assert ["spend", "at", "rest", "1", "0"] in [line[:5] for line in lines]
    (record,) = records("status", folder=folder)
    assert [view["state"] for view in record["views"]] == ["at rest", "empty"]


def test_alerts_are_shown_and_one_that_fires_is_an_exit_code(folder: Path) -> None:
    calm = headwater("alerts", folder=folder)
    assert (calm.returncode, calm.stdout.splitlines()[0]) == (0, "no alerts")
    with hw.open(folder) as project:
        project.append("payments", [{"id": "1", "card": "c", "amount": "much", "at": NOON}])
    shown = headwater("alerts", folder=folder)
    assert shown.returncode == 1
    assert "dead letters  firing  topic payments" in " ".join(shown.stdout.splitlines()[1:2])
    assert "dead letters" in headwater("status", folder=folder).stdout


def test_views_are_paused_and_resumed(folder: Path) -> None:
    paused = headwater("pause", "spend", "--reason", "the store moves", folder=folder)
    assert (paused.returncode, paused.stdout.startswith("spend: paused since ")) == (0, True), paused.stderr
    assert paused.stdout.strip().endswith("UTC: the store moves")
    (record,) = records("status", folder=folder)
    assert [view["state"] for view in record["views"]] == ["paused", "empty"]
    assert headwater("resume", "spend", folder=folder).stdout == "spend: goes on\n"
    assert headwater("pause", "payments", folder=folder).returncode == 1, "it has no intake"


def test_a_promotion_that_no_run_takes_up_is_told_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.operate.wish.PROMOTION", timedelta(milliseconds=300))
    shown = CliRunner().invoke(app, ["promote", "--project", str(folder)])
    assert (shown.exit_code, shown.output.partition(":")[0]) == (0, "no run of the project is at work")
    with hw.open(folder) as project:
        assert project.wishes.promotion() is None, "nothing is left behind for a later run"
    (folder / "more.sql").write_text("CREATE MATERIALIZED VIEW x AS SELECT nope FROM payments;")
    assert CliRunner().invoke(app, ["promote", "--project", str(folder)]).exit_code == 1


def test_tokens_are_made_listed_and_revoked(folder: Path) -> None:
    made = headwater("token", "create", "till", "--role", "write", "--stream", "payments", folder=folder)
    assert made.returncode == 0
    assert made.stdout.startswith("hw_")
    assert headwater("token", "list", folder=folder).stdout.startswith("till: write of payments, made at ")
    assert made.stdout.strip() not in headwater("token", "list", "--json", folder=folder).stdout
    assert headwater("token", "create", "x", "--role", "king", folder=folder).returncode == 1
    assert headwater("token", "revoke", "till", folder=folder).returncode == 0
    assert headwater("token", "revoke", "till", folder=folder).returncode == 1


def test_watch_shows_what_another_process_changes(folder: Path) -> None:
    with hw.open(folder) as project:
        bank = Bank(project, None)  # type: ignore[arg-type]
        bank.write([("c1", "1.00", 1)])
        command = [
            sys.executable,
            "-c",
            "from headwater.cli import main; main()",
            "watch",
            "spend",
            "--json",
            "--limit",
            "2",
        ]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as watching:
            ended = threading.Event()

            def write() -> None:
                while not ended.wait(0.3):  # from the moment on that it watches
                    bank.write([("c1", f"{bank.batch}.00", bank.batch)])

            writing = threading.Thread(target=write)
            writing.start()
            out, _ = watching.communicate(timeout=PATIENCE)
            ended.set()
            writing.join()
    assert watching.returncode == 0
    changes = [json.loads(line) for line in out.splitlines()]
    assert [change["op"] for change in changes] == ["update", "update"]
    assert changes[1]["after"]["n"] == changes[0]["after"]["n"] + 1


def test_a_board_has_the_newest_change_on_top(folder: Path) -> None:
    from rich.console import Console

    with hw.open(folder) as project:
        board = Board("spend", project.plan().view("spend"))
    row = {"card": "c1", "window_end": NOON, "spent": "1.00", "n": 1}
    board.take({"op": "insert", "before": None, "after": row})
    board.take({"op": "insert", "before": None, "after": row | {"card": "c2"}})
    board.take({"op": "update", "before": row, "after": row | {"n": 2}})
    console = Console(width=100)
    with console.capture() as captured:
        console.print(board)
    title, _, first, second = captured.get().splitlines()
    assert title.strip() == "spend: 3 changes"
    assert (first.split()[:2], second.split()[:2]) == (["~", "c1"], ["+", "c2"])
    assert board.line({"op": "delete", "before": row, "after": None}).startswith("[red]-[/] card=c1")


def java_that_never_starts(folder: Path) -> Path:
    """A Java that knows its version, tells that it was called, and then waits."""
    program = folder / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\n[ "$1" = -version ] && {{ echo \'openjdk version "21.0.2"\' >&2; exit; }}\n'
        f'echo called > "{folder}/called"\nexec sleep 600\n'
    )
    program.chmod(0o755)
    return folder / "java"


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_run_serves_what_is_in_the_store_before_spark_is_there(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, workers: str
) -> None:
    with hw.open(folder) as project:
        project.append("payments", [{"id": "1", "card": "c", "amount": "1", "at": NOON}])
        Bank(project, None).write([("c", "1.00", 1)])  # type: ignore[arg-type]
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    command = [sys.executable, "-c", "from headwater.cli import main; main()", "run", "--port", "0", "--json"]
    command += ["--workers", workers]
    environment = os.environ | {"JAVA_HOME": str(java_that_never_starts(elsewhere)), "PATH": "/usr/bin:/bin"}
    run = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    try:
        started = json.loads(run.stderr.readline())
        assert started["event"] == "project starts"
        until((elsewhere / "called").exists)
        served = httpx.get(f"{started['url']}/views/spend", timeout=PATIENCE)
        assert (served.status_code, [row["card"] for row in served.json()["rows"]]) == (200, ["c"])
        eventually(lambda: _states(started["url"]), ["starting", "starting"])
        (folder / "more.sql").write_text("CREATE MATERIALIZED VIEW more AS SELECT id FROM payments;")
        promoted = httpx.post(f"{started['url']}/promote", timeout=PATIENCE)
        assert (promoted.status_code, promoted.json().get("added")) == (200, ["more"])
        eventually(lambda: len(_states(started["url"])), 3)
    finally:
        run.terminate()
        with run.stderr as told:
            assert run.wait(PATIENCE) == 0, told.read()


def _states(url: str) -> list[str]:
    return [view["state"] for view in httpx.get(f"{url}/status", timeout=PATIENCE).json()["views"]]
