"""The intake of a folder, killed in the middle of files: the log and the dead letters have each line once.

`headwater intake` is killed at moments that chance decides while files keep coming, some of them large and some with
poison in them, and started again, CHAOS_KILLS times; then it may read up to the end.
"""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headwater as hw
from headwater.project import Project

KILLS = int(os.environ.get("CHAOS_KILLS", "1"))
SEED = int(os.environ.get("CHAOS_SEED", "20260101"))
COMMAND = (sys.executable, "-c", "from headwater.cli import main; main()", "intake", "--json")
SQL = """CREATE STREAM payments (id STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH (connector = 'folder', path = 'in', settle = '0 seconds', poll = '10 milliseconds', idle = '1 second');"""


class Files:
    """Files that appear whole, and what must become of each of their lines."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._folder, self._chance = folder, chance
        self._count = 0
        self.rows: list[str] = []
        self.letters: list[str] = []

    def drop(self) -> None:
        """One more file, renamed into place."""
        self._count += 1
        packed = self._chance.random() < 0.5
        name = f"{self._count:05}.jsonl{'.gz' if packed else ''}"
        lines = [self._line(f"{name}:{number + 1}") for number in range(self._chance.choice((0, 1, 500, 60_000)))]
        content = b"".join(line + b"\n" for line in lines)
        hidden = self._folder / f".{name}"
        hidden.write_bytes(gzip.compress(content, 1) if packed else content)
        hidden.rename(self._folder / name)

    def _line(self, place: str) -> bytes:
        if self._chance.random() < 0.001:
            self.letters.append(place)
            return self._chance.choice((b"poison", b'{"id": 7}', b"\xff"))
        self.rows.append(place)
        return f'{{"id": "{place}", "at": "2026-01-01T00:00:00Z"}}'.encode()


@pytest.mark.skipif(KILLS <= 5, reason="large files, and a process that is started again all the time: `make chaos`")
@pytest.mark.timeout(120 + 30 * KILLS)
def test_an_intake_of_files_that_is_killed_again_and_again_has_each_line_once(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    (tmp_path / "payments.sql").write_text(SQL)
    (tmp_path / "in").mkdir()
    files = Files(tmp_path / "in", chance)
    with hw.open(tmp_path) as project:
        for _ in range(KILLS):
            kill_one(tmp_path, files, chance, project)
        project.take_in()
        assert project.read("payments")["id"].to_pylist() == files.rows  # in the order of the files, too
        assert project.dead("payments")["position"].to_pylist() == files.letters
        assert files.letters


def kill_one(folder: Path, files: Files, chance: random.Random, project: Project) -> None:
    """Start an intake while files are there, let more come, and kill it some time after its first commit."""
    for _ in range(3):
        files.drop()
    before = project.log.head("payments")
    process = subprocess.Popen(COMMAND, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while project.log.head("payments") <= before + 1 and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.01)
        files.drop()
        time.sleep(chance.random() * 0.4)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait(30)
