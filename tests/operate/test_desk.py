"""The desk of a run: other processes ask there, and do the work themselves if nobody answers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.errors import ArgumentRefused
from headwater.operate.desk import Answer, Declined, Desk, Request, ask, desk_of
from tests.patience import PATIENCE, until

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ASKED = Request("late", "spend", {"most": 3}, {"spend": "1"})


def test_values_and_errors_come_back_as_they_are(tmp_path: Path) -> None:
    rows = pa.table({"amount": pa.array([Decimal("1.50")], pa.decimal128(10, 2))})

    def do(request: Request) -> Any:
        if request.arguments["most"] > 3:
            raise ArgumentRefused("too many", hint="Ask for less.", view=request.view)
        return {"rows": rows, "at": NOON}

    path = desk_of(tmp_path)
    assert ask(path, ASKED) is None, "nobody is there"
    with Desk(path, do):
        assert path.stat().st_mode & 0o077 == 0
        assert ask(path, ASKED) == Answer({"rows": rows, "at": NOON})
        refused = ask(path, Request("late", "spend", {"most": 4}, {}))
        assert refused is not None
        assert refused.error is not None
        assert refused.error.as_dict() == ArgumentRefused("too many", hint="Ask for less.", view="spend").as_dict()
    assert ask(path, ASKED) is None
    assert not path.exists()


def test_what_is_declined_or_goes_wrong_is_left_to_who_asks(tmp_path: Path) -> None:
    def do(request: Request) -> Any:
        raise Declined if request.what == "late" else KeyError("a mistake")

    with Desk(desk_of(tmp_path), do):
        assert ask(desk_of(tmp_path), ASKED) is None
        assert ask(desk_of(tmp_path), Request("why", "spend", {}, {})) is None
        other = Request("late", "spend", {}, {}, program="0.0.0")
        assert ask(desk_of(tmp_path), other) is None, "another version of the program"


def test_one_run_has_the_desk_and_takes_that_of_a_dead_one(tmp_path: Path) -> None:
    path = desk_of(tmp_path)
    path.parent.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with Desk(path, lambda _: 1), Desk(path, lambda _: 2):
        assert ask(path, ASKED) == Answer(1)


def test_a_process_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    path = desk_of(tmp_path)
    with socket.socket(socket.AF_UNIX) as hangs:
        hangs.bind(str(path))
        hangs.listen(1)
        assert ask(path, ASKED) is None


def test_a_path_that_is_too_long_for_a_socket_is_elsewhere(tmp_path: Path) -> None:
    home = tmp_path / ("deep" * 30) / ".headwater"
    with Desk(desk_of(home), lambda _: 1):
        assert ask(desk_of(home), ASKED) == Answer(1)
    assert desk_of(home) != desk_of(tmp_path / ("other" * 30))


DECLARED = """
CREATE STREAM payments (id STRING NOT NULL, card STRING, amount DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND);
CREATE MATERIALIZED VIEW spend AS
SELECT card, window_start, window_end, sum(amount) AS spent
FROM TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY card, window_start, window_end;
"""
HEADWATER = [sys.executable, "-c", "from headwater.cli import main; main()"]
QUESTIONS = [
    ("verify", "spend"),
    ("late", "spend"),
    ("batch", "spend", "--to", "1"),
    ("why", "spend", "card=c", "window_start=2026-01-01T12:00:00Z"),
    ("why", "spend", "card=nobody", "window_start=2026-01-01T12:00:00Z"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "headwater.toml").write_text('name = "bank"\n')
    (tmp_path / "bank.sql").write_text(DECLARED)
    with hw.open(tmp_path) as project:
        for minute in (0, 30, 1):
            at = NOON + timedelta(minutes=minute)
            project.append("payments", [{"id": f"{minute}", "card": "c", "amount": "1.50", "at": at}])
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        [*HEADWATER, "run", "--no-serve", "--json"], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    assert started.stderr is not None
    with started.stderr:
        for line in started.stderr:
            if json.loads(line)["event"] == "view follows":
                break
        yield started
        started.send_signal(signal.SIGTERM)
        started.communicate(timeout=PATIENCE)


def asked(folder: Path, *arguments: str, java: str | None = None) -> tuple[int, str, str]:
    environment = os.environ | {"JAVA_HOME": java or str(folder / "none"), "PATH": "/nowhere"}
    command = [*HEADWATER, *arguments, "--json"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


def test_commands_that_need_spark_ask_the_run_for_it(folder: Path, run: subprocess.Popen[str]) -> None:
    """They have no Java themselves."""
    with hw.open(folder) as project:
        until(lambda: (served := project.views.served("spend")) and dict(served.position.commits) == {"payments": 3})
    answered = [asked(folder, *question) for question in QUESTIONS]
    assert [code for code, _, _ in answered] == [0, 0, 0, 0, 1], answered
    verified, late, batch, why, nothing = answered
    assert json.loads(verified[1])["identical"]
    assert [json.loads(line)["card"] for line in late[1].splitlines()] == ["c"]
    assert json.loads(batch[1])["spent"] == "1.50"
    assert json.loads(why[1])["events"]["count"] == 1
    assert "nobody" in nothing[2]
    (folder / "bank.sql").write_text(DECLARED.replace("sum(amount)", "sum(amount) + 1"))
    assert asked(folder, "batch", "spend")[0] == 1, "the run has other declarations"
    (folder / "bank.sql").write_text(DECLARED)
    run.kill()
    run.wait(PATIENCE)
    code, _, told = asked(folder, "late", "spend")
    assert (code, json.loads(told)["error"]) == (1, "java-missing"), "nobody is there to be asked"
