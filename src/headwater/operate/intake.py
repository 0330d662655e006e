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

T = TypeVar("T")


def drain(intakes: Sequence[Intake]) -> list[Taken]:
    """Let each take in what is there now; if some fail, the first error is raised when the others have ended."""
    done = side_by_side([_attempting(one.drain) for one in intakes], len(intakes) or 1, Halt())
    for found in done:
        if isinstance(found, HeadwaterError):
            raise found
    return [found for found in done if not isinstance(found, HeadwaterError)]


def run_intakes(intakes: Sequence[Intake], halt: Halt) -> list[HeadwaterError]:
    """Let each take in whatever comes until the halt is wanted; returns the errors of those that stopped before."""
    done = side_by_side([_attempting(partial(one.run, halt)) for one in intakes], len(intakes) or 1, halt)
    return [found for found in done if isinstance(found, HeadwaterError)]


@contextmanager
def taking_in(intakes: Sequence[Intake], failed: Callable[[HeadwaterError], object]) -> Iterator[Callable[[], bool]]:
    """Let each take in whatever comes, meanwhile, in a thread of its own; `failed` is told of one that stops.

    What is given tells whether any still does.
    """
    halt = Halt()

    def take(intake: Intake) -> None:
        try:
            intake.run(halt)
        except HeadwaterError as error:
            failed(error)

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
