"""The times of the transactions of a slot, in the order in which they were committed.

PostgreSQL takes the time of a commit before it decides its place in WAL, and its clock may be set back: so of two
transactions the later one may tell the earlier time. The event time of a change decides which row of a table is the
newest; so the time of a transaction is never before that of one that WAL has before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

_MICROSECOND = timedelta(microseconds=1)


def now() -> int:
    """The time of our clock, in microseconds since 1970."""
    return time.time_ns() // 1000


class Times:
    """The newest time so far, in microseconds since 1970.

    A time that is further than `ahead` ahead of our clock is none: what tells it is taken to have happened when it
    came, or one wrong clock would be that of all later changes.

    >>> times = Times(timedelta(days=1), clock=lambda: 50)
    >>> times.of(60), times.of(40), times.of(70), times.of(10**17), times.of(80)
    (60, 60, 70, 70, 80)
    """

    def __init__(self, ahead: timedelta | None, newest: int = 0, clock: Callable[[], int] = now) -> None:
        self._ahead = None if ahead is None else ahead // _MICROSECOND
        self._clock = clock
        self.newest = newest

    def of(self, told: int) -> int:
        """The time of the next transaction, which tells this one."""
        is_believed = self._ahead is None or told - self._clock() <= self._ahead
        self.newest = max(self.newest, told if is_believed else self._clock())
        return self.newest

    def raise_to(self, newest: int) -> None:
        """Hear of a time that is known already: what comes is not before it."""
        self.newest = max(self.newest, newest)


def loosest(aheads: list[timedelta | None]) -> timedelta | None:
    """The largest of several distances, of which None is any.

    >>> loosest([timedelta(1), timedelta(2)]), loosest([timedelta(1), None])
    (datetime.timedelta(days=2), None)
    """
    told = [ahead for ahead in aheads if ahead is not None]
    return max(told) if len(told) == len(aheads) else None
