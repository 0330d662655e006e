"""History: how the project was, for the charts. It is kept in memory: every second for five minutes, beyond that
every fifteen seconds for an hour.

A *moment* is what is kept of one status. A source that falls silent is forgotten by the log; here it is remembered for
as long as the server runs, as one that is idle.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Self

from headwater.operate import Status
from headwater.operate.meanwhile import meanwhile
from headwater.operate.status import SourceStatus, TopicStatus, ViewStatus
from headwater.project import Project

EVERY, FINELY = timedelta(seconds=1), timedelta(minutes=5)
COARSELY, KEPT = timedelta(seconds=15), timedelta(hours=1)
SOURCES = 100
"""So many sources of a topic are remembered."""


@dataclass(frozen=True)
class TopicMoment:
    """A topic at a moment: rows and dead letters so far, and how many seconds its watermark is behind the clock."""

    rows: int
    dead: int
    delay: float | None


@dataclass(frozen=True)
class ViewMoment:
    """A view at a moment: figures by name; those that are not known are missing."""

    lag: int
    late: int = 0
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Moment:
    """A project at a moment."""

    at: datetime
    topics: dict[str, TopicMoment]
    views: dict[str, ViewMoment]

    @property
    def rows(self) -> int:
        """Rows of all topics."""
        return sum(topic.rows for topic in self.topics.values())

    @property
    def dead(self) -> int:
        """Dead letters of all topics."""
        return sum(topic.dead for topic in self.topics.values())

    @property
    def late(self) -> int:
        """Late rows of the view that has the most."""
        return max((view.late for view in self.views.values()), default=0)


class History:
    """Asks for the status every second, in a thread of its own, while it is open."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._fine: deque[Moment] = deque(maxlen=FINELY // EVERY)
        self._coarse: deque[Moment] = deque(maxlen=KEPT // COARSELY)
        self._sources: dict[str, dict[str, SourceStatus]] = {}
        self._asking = meanwhile("asking how the project is", self._ask, EVERY, at_once=True)
        self.status: Status | None = None

    def __enter__(self) -> Self:
        self._asking.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._asking.__exit__(None, None, None)

    def _ask(self) -> None:
        self.take(self._project.status())

    def take(self, status: Status) -> None:
        """Take a status in."""
        moment = moment_of(status)
        if not self._coarse or moment.at - self._coarse[-1].at >= COARSELY:
            self._coarse.append(moment)
        self._fine.append(moment)
        for topic in status.topics:
            known = self._sources.get(topic.topic, {}) | {source.name: source for source in topic.sources}
            newest = sorted(known.values(), key=lambda source: source.heard_at)[-SOURCES:]
            self._sources[topic.topic] = {source.name: source for source in newest}
        self.status = status

    def moments(self, span: timedelta = FINELY) -> list[Moment]:
        """The history of a span, up to now, as finely as it is kept."""
        fine, coarse = list(self._fine), list(self._coarse)
        if not fine:
            return []
        kept = fine if span <= FINELY else [*coarse, *fine[-1:]]
        return [moment for moment in kept if moment.at >= fine[-1].at - span]

    def topic(self, name: str) -> TopicStatus | None:
        """The status of a topic now."""
        topics = self.status.topics if self.status else ()
        return next((topic for topic in topics if topic.topic == name), None)

    def view(self, name: str) -> ViewStatus | None:
        """The status of a view now."""
        views = self.status.views if self.status else ()
        return next((view for view in views if view.view == name), None)

    def sources(self, topic: str) -> list[tuple[SourceStatus, bool]]:
        """The sources of a topic that were heard of, and whether each is idle now."""
        status = self.topic(topic)
        now = {source.name for source in status.sources} if status else set()
        known = self._sources.get(topic, {})
        return [(known[name], name not in now) for name in sorted(known)]


def moment_of(status: Status) -> Moment:
    """The figures of a status that are kept."""
    topics = {
        topic.topic: TopicMoment(topic.rows, topic.dead, _delay(status.at, topic.watermark)) for topic in status.topics
    }
    return Moment(status.at, topics, {view.view: _view(status.at, view) for view in status.views})


def _view(now: datetime, view: ViewStatus) -> ViewMoment:
    figures: dict[str, float | None] = {"delay": _delay(now, view.watermark)}
    if view.figures is not None:
        told = view.figures.as_dict(now)
        figures |= {name: told[name] for name in FIGURES}
    known = {name: value for name, value in figures.items() if value is not None}
    return ViewMoment(view.lag, view.ledger.late if view.ledger else 0, known)


def _delay(now: datetime, watermark: datetime | None) -> float | None:
    if watermark is None or watermark.year <= 1970:
        return None
    return (now - watermark).total_seconds()


def rates(moments: list[Moment], topic: str | None = None) -> list[tuple[datetime, float]]:
    """Events a second between one moment and the next: of a topic, or of all."""

    def events(moment: Moment) -> int:
        topics = moment.topics.values() if topic is None else [moment.topics[topic]] if topic in moment.topics else []
        return sum(each.rows + each.dead for each in topics)

    return [
        (after.at, (events(after) - events(before)) / (after.at - before.at).total_seconds())
        for before, after in pairwise(moments)
        if after.at > before.at
    ]


def recent_rate(moments: list[Moment], topic: str | None = None) -> float | None:
    """Events a second over the last ten moments."""
    ends = rates([moments[max(0, len(moments) - 11)], moments[-1]], topic) if len(moments) > 1 else []
    return ends[0][1] if ends else None


FIGURES = (
    "events_per_second", "rows_per_second", "freshness_p50", "freshness_p99", "batch_p50", "batch_p99", "writing_p50",
    "state_bytes",
)  # fmt: skip
"""The figures of a view that runs, as `headwater status --json` names them, of which a history is kept."""
