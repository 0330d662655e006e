"""Measures that the rules of alerts are held against: the figures of a project's status."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from headwater.model import Figure
from headwater.operate.alert import Measure
from headwater.operate.status import Status

LATE_OVER = timedelta(minutes=10)
"""The time over which the share of late rows is counted."""


class Gauges:
    """Measures statuses, one after the other; the share of late rows is that of the time between them."""

    def __init__(self) -> None:
        self._counted: dict[str, deque[tuple[datetime, int, int]]] = {}

    def take(self, status: Status) -> None:
        """Remember what was counted by now."""
        for view in status.views:
            if view.ledger is None:
                continue
            counted = self._counted.setdefault(view.view, deque())
            if counted and view.ledger.logged < counted[-1][1]:
                counted.clear()  # another version is served
            counted.append((status.at, view.ledger.logged, view.ledger.late))
            while len(counted) > 2 and counted[1][0] <= status.at - LATE_OVER:
                counted.popleft()

    def measure(self, figure: Figure, status: Status) -> list[Measure]:
        """The values of a figure, of everything that has it."""
        return list(self._late(status) if figure == "late" else _MEASURED[figure](status))

    def _late(self, status: Status) -> Iterator[Measure]:
        for view in status.views:
            counted = self._counted.get(view.view, deque())
            if len(counted) < 2 or counted[-1][1] == counted[0][1]:
                continue
            rows, late = counted[-1][1] - counted[0][1], counted[-1][2] - counted[0][2]
            yield Measure("view", view.view, late / rows, f"{late:,} of the last {rows:,} rows came too late")


def _lag(status: Status) -> Iterator[Measure]:
    for view in status.views:
        if view.paused is None:
            yield Measure("view", view.view, view.lag, f"{view.lag:,} commits behind the log")


def _freshness(status: Status) -> Iterator[Measure]:
    for view in status.views:
        seconds = view.figures.freshness(0.99) if view.figures else None
        if seconds is not None:
            detail = f"one commit in a hundred takes {seconds:.1f} s or more from arrival to the store"
            yield Measure("view", view.view, seconds, detail)


def _dead(status: Status) -> Iterator[Measure]:
    for topic in status.topics:
        detail = f"{topic.dead:,} events can't be read: headwater dead {topic.topic}"
        yield Measure("topic", topic.topic, topic.dead, detail)
    for outlet in status.outlets:
        sent = outlet.sent
        detail = f"{sent.dead:,} changes could not be delivered: headwater dead {sent.outlet}"
        yield Measure("outlet", sent.outlet, sent.dead, detail)


def _remainder(status: Status) -> Iterator[Measure]:
    for view in status.views:
        left = view.ledger.remainder if view.ledger else 0
        detail = f"{left:,} rows were lost or doubled: headwater verify {view.view}"
        if view.unsound is not None:  # it may be of a version that isn't served yet
            left = view.unsound.dropped
            detail = f"Spark dropped {left:,} rows of version {view.unsound.version}: headwater replay {view.view}"
        yield Measure("view", view.view, abs(left), detail)


def _stopped(status: Status) -> Iterator[Measure]:
    for view in status.views:
        error = view.figures.error if view.figures else None
        yield Measure("view", view.view, view.has_stopped and error is not None, (error or {}).get("summary", ""))
    for topic in status.topics:
        yield Measure("topic", topic.topic, topic.stopped is not None, topic.stopped or "")
    for outlet in status.outlets:
        yield Measure("outlet", outlet.sent.outlet, outlet.sent.state == "stopped", outlet.sent.note or "")


def _failing(status: Status) -> Iterator[Measure]:
    for view in status.views:
        away = next((store.error for store in view.stores if store.error), None)
        note = view.figures.note if view.figures and view.state == "waiting" else None
        yield Measure("view", view.view, bool(away or note), away or note or "")
    for outlet in status.outlets:
        yield Measure("outlet", outlet.sent.outlet, outlet.sent.state == "waiting", outlet.sent.note or "")


def _intake(status: Status) -> Iterator[Measure]:
    for topic in status.topics:
        yield Measure("topic", topic.topic, topic.waits is not None, topic.waits or "")


def _held(status: Status) -> Iterator[Measure]:
    for topic in status.topics:
        if topic.held is not None:
            detail = f"PostgreSQL holds back {topic.held / 1e6:,.0f} MB of WAL for its slot: headwater slot list"
            yield Measure("topic", topic.topic, topic.held, detail)


def _watermark(status: Status) -> Iterator[Measure]:
    for topic in status.topics:
        if topic.head > 0:
            behind = status.at - topic.watermark
            detail = f"the watermark is {behind.total_seconds():.0f} s behind the clock: a source may be silent"
            yield Measure("topic", topic.topic, behind.total_seconds(), detail)


_MEASURED: dict[Figure, Callable[[Status], Iterator[Measure]]] = {
    "lag": _lag,
    "freshness": _freshness,
    "dead": _dead,
    "remainder": _remainder,
    "stopped": _stopped,
    "failing": _failing,
    "intake": _intake,
    "held": _held,
    "watermark": _watermark,
}
