"""Waiting for commits."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import pytest

from headwater.log import TopicLog, open_storage
from headwater.log.watch import Watch
from tests.log.conftest import ORDERS, START, orders
from tests.patience import PATIENCE, until

LONG, SHORT = timedelta(seconds=2 * PATIENCE), timedelta(milliseconds=50)


def test_a_commit_of_another_process_wakes_who_waits_for_its_log(tmp_path: Path) -> None:
    log, other = (TopicLog(ORDERS, open_storage(str(tmp_path / name))) for name in ("a", "b"))
    elsewhere = TopicLog(ORDERS, open_storage(str(tmp_path / "a")))
    with Watch([log, other]) as watch:
        assert watch.heads([log, other]) == {log: 0, other: 0}
        assert not watch.wait({log: 0}, SHORT)
        threading.Timer(0.1, lambda: elsewhere.append(orders(("x", 1)))).start()
        began = time.monotonic()
        assert watch.wait({log: 0}, LONG)
        assert time.monotonic() - began < PATIENCE
        assert watch.heads([log, other]) == {log: 1, other: 0}
        assert not watch.wait({other: 0}, SHORT), "what happens to one log wakes nobody who waits for another"
        assert watch.wait({log: 0}, SHORT), "what was missed is told at once"


class ShakyLog(TopicLog):
    """A log whose folder can't be read once."""

    failures: ClassVar[list[OSError]] = []

    @property
    def head(self) -> int:
        if self.failures:
            raise self.failures.pop()
        return super().head


def test_a_log_that_could_not_be_read_once_is_watched_further(tmp_path: Path) -> None:
    log = ShakyLog(ORDERS, open_storage(str(tmp_path)))
    with Watch([log]) as watch:
        log.failures.append(OSError(24, "Too many open files"))
        until(lambda: not log.failures)
        TopicLog(ORDERS, open_storage(str(tmp_path))).append(orders(("x", 1)))
        assert watch.wait({log: 0}, LONG)


def test_a_log_is_known_as_it_is_when_the_watch_begins(tmp_path: Path) -> None:
    log = TopicLog(ORDERS, open_storage(str(tmp_path)))
    log.append(orders(("x", 1)))
    with Watch([log]) as watch:
        assert watch.heads([log]) == {log: 1}


def test_a_commit_of_this_process_is_known_before_the_append_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.log.watch.NEAR", LONG)  # nobody asks
    log = TopicLog(ORDERS, open_storage(str(tmp_path / "a")))
    later = TopicLog(ORDERS, open_storage(str(tmp_path / "b")))
    with Watch([log]) as watch:
        watch.add([later])
        for number in (1, 2):
            log.append(orders(("x", number)))
            assert watch.heads([log]) == {log: number}
        later.append(orders(("x", 1)))
        assert watch.heads([later]) == {later: 1}
        log.tick(START + timedelta(minutes=1))
        assert watch.heads([log]) == {log: 3}
