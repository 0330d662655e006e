"""The next batch of a query that follows its topics: up to which commits it may read.

A query asks each of its scans where the next batch ends, one after the other. All are given the same ends, so that a
topic that is read twice is read up to one commit, whatever is appended meanwhile. A query that has read everything
waits here for a commit, so that it neither asks all the time nor wakes up late.

At a *meeting* it stands: it reads up to the commits that are agreed upon and closes what is due by them, so that its
rows can be compared with those of another query at the same commits; it goes on when the meeting is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta

from headwater.log import TopicLog
from headwater.log.watch import Watch

WAIT = timedelta(milliseconds=100)
"""The wait of a query for a commit: for so long it can't be stopped."""
QUIET = timedelta(milliseconds=500)
"""The time without a commit before the topics are quiet, and the query closes what is due."""
MEETING = timedelta(milliseconds=20)
"""So often who stands at a meeting looks whether it is over."""
Meets = Callable[[], "Mapping[TopicLog, int] | None"]
"""Tells the commits of a meeting; None if there is none."""


def bounded(upto: Mapping[TopicLog, int], meeting: Mapping[TopicLog, int]) -> dict[TopicLog, int]:
    """These commits, but none behind a meeting's."""
    return {log: min(commit, meeting.get(log, commit)) for log, commit in upto.items()}


def no_meeting() -> None:
    """There is none."""


class NextBatch:
    """The heads that one query's next batch goes to at most. Not thread-safe: Spark asks from one thread.

    `is_quiet` tells that nothing was committed for a while, or that the query has just started.
    """

    def __init__(self, logs: Iterable[TopicLog], watch: Watch, meets: Meets = no_meeting) -> None:
        self._watch = watch
        self._meets = meets
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
        self._stop_at_meeting()
        self._asked.clear()

    def _stop_at_meeting(self) -> None:
        """Go no further than a meeting; who stands there closes what is due. One that was missed is none."""
        meeting, asked = self._meets(), self._asked.values()
        if meeting is None or any(reached > meeting.get(log, reached) for log, reached in asked):
            return
        self._heads = bounded(self._heads, meeting)
        if all(reached == self._heads[log] for log, reached in asked):
            self.is_quiet = True
            time.sleep(MEETING.total_seconds())
