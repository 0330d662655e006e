"""Work side by side: in order, so many at a time, and ended as a whole."""

from __future__ import annotations

import signal
import threading
import time
from datetime import timedelta

import pytest

from headwater.operate.halt import Halt, side_by_side
from tests.patience import PATIENCE


class Query:
    """A streaming query that runs until it is stopped."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    @property
    def runs(self) -> bool:
        return not self._stopped.is_set()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        assert self._stopped.wait(PATIENCE)


def test_results_come_in_the_order_of_the_tasks_whichever_ends_first() -> None:
    second_is_done = threading.Event()

    def first() -> str:
        assert second_is_done.wait(PATIENCE)
        return "first"

    def second() -> str:
        second_is_done.set()
        return "second"

    assert side_by_side([first, second], at_once=2, halt=Halt()) == ["first", "second"]


def test_no_more_tasks_run_at_a_time_than_asked_for() -> None:
    running, most = 0, 0
    guard, three = threading.Lock(), threading.Barrier(3)

    def task() -> None:
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
        three.wait(PATIENCE)
        with guard:
            running -= 1

    side_by_side([task] * 9, at_once=3, halt=Halt())
    assert most == 3


def test_an_interrupt_stops_what_runs_and_begins_nothing_new() -> None:
    halt, query, begun = Halt(), Query(), []

    def long() -> None:
        begun.append("long")
        halt.watch(query)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        query.run()

    with pytest.raises(KeyboardInterrupt):
        side_by_side([long, lambda: begun.append("never")], at_once=1, halt=halt)
    assert begun == ["long"]
    assert not query.runs


def test_a_query_that_starts_after_the_halt_is_stopped_at_once() -> None:
    halt, query = Halt(), Query()
    halt.now()
    halt.watch(query)
    assert not query.runs


def test_a_wait_ends_with_the_halt() -> None:
    halt = Halt()
    threading.Timer(0.05, halt.now).start()
    began = time.monotonic()
    halt.wait(timedelta(seconds=2 * PATIENCE))
    assert time.monotonic() - began < PATIENCE
    assert halt.is_wanted
