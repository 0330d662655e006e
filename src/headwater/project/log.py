"""The log of a project, topic by topic: its heads and watermarks, its commits, its rows as they come."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import datetime

import pyarrow as pa

from headwater.log import read as reading
from headwater.log.reader import Delivery, Reader
from headwater.project.append import Receipt
from headwater.project.logs import Logs, Since


class ProjectLog:
    """Reads the log of a project, and moves its watermarks: `project.log`."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs

    def head(self, topic: str) -> int:
        """The number of a topic's newest commit; -1 if nothing was ever appended."""
        return self._logs.of(topic).head

    def watermark(self, topic: str) -> datetime:
        """The watermark after the newest commit of a topic."""
        return self._logs.of(topic).watermark

    def identity(self, topic: str) -> str | None:
        """The identity that tells a topic's log from another one made in its place; None while there is no log."""
        return self._logs.of(topic).identity

    def commits(self, topic: str, last: int = 20) -> list[reading.Commit]:
        """The last commits of a topic, oldest first."""
        log = self._logs.of(topic)
        return list(reading.commits(log, max(0, log.head - last + 1)))

    def read(
        self, topic: str, *, since: Since = None, until: Since = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Rows of a topic in log order: from a commit, an instant of arrival or a time ago, up to another.

        `since` is included; `until` is included if it is a commit, and not if it is an instant.
        """
        log = self._logs.of(topic)
        return reading.read(log, self._logs.first(log, since), self._logs.last(log, until), columns)

    def scan(self, topic: str, *, since: Since = None, columns: Sequence[str] | None = None) -> Iterator[reading.Batch]:
        """The rows of a topic batch by batch, up to the end of the log, in constant memory."""
        log = self._logs.of(topic)
        return reading.scan(log, self._logs.first(log, since), columns=columns)

    def follow(
        self,
        topic: str,
        *,
        since: Since = None,
        columns: Sequence[str] | None = None,
        stop: threading.Event | None = None,
    ) -> Iterator[reading.Batch]:
        """The rows of a topic batch by batch, and then each new commit as it comes, until `stop` is set."""
        log = self._logs.of(topic)
        return reading.follow(log, self._logs.first(log, since), columns, stop=stop)

    def reader(
        self, topic: str, name: str, *, delivery: Delivery = "at-least-once", member: int = 0, members: int = 1
    ) -> Reader:
        """A reader that remembers under its name how far it has come; members of one name share the keys."""
        positions = self._logs.storage("readers")
        return Reader(self._logs.of(topic), positions, name, delivery=delivery, member=member, members=members)

    def tick(self, topic: str, to: datetime | None = None) -> Receipt:
        """Move the watermark without rows: to an instant, or as far as the silence of the sources allows."""
        return Receipt.of(self._logs.of(topic).tick(to))
