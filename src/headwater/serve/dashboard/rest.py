"""Rest: a page that is open asks the store and the log again and again, and must not slow down what else asks them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TIMES = 9
"""A page rests so many times as long as its answer took before it asks again: it takes a tenth of one core."""


class Rest:
    """The rest of a page until it may ask again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = 0.0

    @property
    def is_over(self) -> bool:
        """Tells whether the page has rested."""
        return self._clock() >= self._until

    @contextmanager
    def after(self) -> Iterator[None]:
        """Ask; then the page rests, also if the answer is an error."""
        began = self._clock()
        try:
            yield
        finally:
            self._until = self._clock() + TIMES * (self._clock() - began)
