"""What is done again and again beside something else goes on, whatever a round of it runs into."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta

import pytest

from headwater.errors import LogUnavailable
from headwater.operate.meanwhile import meanwhile
from tests.patience import PATIENCE

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
