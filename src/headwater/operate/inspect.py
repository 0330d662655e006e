"""Inspecting views: how each of them is, what it is made of, and whether what it holds follows from the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from headwater.engine.failure import failures_of
from headwater.engine.view import heads_of
from headwater.errors import HeadwaterError, LogDamaged
from headwater.log import TopicLog
from headwater.log.read import watermark_at
from headwater.operate.backtest import Backtested, backtested
from headwater.operate.catalog import Catalog
from headwater.operate.explain import Explained, explain
from headwater.operate.figures import Figures
from headwater.operate.ledger import Ledger, ledger_of
from headwater.operate.query import DEFAULT_STORE
from headwater.operate.status import StoreStatus, Unsound, ViewStatus, lag_of
from headwater.operate.verify import Verified, differences
from headwater.operate.why import Row, Why, condition_of, events_at, only_row, typed_row
from headwater.plan import PlannedView
from headwater.store import Version
from headwater.store.sound import check_sound, dropped_from

if TYPE_CHECKING:
    from headwater.engine.batch import BatchView

Commits = Mapping[str, int] | None
"""A commit of each topic; None, or a topic that is missing: the start of its log, or its head."""


class ViewInspection:
    """Looks into the views of a catalog, and changes nothing."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def status(self, dead: Mapping[str, int], figures: Iterable[Figures]) -> list[ViewStatus]:
        """The status of each materialized view, by the dead letters of each topic and the figures of those that run."""
        running = {figure.view: figure for figure in figures}
        return [self._status(planned, dead, running.get(planned.name)) for planned in self._catalog.materialized()]

    def ledger(self, name: str) -> Ledger:
        """The fates of all rows that the served version of a view has read."""
        planned = self._catalog.plan.view(name)
        version = self._catalog.versions(planned).promoted()
        number = version.target.version
        counts = self._catalog.store(planned).ledger(planned.name, number)
        return ledger_of(planned.name, number, _commits(planned, version), counts)

    def late(self, name: str) -> pa.Table:
        """The rows that came too late for a view, once per window, with how late they were."""
        with failures_of(name):
            return self._batch(self._catalog.plan.view(name), None, None).late(self._catalog.spark)

    def batch(self, name: str, after: Commits = None, upto: Commits = None, as_of: datetime | None = None) -> pa.Table:
        """The rows of a view over the commits after some and up to others, computed at once; nothing is stored.

        Of a view over all of time `as_of` says by when what counts had happened.
        """
        with failures_of(name):
            batch = self._batch(self._catalog.plan.view(name), after, upto)
            return replace(batch, as_of=as_of).rows(self._catalog.spark)

    def verify(self, name: str) -> Verified:
        """Recompute a view in batch, up to where its store is, and compare its rows and its ledger."""
        planned = self._catalog.plan.view(name)
        version = self._sound(planned)
        number, commits = version.target.version, _commits(planned, version)
        store = self._catalog.store(planned)
        with failures_of(planned.name):
            expected, counts = self._batch_at(planned, commits).counted(self._catalog.spark)
        missing, extra = differences(store.read(planned.name, number), expected, planned.root.tolerances)
        kept = store.ledger(planned.name, number)
        miscounted = {fate: (kept.get(fate, 0), count) for fate, count in counts.items() if kept.get(fate, 0) != count}
        remainder = ledger_of(planned.name, number, commits, kept).remainder
        return Verified(planned.name, number, commits, expected.num_rows, missing, extra, miscounted, remainder)

    def why(self, name: str, row: Row, most: int) -> Why:
        """The events behind a row of the served version, and those that came too late for it."""
        from headwater.engine.batch import EVENTS
        from headwater.engine.view import span_of
        from headwater.operators.lowering.stamp import BEHIND

        plan = self._catalog.plan
        planned = plan.view(name)
        asked = typed_row(planned.name, planned.columns, row)
        version = self._sound(planned)
        commits = _commits(planned, version)
        with failures_of(planned.name):
            view = replace(self._batch_at(planned, commits).tracing(), between=span_of(planned, asked))
            rows, late = view.why(self._catalog.spark, condition_of(asked), most)
        names = [column.name for column in planned.columns]
        shown = only_row(planned.name, planned.identity, asked, rows.select(names), late)
        topics = {topic: self._catalog.log_of(topic) for topic in plan.graph.upstream(planned.name) & set(plan.topics)}
        counts = [sum(part[EVENTS].to_pylist()) for part in (rows, late)]
        events = [events_at(topics, (at for row in part[BEHIND].to_pylist() for at in row)) for part in (rows, late)]
        return Why(planned.name, version.target.version, commits, shown, counts[0], events[0], counts[1], events[1])

    def backtest(self, name: str, conditions: Sequence[str], labels: Path | None, examples: int) -> Backtested:
        """The rows of a view as it is declared and with other conditions, over all of history; nothing is stored."""
        plan = self._catalog.plan
        planned = plan.view(name)

        def rows_of(some: PlannedView) -> tuple[pa.Table, Mapping[str, int]]:
            with failures_of(some.name):
                batch = self._batch(some, None, None)
                return batch.rows(self._catalog.spark), batch.upto

        return backtested(plan, planned, rows_of, conditions, labels, examples)

    def explain(self, name: str, *, spark: bool = False) -> Explained:
        """The execution of a view and why, the state it keeps, and its versions; with `spark`, Spark's plan as well."""
        planned = self._catalog.plan.view(name)
        session = self._catalog.spark if spark else None
        return explain(planned, self._catalog.versions(planned), self._catalog.logs(planned), session)

    def _status(self, planned: PlannedView, dead: Mapping[str, int], figures: Figures | None) -> ViewStatus:
        version, ledger, error, unsound = None, None, None, None
        try:
            version = self._catalog.served(planned)
            ledger = self.ledger(planned.name) if version else None
            unsound = self._unsound(planned, version)
        except HeadwaterError as failure:  # who asks how things are must be told when a store is away
            error = failure.summary
        position = version.position if version else None
        paused = self._catalog.wishes.paused("view", planned.name)
        at_rest = "unreachable" if error else "paused" if paused else "at rest" if version else "empty"
        heads = {name: _head(log) for name, log in self._catalog.logs(planned).items()}
        return ViewStatus(
            planned.name,
            "unsound" if unsound else figures.state if figures else at_rest,
            planned.execution.kind,
            planned.emit.value,
            planned.view.store or DEFAULT_STORE,
            version.target.version if version else None,
            dict(position.commits) if position else {},
            heads,
            position.watermark if position else None,
            replace(ledger, dead=sum(dead.get(name, 0) for name in ledger.commits)) if ledger else None,
            figures,
            tuple(
                self._store_status(planned, name, version, heads, error)
                for name in planned.view.stores or [DEFAULT_STORE]
            ),
            paused,
            unsound,
            self._catalog.holds.is_held(planned.name),
        )

    def _store_status(
        self,
        planned: PlannedView,
        store: str,
        version: Version | None,
        heads: Mapping[str, int],
        error: str | None,
    ) -> StoreStatus:
        """The position of a store in the served version; the one that leads has told it already, or what keeps it."""
        position = version.position if version else None
        leads = store == (planned.view.stores or [store])[0]
        error = error if leads else None
        if version and not leads:
            try:
                position = self._catalog.stores.named(store).position(planned.name, version.target.version)
            except HeadwaterError as failure:
                position, error = None, failure.summary
        commits = dict(position.commits) if position else {}
        return StoreStatus(store, commits, position.watermark if position else None, lag_of(commits, heads), error)

    def _sound(self, planned: PlannedView) -> Version:
        """The version that is served; `RowsDropped` if it must not be."""
        version = self._catalog.versions(planned).promoted()
        check_sound(self._catalog.store(planned), planned.name, version.target.version)
        return version

    def _unsound(self, planned: PlannedView, served: Version | None) -> Unsound | None:
        """The version that Spark dropped rows of, if it is the one that is served or one that was to take its place."""
        store, first = self._catalog.store(planned), served.target.version if served else 0
        for version in reversed(store.versions(planned.name)):
            number = version.target.version
            if number >= first and (dropped := dropped_from(store, planned.name, number)):
                return Unsound(number, dropped)
        return None

    def _batch(self, planned: PlannedView, after: Commits, upto: Commits) -> BatchView:
        """A view over commits of the topics that it reads, itself or through other views."""
        from headwater.engine.batch import BatchView, Upstream

        logs = self._catalog.logs(planned)
        commits = {**heads_of(planned, logs), **{name: commit for name, commit in (upto or {}).items() if name in logs}}
        read = self._catalog.views_read(planned)
        views = {name: Upstream.whole(self._batch(view, after, upto)) for name, view in read.items()}
        return BatchView(planned, logs, commits, after, views)

    def _batch_at(self, planned: PlannedView, commits: Mapping[str, int]) -> BatchView:
        """A view as it is where its store is, which may be behind what the views that it reads could give today."""
        from headwater.engine.batch import BatchView, Upstream

        logs = self._catalog.logs(planned)
        views = {
            name: Upstream(self._batch(view, None, None), watermark_at(logs[name], commits[name]))
            for name, view in self._catalog.views_read(planned).items()
        }
        return BatchView(planned, logs, commits, None, views)


def _commits(planned: PlannedView, version: Version) -> dict[str, int]:
    return dict(version.position.commits) if version.position else dict.fromkeys(planned.inputs, 0)


def _head(log: TopicLog) -> int:
    """The head of a log, as a status tells it: 0 if it is damaged, which its topic says."""
    try:
        return max(log.head, 0)
    except LogDamaged:
        return 0
