"""The next batch of a query that follows its topics: up to which commits it may read.

A query asks each of its scans where the next batch ends, one after the other. All are given the same ends, so that a
topic that is read twice is read up to one commit, whatever is appended meanwhile. A query that has read everything
waits here for a commit, so that it neither asks all the time nor wakes up late.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import timedelta

from headwater.log import TopicLog
from headwater.log.watch import Watch

WAIT = timedelta(milliseconds=100)
"""The wait of a query for a commit: for so long it can't be stopped."""
QUIET = timedelta(milliseconds=500)
"""The time without a commit before the topics are quiet, and the query closes what is due."""


class NextBatch:
    """The heads that one query's next batch goes to at most. Not thread-safe: Spark asks from one thread.

    `is_quiet` tells that nothing was committed for a while, or that the query has just started.
    """

    def __init__(self, logs: Iterable[TopicLog], watch: Watch) -> None:
        self._watch = watch
        self._heads = watch.heads(logs)
        self._asked: dict[object, tuple[TopicLog, int]] = {}
        self._moved_at = -QUIET.total_seconds()
        self.is_quiet = True

    def head(self, scan: object, log: TopicLog, reached: int) -> int:
        """The head for a scan of a log that has been read up to a commit. A scan that asks again asks for the next."""
        if scan in self._asked:
            self._next()
        self._asked[scan] = (log, reached)
        return self._heads[log]

    def _next(self) -> None:
        is_behind = any(reached < self._heads[log] for log, reached in self._asked.values())
        if self._watch.wait(self._heads, timedelta() if is_behind else WAIT):
            self._moved_at = time.monotonic()
        self.is_quiet = time.monotonic() - self._moved_at >= QUIET.total_seconds()
        self._heads = self._watch.heads(self._heads)
        self._asked.clear()
