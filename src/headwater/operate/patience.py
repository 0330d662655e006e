"""Patience: a failure that another attempt can help is met with another one, after a while, up to a point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from headwater.errors import HeadwaterError
from headwater.operate.lock import LEASE
from headwater.waiting import Backoff, Halting

T = TypeVar("T")


@dataclass(frozen=True)
class Patience:
    """The attempts that a step is given, and the waits before it is attempted again.

    The wait doubles from `backoff` up to `longest_backoff`. A run that follows ends once nothing but failures came for
    `give_up_after`. One that gives no sign of life for its `lease` loses what it works on to another run.
    """

    attempts: int = 5
    backoff: timedelta = timedelta(milliseconds=500)
    longest_backoff: timedelta = timedelta(seconds=30)
    give_up_after: timedelta | None = None
    lease: timedelta = LEASE

    def wait(self, failures: int, chance: float) -> timedelta:
        """The wait after so many failures; `chance`, in [0, 1], spreads those who failed together."""
        return Backoff(self.backoff, self.longest_backoff).after(failures, chance)

    def attempt(
        self,
        step: Callable[[], T],
        halt: Halting,
        reached: Callable[[], object],
        rest: Callable[[HeadwaterError, int], None],
    ) -> T:
        """The result of a step; its failure, if that is for good, or patience is at its end, or the work is to end.

        `reached` is how far the work has come: a failure behind what was reached before is counted afresh. `rest` is
        told of a failure, and of how many there were, and waits.
        """
        failures = 0
        while True:
            before = reached()
            try:
                return step()
            except HeadwaterError as failure:
                failures = failures + 1 if reached() == before else 1
                if not failure.transient or failures >= self.attempts or halt.is_wanted:
                    raise
                rest(failure, failures)
                if halt.is_wanted:
                    raise
