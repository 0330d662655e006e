"""Work side by side that can be ended: by Ctrl-C, or by whoever holds its halt.

Spark runs a streaming query in threads of its own. Ending our threads doesn't end it: it has to be told, and a batch
that is being written is finished first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Protocol, TypeVar
from weakref import WeakSet

T = TypeVar("T")


class Query(Protocol):
    """A streaming query, as Spark has it."""

    def stop(self) -> None:
        """Stop it, and return when it has stopped; nothing if it has."""


class Halt:
    """The end of some work: once it is wanted nothing new begins, and the queries that run are stopped."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._wanted = threading.Event()
        self._queries: list[Query] = []
        self._parts = WeakSet[Halt]()

    @property
    def is_wanted(self) -> bool:
        """Tells whether the work shall end."""
        return self._wanted.is_set()

    def watch(self, query: Query) -> None:
        """Stop this query when the work shall end; at once, if it shall already."""
        with self._guard:
            self._queries.append(query)
        if self.is_wanted:
            query.stop()

    def wait(self, duration: timedelta) -> None:
        """Wait so long, or until the work shall end."""
        self._wanted.wait(duration.total_seconds())

    def part(self) -> Halt:
        """The end of a part of the work, which ends with the whole as well."""
        part = Halt()
        with self._guard:
            self._parts.add(part)
        if self.is_wanted:
            part.now()
        return part

    def now(self) -> None:
        """End the work, and return when its queries have stopped. What was done stays."""
        self._wanted.set()
        with self._guard:
            queries, parts = list(self._queries), list(self._parts)
        for part in parts:
            part.now()
        for query in queries:
            with suppress(Exception):  # one that has failed by itself meanwhile, or whose Spark is gone, doesn't run
                query.stop()


def side_by_side(tasks: Sequence[Callable[[], T]], at_once: int, halt: Halt) -> list[T]:
    """Do tasks, so many at a time, and give their results in order. An interrupt ends them, and is passed on.

    >>> side_by_side([lambda: "a", lambda: "b"], at_once=2, halt=Halt())
    ['a', 'b']
    """
    if not tasks:
        return []
    with ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="view") as pool:
        try:
            return [future.result() for future in [pool.submit(task) for task in tasks]]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            halt.now()
            raise
