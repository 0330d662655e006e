"""Status: how a project is, topic by topic and view by view: from its log, its stores, and what runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from headwater.errors import HeadwaterError, LogDamaged, RowsDropped
from headwater.intake.redrive import count_open
from headwater.log import TopicLog
from headwater.log.journal import instant
from headwater.log.loss import Lost, lost_of
from headwater.log.read import count_rows
from headwater.operate.alert import Alert
from headwater.operate.figures import Figures
from headwater.operate.integrity import Integrity
from headwater.operate.ledger import Ledger
from headwater.operate.outlet import Sent
from headwater.operate.wish import Paused
from headwater.store.sound import unsound


@dataclass(frozen=True)
class SourceStatus:
    """A source of a topic that isn't idle: the newest event time it has sent, and when it was last heard of.

    The one that `holds` the watermark has the oldest.
    """

    name: str
    newest_at: datetime
    heard_at: datetime
    holds: bool


@dataclass(frozen=True)
class TopicStatus:
    """A topic: its newest commit, how many rows it has, its watermark, its sources and its dead letters.

    `unknown` says how many of its events had each field that no column declares.

    `waits` is what its intake waits for, and `stopped` why it has stopped, if it runs in this process and does so;
    `paused` says since when it is paused, wherever it runs. `held` are the bytes of WAL that PostgreSQL holds back for
    the slot that it is taken in by, as far as that is known. `lost` is what was declared lost of it. One whose log is
    damaged has stopped, and nothing else is known of it: its head is -1.
    """

    topic: str
    head: int
    rows: int
    dead: int
    watermark: datetime
    sources: tuple[SourceStatus, ...]
    waits: str | None = None
    stopped: str | None = None
    paused: Paused | None = None
    lost: Lost = field(default_factory=Lost)
    unknown: Mapping[str, int] = field(default_factory=dict)
    held: int | None = None


@dataclass(frozen=True)
class StoreStatus:
    """The status of one of a view's stores: the commits that it has of the served version, and how many it is behind.

    A store that follows and can't be asked has no commits, and `error` says why.
    """

    store: str
    commits: Mapping[str, int]
    watermark: datetime | None
    lag: int
    error: str | None = None


@dataclass(frozen=True)
class Unsound:
    """A version of which Spark dropped so many rows: it is not served."""

    version: int
    dropped: int

    def error(self, view: str) -> RowsDropped:
        """The error for whoever reads the view."""
        return unsound(view, self.version, self.dropped)


@dataclass(frozen=True)
class ViewStatus:
    """A view: where its store is, how far behind the log that is, its ledger, and the figures of its run, if it runs.

    `state` is `starting`, `following`, `waiting` (an attempt failed, the next one is due) or `stopped` where the view
    runs, here or in another process, else `at rest`; `empty` if it has no rows to serve yet, `unreachable` if its store
    can't be asked; `paused` if the operator has paused it, and the field `paused` says since when and why; `unsound` if
    Spark dropped rows of the version that is served, or of one that was to take its place. One that is `held` serves
    its version until another one is promoted. `stores` are all that it is
    kept in, the one that leads first: what is told of the view is told of that one.
    """

    view: str
    state: str
    execution: str
    emit: str
    store: str
    version: int | None
    commits: Mapping[str, int]
    heads: Mapping[str, int]
    watermark: datetime | None
    ledger: Ledger | None
    figures: Figures | None = None
    stores: tuple[StoreStatus, ...] = ()
    paused: Paused | None = None
    unsound: Unsound | None = None
    held: bool = False

    @property
    def has_stopped(self) -> bool:
        """Tells whether its run has ended for good, or could not go on."""
        return self.state in ("stopped", "unsound")

    @property
    def lag(self) -> int:
        """The number of commits of its topics that are not in its store."""
        return lag_of(self.commits, self.heads)


def lag_of(commits: Mapping[str, int], heads: Mapping[str, int]) -> int:
    """The number of commits that are missing up to the heads.

    >>> lag_of({"sales": 3}, {"sales": 5, "visits": 1})
    3
    """
    return sum(max(0, head - commits.get(name, 0)) for name, head in heads.items())


@dataclass(frozen=True)
class OutletStatus:
    """An outlet: what it has sent, and how many batches of its view it has not."""

    sent: Sent
    lag: int

    def as_dict(self) -> dict[str, Any]:
        """The same with stable field names."""
        return self.sent.as_dict() | {"lag": self.lag}


@dataclass(frozen=True)
class Status:
    """A project at an instant, with the alerts that there are."""

    project: str
    at: datetime
    topics: tuple[TopicStatus, ...]
    views: tuple[ViewStatus, ...]
    outlets: tuple[OutletStatus, ...] = ()
    alerts: tuple[Alert, ...] = ()
    integrity: Integrity | None = None

    def as_dict(self) -> dict[str, Any]:
        """The same with stable field names."""
        return {
            "project": self.project,
            "at": self.at,
            "topics": [asdict(topic) for topic in self.topics],
            "views": [self._view(view) for view in self.views],
            "outlets": [outlet.as_dict() for outlet in self.outlets],
            "alerts": [alert.as_dict() for alert in self.alerts],
            "backup": self.integrity.backup if self.integrity else None,
            "scrub": self.integrity.scrub if self.integrity else None,
        }

    def _view(self, view: ViewStatus) -> dict[str, Any]:
        record = {name: getattr(view, name) for name in _NAMES}
        record |= {"commits": dict(view.commits), "heads": dict(view.heads), "lag": view.lag}
        record |= {"stores": [asdict(store) for store in view.stores]}
        record |= {"paused": asdict(view.paused) if view.paused else None}
        record |= {"unsound": asdict(view.unsound) if view.unsound else None}
        figures = view.figures.as_dict(self.at) if view.figures else {}
        record |= {name: figures.get(name) for name in _FIGURES}
        if view.ledger is None:
            return record | {"ledger": None}
        counts = {name: getattr(view.ledger, name) for name in _COUNTS}
        return record | {"ledger": counts}


def topic_status(
    log: TopicLog,
    dead: TopicLog,
    waits: HeadwaterError | None = None,
    stopped: HeadwaterError | None = None,
    paused: Paused | None = None,
) -> TopicStatus:
    """The status of a topic: its log, that of its dead letters, what its intake `waits` for, and why it rests."""
    try:
        clock = log.clock
    except LogDamaged as damaged:
        return TopicStatus(log.topic.name, -1, 0, 0, instant(0), (), None, damaged.summary, paused)
    oldest = min((source.mark for source in clock.sources.values()), default=None)
    sources = tuple(
        SourceStatus(name, instant(source.mark), instant(source.arrived), source.mark == oldest)
        for name, source in sorted(clock.sources.items())
    )
    watermark = instant(clock.watermark)
    counts = count_rows(log), count_open(log, dead)
    why = waits.summary if waits else None, stopped.summary if stopped else None
    return TopicStatus(log.topic.name, log.head, *counts, watermark, sources, *why, paused, lost_of(log), log.unknown)


_NAMES = ("view", "state", "execution", "emit", "store", "version", "watermark", "held")
_FIGURES = (
    "batches", "events", "rows", "events_per_second", "rows_per_second", "freshness_p50", "freshness_p99",
    "batch_p50", "batch_p99", "writing_p50", "writing_p99", "state_bytes", "written_at", "note", "error",
)  # fmt: skip
_COUNTS = (
    "rows_in", "used", "unmatched", "filtered", "late", "late_by_equality", "duplicates", "expanded", "dead", "dropped",
    "remainder",
)  # fmt: skip
