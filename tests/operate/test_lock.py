"""Who works: one process at a time, and not for ever if it gives no sign of life."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from headwater.errors import HeadwaterError, ViewBusy
from headwater.operate.lock import locked
from tests.patience import until

LEASE = timedelta(seconds=1)
HOLDER = """
import sys
from datetime import timedelta
from pathlib import Path
from headwater.errors import ViewBusy
from headwater.operate.lock import locked

with locked(Path(sys.argv[1]), ViewBusy, timedelta(seconds=1)):
    print("held", flush=True)
    sys.stdin.readline()
print("released", flush=True)
"""


def busy(holder: str) -> HeadwaterError:
    return ViewBusy("busy", holder=holder)


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until it is told a line."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def released(process: subprocess.Popen[str]) -> str:
    """What a holder says once it was told to let go."""
    return process.communicate("\n")[0]


def is_silent(path: Path) -> bool:
    return time.time() - path.stat().st_mtime > LEASE.total_seconds()


def stop(process: subprocess.Popen[str], path: Path) -> None:
    """Stop a holder, and wait until its lease has passed."""
    os.kill(process.pid, signal.SIGSTOP)
    until(lambda: is_silent(path))


def test_a_holder_that_gives_signs_of_life_keeps_the_lock_past_its_lease(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path) as process:
        begun = path.stat().st_mtime
        until(lambda: path.stat().st_mtime > begun + 1.5 * LEASE.total_seconds())
        with pytest.raises(ViewBusy) as refused, locked(path, busy, LEASE):
            pass
        assert str(process.pid) in str(refused.value.fields["holder"])
        assert released(process) == "released\n"
    with locked(path, busy, LEASE) as held:
        assert not held.inherited


def test_a_stopped_holder_loses_the_lock_after_its_lease(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path) as process:
        stop(process, path)
        with pytest.raises(ViewBusy), locked(path, busy, timedelta(hours=1)):
            pass
        with locked(path, busy, LEASE) as held:
            assert held.inherited
            os.kill(process.pid, signal.SIGCONT)
            assert released(process) == "released\n"
            assert str(os.getpid()) in path.read_text()
            with pytest.raises(ViewBusy) as refused, locked(path, busy, LEASE):
                pass
            assert str(os.getpid()) in str(refused.value.fields["holder"])
    with locked(path, busy, LEASE) as held:
        assert not held.inherited


def test_whoever_asks_while_a_holder_signs_hears_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, names, truncate = tmp_path / "lock", [], os.ftruncate

    def heard(descriptor: int, length: int) -> None:
        for step in (lambda: None, lambda: truncate(descriptor, length)):
            step()
            with pytest.raises(ViewBusy) as refused, locked(path, busy, LEASE):
                pass
            names.append(refused.value.fields["holder"])

    with holder(path):  # its name is there, and may be longer than the next one
        pass
    path.write_text(path.read_text().rstrip() + "000\n")
    monkeypatch.setattr(os, "ftruncate", heard)
    with locked(path, busy, LEASE):
        assert len(names) == 2
        assert set(names) == {path.read_text().strip()}


def test_one_of_two_heirs_gets_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path) as process:
        stop(process, path)
        with locked(path, busy, LEASE) as held:
            assert held.inherited
            with pytest.raises(ViewBusy), locked(path, busy, LEASE):
                pass
