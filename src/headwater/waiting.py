"""Waiting: for a condition, for a while at most, and never beyond the end of the work that waits."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, TypeVar

T = TypeVar("T")


class Halting(Protocol):
    """The end of some work, as whoever runs it says."""

    @property
    def is_wanted(self) -> bool:
        """Tells whether the work shall end."""

    def wait(self, duration: timedelta) -> None:
        """Wait so long, or until the work shall end."""


@dataclass(frozen=True)
class Until:
    """The end of work that ends once an event is set."""

    event: threading.Event

    @property
    def is_wanted(self) -> bool:
        """Tells whether it shall end."""
        return self.event.is_set()

    def wait(self, duration: timedelta) -> None:
        """Wait so long, or until it shall end."""
        self.event.wait(duration.total_seconds())


@dataclass(frozen=True)
class Backoff:
    """The wait before something that failed is attempted again: twice as long each time, up to `longest`."""

    shortest: timedelta = timedelta(milliseconds=500)
    longest: timedelta = timedelta(seconds=30)

    def after(self, failures: int, chance: float) -> timedelta:
        """The wait after so many failures; `chance`, in [0, 1], spreads those who failed together.

        >>> [Backoff().after(failures, chance=1).total_seconds() for failures in (1, 2, 3, 20)]
        [0.5, 1.0, 2.0, 30.0]
        """
        doubled: timedelta = self.shortest * (1 << min(failures - 1, 30))
        return min(doubled, self.longest) * (0.5 + chance / 2)


def wait_for(
    condition: Callable[[], T], longest: timedelta | None = None, *, every: timedelta, halt: Halting | None = None
) -> T:
    """The answer of a condition once it holds; its last, if it doesn't in time or the work is to end.

    It is asked at least once, and then again every so often, for as long as `longest` says, else for good.

    >>> wait_for(iter([None, None, "there"]).__next__, every=timedelta(milliseconds=1))
    'there'
    """
    halt = halt or Until(threading.Event())
    ends_at = _end_of(longest)
    while not (answer := condition()) and time.monotonic() < ends_at and not halt.is_wanted:
        halt.wait(every)
    return answer


async def wait_meanwhile(condition: Callable[[], Awaitable[T]], longest: timedelta, *, every: timedelta) -> T:
    """As `wait_for`, while others of the same loop go on."""
    ends_at = _end_of(longest)
    while not (answer := await condition()) and time.monotonic() < ends_at:
        await asyncio.sleep(every.total_seconds())
    return answer


def _end_of(longest: timedelta | None) -> float:
    return float("inf") if longest is None else time.monotonic() + longest.total_seconds()
