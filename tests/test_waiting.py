"""Waiting for conditions, for so long at most, and never beyond the end of the work."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

from headwater.waiting import Backoff, Until, wait_for, wait_meanwhile

MOMENT, LONG = timedelta(milliseconds=1), timedelta(hours=1)


def test_what_holds_is_given_at_once() -> None:
    assert wait_for(lambda: "there", timedelta(), every=LONG) == "there"


def test_it_is_asked_again_until_it_holds() -> None:
    answers = iter([[], [], ["there"]])
    assert wait_for(answers.__next__, LONG, every=MOMENT) == ["there"]


def test_once_the_time_is_over_the_last_answer_is_given() -> None:
    assert wait_for(lambda: 0, timedelta(milliseconds=5), every=MOMENT) == 0
    assert wait_for(lambda: None, timedelta(), every=LONG) is None, "it is asked once"


def test_the_end_of_the_work_ends_the_wait() -> None:
    end = threading.Event()
    threading.Timer(0.01, end.set).start()
    assert wait_for(lambda: False, every=LONG, halt=Until(end)) is False


def test_others_go_on_while_one_waits() -> None:
    async def both() -> str | None:
        came: list[str] = []

        async def look() -> str | None:
            return came[0] if came else None

        async def come() -> None:
            came.append("there")

        answer, _ = await asyncio.gather(wait_meanwhile(look, LONG, every=MOMENT), come())
        return answer

    assert asyncio.run(both()) == "there"


def test_chance_takes_up_to_half_of_a_backoff() -> None:
    backoff = Backoff(timedelta(seconds=1), timedelta(seconds=8))
    assert [backoff.after(n, 1).total_seconds() for n in (1, 2, 3, 4, 5, 1000)] == [1, 2, 4, 8, 8, 8]
    assert backoff.after(2, 0).total_seconds() == 1
