"""Watching logs: whoever waits for a commit is woken by it, whichever process made it.

A commit of this process is told by the log that has made it. For those of others one thread asks for the heads of all
watched logs, so that any number of views can wait without asking themselves.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from typing import Self

from headwater.errors import HeadwaterError, LogDamaged
from headwater.log.topic import TopicLog

NEAR, FAR = timedelta(milliseconds=20), timedelta(milliseconds=200)
"""The intervals at which a log on a disk is asked for its head, and one in an object store."""
QUIET, SELDOM = timedelta(seconds=5), 4
"""Logs that have had no commit of another process for so long are asked in every fourth of these intervals."""

Heads = Mapping[TopicLog, int]


class Watch:
    """The heads of some logs, as they are now; a log that has no commit yet has the head 0. Use it in a `with` block.

    A storage that doesn't answer is asked again: whoever reads the log says what is wrong with it.
    """

    def __init__(self, logs: Iterable[TopicLog]) -> None:
        self._heads = dict.fromkeys(logs, 0)
        self._moved = threading.Condition()
        self._ended = threading.Event()
        self._threads: dict[timedelta, threading.Thread] = {}
        self._listening = ExitStack()

    def __enter__(self) -> Self:
        self._begin(self._heads)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._listening.close()
        for thread in self._threads.values():
            thread.join()

    def add(self, logs: Iterable[TopicLog]) -> None:
        """Watch these as well; nothing for those that are watched."""
        new = {log: 0 for log in logs if log not in self._heads}
        with self._moved:
            self._heads |= new
        self._begin(new)

    def _begin(self, logs: Iterable[TopicLog]) -> None:
        """Listen to logs, see where they are, and ask for what others commit: a thread for each distance."""
        for log in tuple(logs):
            told = partial(self._take, log)
            log.listeners.add(told)
            self._listening.callback(log.listeners.discard, told)
            self._take(log, _known_head(log))
        for every in {_distance(log) for log in self._heads} - set(self._threads):
            thread = threading.Thread(target=self._ask, args=(every,), name="headwater-watch", daemon=True)
            self._threads[every] = thread
            thread.start()

    def heads(self, logs: Iterable[TopicLog]) -> dict[TopicLog, int]:
        """The newest commit of each log, as far as is known."""
        with self._moved:
            return {log: self._heads[log] for log in logs}

    def wait(self, seen: Heads, longest: timedelta) -> bool:
        """Wait until one of these logs has a commit that was not seen, and tell whether one has."""
        with self._moved:
            return self._moved.wait_for(
                lambda: any(self._heads[log] > head for log, head in seen.items()), longest.total_seconds()
            )

    def _ask(self, every: timedelta) -> None:
        moved_at = time.monotonic()
        while not self._ended.wait(self._rest(every, moved_at)):
            for log in [log for log in tuple(self._heads) if _distance(log) == every]:
                try:
                    head = log.head
                except (HeadwaterError, OSError):  # who reads the log meets it too, and tells
                    continue
                if self._take(log, head):
                    moved_at = time.monotonic()

    def _take(self, log: TopicLog, head: int) -> bool:
        """Take note of where a log is, and tell whether it is news."""
        with self._moved:
            is_news = head > self._heads[log]
            if is_news:
                self._heads[log] = head
                self._moved.notify_all()
        return is_news

    def _rest(self, every: timedelta, moved_at: float) -> float:
        """The seconds to the next look at logs that are at one distance, of which the last one moved at an instant."""
        is_quiet = every == NEAR and time.monotonic() - moved_at > QUIET.total_seconds()
        return every.total_seconds() * (SELDOM if is_quiet else 1)


def _known_head(log: TopicLog) -> int:
    """The head of a log that is begun to be watched; of one that is damaged whoever reads it tells."""
    try:
        return max(log.head, 0)
    except LogDamaged:
        return 0


def _distance(log: TopicLog) -> timedelta:
    return FAR if "://" in log.storage.url else NEAR
