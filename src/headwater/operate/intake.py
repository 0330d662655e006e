"""Running intakes: several at a time, each in a thread of its own, and one that fails stops alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from headwater.errors import HeadwaterError
from headwater.intake.protocol import Taken
from headwater.intake.run import Intake
from headwater.operate.halt import Halt, side_by_side
from headwater.operate.mistake import mistake
from headwater.operate.wish import POLL, Wishes
from headwater.waiting import wait_for

T = TypeVar("T")


def drain(intakes: Sequence[Intake]) -> list[Taken]:
    """Let each take in what is there now; if some fail, the first error is raised when the others have ended."""
    done = side_by_side([_attempting(one.drain) for one in intakes], len(intakes) or 1, Halt())
    for outcome in done:
        if isinstance(outcome, HeadwaterError):
            raise outcome
    return [outcome for outcome in done if not isinstance(outcome, HeadwaterError)]


def run_intakes(intakes: Sequence[Intake], halt: Halt, wishes: Wishes) -> list[HeadwaterError]:
    """Let each take in whatever comes until the halt is wanted; returns the errors of those that stopped before."""
    done = side_by_side([_attempting(partial(_take, one, halt, wishes)) for one in intakes], len(intakes) or 1, halt)
    return [outcome for outcome in done if isinstance(outcome, HeadwaterError)]


def _take(intake: Intake, halt: Halt, wishes: Wishes) -> None:
    """Take in whatever comes until the halt is wanted, but for the time that the intake is paused."""
    name = intake.log.topic.name
    while not halt.is_wanted:
        wait_for(lambda: not wishes.paused("intake", name), every=POLL, halt=halt)
        part = halt.part()
        with wishes.obeyed("intake", name, part):
            intake.run(part)
        if not part.is_wanted:
            return


@contextmanager
def taking_in(
    intakes: Sequence[Intake], wishes: Wishes, failed: Callable[[str, HeadwaterError], object]
) -> Iterator[Callable[[], bool]]:
    """Let each take in whatever comes, meanwhile, in a thread of its own; `failed` is told of one that stops.

    What is given tells whether any still does.
    """
    halt = Halt()

    def take(intake: Intake) -> None:
        try:
            _take(intake, halt, wishes)
        except HeadwaterError as error:
            failed(intake.log.topic.name, error)
        except Exception as cause:
            failed(intake.log.topic.name, mistake("intake", intake.log.topic.name, cause, "What was taken in stays."))

    threads = [threading.Thread(target=take, args=(one,), name="headwater-intake", daemon=True) for one in intakes]
    for thread in threads:
        thread.start()
    try:
        yield lambda: any(thread.is_alive() for thread in threads)
    finally:
        halt.now()
        for thread in threads:
            thread.join()


def _attempting(task: Callable[[], T]) -> Callable[[], T | HeadwaterError]:
    def attempt() -> T | HeadwaterError:
        try:
            return task()
        except HeadwaterError as failed:
            return failed

    return attempt
