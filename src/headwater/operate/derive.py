"""Derived topics: a view's final rows, published for the views that read it.

A row is published once, when it can't change any more, in the order of time and key; so a derived topic has the same
rows in the same order however the view came to them. They are taken from the view's store. What was published is known
by the topic's own watermark: after a crash, or when the topic has been deleted, publishing goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from headwater.log import TopicLog
from headwater.log.derived import publish
from headwater.plan import PlannedView
from headwater.plan.physical.published import Published
from headwater.store import Span, Store

_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class Derived:
    """The derived topic of a view, fed from one of its versions."""

    planned: PlannedView
    log: TopicLog
    store: Store
    version: int

    def begin(self) -> None:
        """Make the topic and its way out of the store, unless they are there."""
        self.log.create()
        self.store.index(self.planned.name, self.version, self._time)

    def publish(self, settled: datetime) -> None:
        """Publish the rows that are final at this watermark of the view; they must be in the store."""
        follows, before = self._follows, self.log.watermark
        after = follows.watermark(settled)
        if after <= before:
            return
        span = Span(self._time, before + follows.reach if before > _EPOCH else None, after + follows.reach)
        rows = self.store.read(self.planned.name, self.version, span)
        shown = [column.name for column in self.planned.shown]
        publish(self.log, self._ordered(rows).select(shown), before, after, self.planned.name)

    def _ordered(self, rows: pa.Table) -> pa.Table:
        return rows.sort_by([(name, "ascending") for name in self._follows.by])

    @property
    def _follows(self) -> Published:
        published = self.planned.physical.publishes
        assert published is not None
        return published

    @property
    def _time(self) -> str:
        time = self.planned.time
        assert time is not None
        return time.name
