"""History: how the project was, second by second, for the charts. It is kept in memory, for an hour."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Self

from headwater.errors import HeadwaterError
from headwater.operate import Status
from headwater.project import Project

EVERY, KEPT = timedelta(seconds=1), timedelta(hours=1)
DRAWN = 300
"""How many points of a line are drawn at most."""


@dataclass(frozen=True)
class Moment:
    """What a chart needs of a status: rows and dead letters of all topics; lag, late rows and freshness by view."""

    at: datetime
    rows: int
    dead: int
    lag: dict[str, int]
    late: dict[str, int]
    freshness: dict[str, float]


class History:
    """Asks for the status every second, in a thread of its own, while it is open."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._moments: deque[Moment] = deque(maxlen=int(KEPT / EVERY))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="headwater-history", daemon=True)
        self.status: Status | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _go_on(self) -> None:
        while True:
            try:
                self.status = self._project.status()
                self._moments.append(moment_of(self.status))
            except HeadwaterError:  # a store or a storage doesn't answer: there is nothing to draw for this second
                pass
            if self._ended.wait(EVERY.total_seconds()):
                return

    def moments(self) -> list[Moment]:
        """The history, thinned to what can be drawn."""
        found = list(self._moments)
        return found[:: max(1, -(-len(found) // DRAWN))]


def moment_of(status: Status) -> Moment:
    """What is kept of a status."""
    fresh = {view.view: view.figures.freshness(0.5) for view in status.views if view.figures}
    return Moment(
        status.at,
        sum(topic.rows for topic in status.topics),
        sum(topic.dead for topic in status.topics),
        {view.view: view.lag for view in status.views},
        {view.view: view.ledger.late for view in status.views if view.ledger},
        {name: found for name, found in fresh.items() if found is not None},
    )


def rates(moments: list[Moment]) -> list[tuple[datetime, float]]:
    """Events a second between one moment and the next."""
    return [
        (after.at, (after.rows + after.dead - before.rows - before.dead) / (after.at - before.at).total_seconds())
        for before, after in pairwise(moments)
        if after.at > before.at
    ]
