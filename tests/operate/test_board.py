"""The figures of a run, as another process tells them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from headwater.operate import Reading
from headwater.operate.board import FRESH, Board
from headwater.operate.figures import Figures, Gauge
from tests.patience import PATIENCE, until

START = datetime(2026, 1, 1, tzinfo=UTC)
WRITER = """
import sys, time
from datetime import UTC, datetime
from pathlib import Path
from headwater.operate.board import Board
from headwater.operate.figures import Figures
found = Figures("spend", "following", 2, {"payments": 7}, {"payments": 9}, events=42)
found._batches.append(0.5)
with Board(Path(sys.argv[1])).told(lambda: [found], lambda: datetime.now(UTC)):
    print("told", flush=True)
    sys.stdin.readline()
"""


def measured() -> Figures:
    """A view that has had batches of 0.1 to 10 seconds, and 20 events in each of the last ten seconds."""
    gauge = Gauge(lambda view, name: None, lambda: START)  # type: ignore[arg-type, return-value]
    for number in range(1, 101):
        reading = Reading("spend", {"payments": 1}, {"payments": 3}, 5 * number, START, version=1, events=2)
        gauge.take(replace(reading, began_at=START - timedelta(seconds=number / 10), state_bytes=512))
    (found,) = gauge.figures()
    return found


def written_and_read(found: Figures) -> Figures:
    return Figures.read(json.loads(json.dumps(found.record(START), default=str)), START)


def test_what_is_written_down_is_told_as_it_was() -> None:
    found = measured()
    again = written_and_read(found)
    assert again.as_dict(START) == found.as_dict(START)
    assert (again.lag, again.batch_time(0.5), again.rates(START)) == (2, 5.1, (20.0, 50.0))
    assert written_and_read(Figures("new")).as_dict(START) == Figures("new").as_dict(START)


def test_another_process_is_believed_while_it_runs(tmp_path: Path) -> None:
    board = Board(tmp_path)
    writer = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(writer, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        process.stdout.readline()
        until(lambda: board.read(datetime.now(UTC)))
        told = board.read(datetime.now(UTC))
        assert [(found.view, found.state, found.lag, found.batch_time(0.5)) for found in told] == [
            ("spend", "following", 2, 0.5)
        ]
        assert board.read(datetime.now(UTC) + FRESH + timedelta(seconds=10)) == [], "it is too old"
        process.stdin.write("\n")
        process.stdin.flush()
        process.wait(PATIENCE)
    assert list(tmp_path.iterdir()) == [], "who ends takes the figures down"


def test_what_a_process_that_died_has_left_is_removed(tmp_path: Path) -> None:
    left, broken = tmp_path / "figures-1.json", tmp_path / "figures-2.json"
    for file in (left, broken):
        file.write_text("{")
    os.utime(left, (0, 0))
    board = Board(tmp_path)
    assert board.read(datetime.now(UTC)) == []
    with board.told(list, lambda: datetime.now(UTC)):
        assert (left.exists(), broken.exists()) == (False, True)
