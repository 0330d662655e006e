"""What is done again and again beside something else goes on, whatever a round of it runs into."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta

import pytest

from headwater.errors import LogUnavailable
from headwater.operate.meanwhile import Rounds, meanwhile
from tests.patience import PATIENCE, until

AT_ONCE = timedelta(milliseconds=1)


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (OSError(28, "No space left on device"), "that its disk has room"),
        (LogUnavailable("the log could not be read", hint="Look at the bucket."), "read. Look at the bucket."),
        (KeyError("spend"), "KeyError: 'spend'. This is a mistake of ours: please report it."),
    ],
)
def test_a_round_that_fails_is_told_once_with_what_to_do_and_the_next_ones_go_on(
    failure: Exception, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    gone_on, rounds = threading.Event(), iter([failure, failure, None, failure, None])

    def do() -> None:
        found = next(rounds, gone_on)
        if isinstance(found, Exception):
            raise found
        if found is gone_on:
            gone_on.set()

    with meanwhile("looking", do, AT_ONCE):
        assert gone_on.wait(PATIENCE)
    first, again = told(caplog)
    assert first == again, "it is told anew once it had gone well"
    assert first.startswith("looking failed and will be tried again: ")
    assert words in first


def test_the_end_waits_for_the_round_that_is_under_way() -> None:
    begun, done = threading.Event(), list[str]()

    def do() -> None:
        begun.set()
        threading.Event().wait(0.05)
        done.append("round")

    with meanwhile("working", do, AT_ONCE):
        assert begun.wait(PATIENCE)
    assert done
    assert "headwater-working" not in {thread.name for thread in threading.enumerate()}


def test_several_take_part_in_the_rounds_of_one_thread_and_one_that_fails_keeps_nobody() -> None:
    rounds, where, done = Rounds("looking", timedelta(milliseconds=5)), set[str](), list[str]()

    def fail() -> None:
        where.add(threading.current_thread().name)
        raise OSError("the disk is away")

    def look(name: str) -> None:
        where.add(threading.current_thread().name)
        done.append(name)

    with rounds.take_part("failing", fail), rounds.take_part("a", lambda: look("a")):
        with rounds.take_part("b", lambda: look("b")):
            until(lambda: done.count("a") > 2 and done.count("b") > 2)
        seen = done.count("b")
        before = done.count("a")
        until(lambda: done.count("a") > before + 2)
        assert done.count("b") == seen, "it has ended"
        assert where == {"headwater-looking"}
    assert not any(thread.name == "headwater-looking" for thread in threading.enumerate())
