"""The service that the routes work with: the project, and how much may go on at a time.

Work that can be slow (an append, a query) takes a *slot*; where none is free the caller is told to come back, and the
views are not slowed down.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from headwater.config import ServeSettings
from headwater.errors import Overloaded
from headwater.project import Project
from headwater.serve.feed import Feeds
from headwater.serve.reach import Positions


class Capacity:
    """So many at a time, and no queue."""

    def __init__(self, what: str, slots: int) -> None:
        self._what = what
        self._slots = slots
        self._free = threading.BoundedSemaphore(slots)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take a slot, or raise `Overloaded` at once."""
        self.take()
        try:
            yield
        finally:
            self.leave()

    def take(self) -> None:
        """Take a slot; whoever does leaves it again."""
        if not self._free.acquire(blocking=False):
            raise Overloaded(
                f"{self._slots} {self._what} are under way, which is the most at a time",
                detail="Nothing was done.",
                hint="Repeat the request after the time that Retry-After says.",
            )

    def leave(self) -> None:
        """Leave a slot."""
        self._free.release()


class Service:
    """A project that is served; the run of it is `apart`, in another process, or in this one if there is any."""

    def __init__(self, project: Project, settings: ServeSettings, *, apart: bool = False) -> None:
        self.project = project
        self.apart = apart
        self.settings = settings
        self.feeds = Feeds(project)
        self.positions = Positions(project)
        self.appends = Capacity("appends", settings.appends)
        self.queries = Capacity("queries", settings.queries)
        self.subscriptions = Capacity("subscriptions", settings.subscriptions)
