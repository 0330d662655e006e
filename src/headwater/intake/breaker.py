"""The breaker: an intake that gets far too much poison pauses, instead of filling a disk with dead letters.

What came in the last minute counts, together with what is about to be appended. If more than a share of it is dead, and
it is enough to say so, nothing of it is appended: it stays where it came from, and is read again after a while.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta

from headwater.errors import TooMuchPoison

WINDOW = timedelta(minutes=1)
ENOUGH = 1_000
"""So many events within the window say something about a share."""


class Breaker:
    """Watches over one stream. `most` is the share of dead events that is let pass; None: any."""

    def __init__(self, stream: str, most: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._most = most
        self._clock = clock
        self._passed: deque[tuple[float, int, int]] = deque()

    def check(self, rows: int, dead: int, reasons: Callable[[], list[str]]) -> None:
        """Refuse to append so many rows and dead letters, if that would be too much poison within the window."""
        if self._most is None or not dead:
            return
        self._forget()
        all_rows = rows + sum(passed[1] for passed in self._passed)
        all_dead = dead + sum(passed[2] for passed in self._passed)
        total = all_rows + all_dead
        if total >= ENOUGH and all_dead > self._most * total:
            raise self._poisoned(all_dead, total, reasons())

    def passed(self, rows: int, dead: int) -> None:
        """Say that so many were appended."""
        self._passed.append((self._clock(), rows, dead))

    def _forget(self) -> None:
        begin = self._clock() - WINDOW.total_seconds()
        while self._passed and self._passed[0][0] < begin:
            self._passed.popleft()

    def _poisoned(self, dead: int, total: int, reasons: list[str]) -> TooMuchPoison:
        assert self._most is not None
        return TooMuchPoison(
            f'"{self._stream}" gets more poison than it is to take',
            detail=f"{dead:,} of the last {total:,} events can't be read, which is more than {self._most:.0%}. "
            f"The first reasons: {'; '.join(reasons)}. What came last was not appended and stays at its source.",
            hint="Correct the declaration, the schema or whoever sends; or let it pass with max_dead = 'none'.",
            topic=self._stream,
            dead=dead,
            events=total,
        )
