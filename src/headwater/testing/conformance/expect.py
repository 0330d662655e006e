"""The tools of the suite's tests: a clock that is moved by hand, and an error that must come."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from headwater.errors import HeadwaterError
from headwater.store import Store
from headwater.testing.conformance.targets import START

Again = Callable[[], Store]
"""Opens the same store as another process would: nothing is shared but the place."""
Refusal = TypeVar("Refusal", bound=HeadwaterError)


class Wall:
    """A wall clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime:
        """The time on the clock."""
        return self.at

    def move(self, **by: float) -> None:
        """Move the clock by a `timedelta` of these parts."""
        self.at += timedelta(**by)


def meanwhile(action: Callable[[], None]) -> Iterator[None]:
    """Once, and again for as long as the action runs in another thread; raises what it raised."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(action)
        yield
        while not running.done():
            yield
        running.result()


class Caught(Generic[Refusal]):
    """The error that came, once the block is left."""

    value: Refusal


@contextmanager
def refuses(kind: type[Refusal], match: str = "") -> Iterator[Caught[Refusal]]:
    """A block that must raise an error of this kind, whose text has a match of the pattern."""
    caught = Caught[Refusal]()
    try:
        yield caught
    except kind as error:
        if not re.search(match, str(error)):
            raise AssertionError(f'"{match}" is not in the error:\n{error}') from error
        caught.value = error
        return
    raise AssertionError(f"{kind.__name__} was not raised")
