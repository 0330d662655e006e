"""The views of a project, beyond everyday: at one cut, as they change, over other commits, and what became of rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater.config import PromotionSettings, Settings
from headwater.engine.session import Spark
from headwater.log import TopicLog
from headwater.log import read as reading
from headwater.log.loss import lost_of
from headwater.log.table import TableLog
from headwater.log.table import Version as TableVersion
from headwater.model import Table
from headwater.operate import Ledger, Patience, Verified, Views, Why
from headwater.operate.ask import ViewAnswers
from headwater.operate.catalog import Catalog
from headwater.operate.cut import ViewAt
from headwater.operate.inspect import ViewInspection
from headwater.operate.policy import Gate, Policy
from headwater.operate.promotion import Promotion
from headwater.operate.query import OpenView
from headwater.operate.run import ViewRuns
from headwater.plan import Plan
from headwater.project.dead import Letters
from headwater.project.declarations import Declarations
from headwater.project.delegate import Delegate
from headwater.project.logs import Logs
from headwater.store import OpenStore, Position, Selection, Served, Version

_MICROSECOND = timedelta(microseconds=1)
WATCH_POLL = timedelta(milliseconds=100)
CUT_WAIT = timedelta(seconds=5)
"""A cut of several views is waited for so long."""


class ProjectViews:
    """Reads views in ways that are seldom needed: `project.views`. They are opened when they are first asked for."""

    def __init__(
        self,
        declarations: Declarations,
        logs: Logs,
        letters: Letters,
        folder: Path,
        settings: Settings,
        patience: Patience,
        open_store: OpenStore,
        spark: Spark,
        delegate: Delegate,
    ) -> None:
        self._declarations = declarations
        self._logs = logs
        self._letters = letters
        self._home = folder / ".headwater"
        self._settings = settings
        self._patience = patience
        self._open_store = open_store
        self._spark = spark
        self._delegate = delegate
        delegate.by |= {"late": self._late, "batch": self._batch, "verify": self._verify, "why": self._why}
        delegate.by["then"] = self._then
        self._views: Views | None = None
        declarations.followers.append(self._take_over)

    def opened(self) -> Views:
        """The views by what is wanted of them, which follow a promotion from then on."""
        with self._declarations.guard:
            if self._views is None:
                catalog = Catalog(
                    self._declarations.plan(),
                    self._logs.of,
                    self._logs.derived,
                    self._home,
                    self._spark,
                    lease=self._patience.lease,
                    open_store=self._open_store,
                    keep=self._declarations.keep,
                    kept=self._declarations.view_kept,
                    policy=_policy(self._settings.promotion),
                )
                runs = ViewRuns(catalog, at_once=self._settings.catch_up.views_at_once, patience=self._patience)
                answers = ViewAnswers(catalog, partial(self._delegate.do, "then"))
                self._views = Views(catalog, runs, answers, ViewInspection(catalog))
            return self._views

    def close(self) -> None:
        """Stop what runs, and let go of the stores."""
        self._spark.close()
        if self._views is not None:
            self._views.close()

    def select(self, view: str, selection: Selection) -> tuple[Served, pa.Table]:
        """The rows of a view that a selection chooses, with the version and the position that they are true for."""
        return self.opened().ask.queries.rows(view, selection)

    def at_one_moment(self, view: str, *, waits: bool = True) -> AbstractContextManager[OpenView | None]:
        """A view as it is now, to be read by one thread in parts that belong together: its position, and its rows.

        None if it has no rows yet; without `waits`, also if its store can't be read without waiting for others.
        """
        return self.opened().ask.queries.opened(view, waits=waits)

    def told_when_written(self, view: str, told: Callable[[], None]) -> AbstractContextManager[None]:
        """Have something called, soon after this process has written to the store that a view is served from.

        What other processes write isn't told.
        """
        return self.opened().ask.store(view).told_when_written(told)

    def views_of(self, statement: str) -> list[str]:
        """The views that a statement reads."""
        return self.opened().ask.queries.views_of(statement)

    def tables_of(self, statement: str) -> list[str]:
        """The tables that a statement reads."""
        return self.opened().ask.queries.tables_of(statement)

    def select_of_table(
        self, table: str, selection: Selection, as_of: datetime | None = None, known_at: datetime | None = None
    ) -> tuple[int, pa.Table]:
        """The commit that a table is at, and the rows that a selection chooses: as they are, were or were known."""
        return self.opened().ask.queries.rows_of_table(table, selection, TableVersion(as_of, known_at))

    def served(self, view: str) -> Version | None:
        """The version of a view that is served, with its position; None while it has no rows to serve."""
        return self.opened().ask.served(view)

    def served_position(self, view: str) -> tuple[int, Position | None] | None:
        """The version of a view that is served and its position, as `served` has them; None while it has no rows."""
        return self.opened().ask.served_position(view)

    def rows_at_cut(self, *views: str, wait: timedelta = CUT_WAIT) -> list[ViewAt]:
        """The rows of several views, true for the same commits of what they read together.

        The newest such cut is taken, led back to by the changelogs; if there is none, it is waited for so long, and
        then `NotReached` is raised. `ArgumentRefused` if views read the same topic in different ways, one through
        another view: then no commit tells of both.
        """
        return self.opened().ask.cut(views, wait)

    def watch(self, view: str, *, stop: threading.Event | None = None) -> Iterator[pa.Table]:
        """The changes of each batch in a view from now on, whichever process runs it, until `stop` is set."""
        stop, at = stop or threading.Event(), _newest_batch(self.served(view))
        while not stop.wait(WATCH_POLL.total_seconds()):
            version, batch = _newest_batch(self.served(view))
            if (version, batch) == at or version is None:
                continue
            for table in self.opened().ask.changes(view, version, since=at[1] if at[0] == version else -1):
                batch = max(batch, table["batch"][0].as_py())
                yield table
            at = version, batch

    def published(self, view: str, watermark: datetime) -> int | None:
        """The newest commit of a view's derived topic, if all is published there that is final at a watermark of it."""
        planned = self._declarations.plan().view(view)
        log, published = self._logs.derived(planned), planned.physical.publishes
        return log.head if published and log.watermark >= published.watermark(watermark) else None

    def late(self, view: str) -> pa.Table:
        """The rows that came too late for a view, once per window that they were late for, and how late they were."""
        rows: pa.Table = self._delegate.do("late", view)
        return rows

    def batch(
        self, view: str, *, first: int | None = None, last: int | None = None, until: datetime | None = None
    ) -> pa.Table:
        """The rows of a view computed at once, by default over the whole log; nothing is stored.

        `first` and `last` are commits, of each topic that it reads. `until` is an instant of arrival: the rows that the
        view had once everything was read that had arrived before it.
        """
        rows: pa.Table = self._delegate.do("batch", view, first=first, last=last, until=until)
        return rows

    def _batch(self, view: str, first: int | None, last: int | None, until: datetime | None) -> pa.Table:
        logs = self._logs_below(view)
        after = None if first is None else dict.fromkeys(logs, first - 1)
        upto = None if last is None else {name: min(last, log.head) for name, log in logs.items()}
        if until is not None:
            arrived = {name: reading.seek(log, until) - 1 for name, log in logs.items()}
            upto = {name: min(commit, (upto or arrived)[name]) for name, commit in arrived.items()}
        return self._shown(view, self.opened().inspect.batch(view, after, upto))

    def _shown(self, view: str, rows: pa.Table) -> pa.Table:
        return rows.select([column.name for column in self._declarations.plan().view(view).shown])

    def _then(self, view: str, as_of: datetime | None, known_at: datetime | None) -> pa.Table:
        """The rows of a view as they were, or were known, at an instant: a topic without a time is as it was known."""
        logs, upto = self._logs_below(view), {}
        for name, log in logs.items():
            if isinstance(log.topic, Table):
                TableLog(log).check_kept(TableVersion(as_of, known_at))
            instants = [known_at, as_of if log.topic.time is None else None]
            known = min((at for at in instants if at is not None), default=None)
            upto[name] = log.head if known is None else reading.seek(log, known + _MICROSECOND) - 1
        return self.opened().inspect.batch(view, None, upto, as_of)

    def _logs_below(self, view: str) -> dict[str, TopicLog]:
        """The logs of the topics that a view is made of, through all that it reads."""
        plan = self._declarations.plan()
        return {name: self._logs.of(name) for name in plan.graph.upstream(plan.view(view).name) & set(plan.topics)}

    def ledger(self, view: str) -> Ledger:
        """The fates of all events that were sent to the topics of a view; its remainder must be 0."""
        ledger = self.opened().inspect.ledger(view)
        topics = [name for name in ledger.commits if name in self._declarations.plan().topics]
        lost = sum(lost_of(self._logs.of(name)).rows for name in topics)
        return replace(ledger, dead=self._letters.count(topics), lost=lost)

    def _late(self, view: str) -> pa.Table:
        return self.opened().inspect.late(view)

    def _verify(self, view: str) -> Verified:
        return self.opened().inspect.verify(view)

    def _why(self, view: str, row: Mapping[str, Any], most: int) -> Why:
        return self.opened().inspect.why(view, row, most)

    def _take_over(self, plan: Plan, promotion: Promotion) -> None:
        """Let views that are opened follow other declarations."""
        if self._views is not None:
            self._views.take_over(plan, promotion)


def _policy(settings: PromotionSettings) -> Policy:
    gate = Gate(settings.max_diff, settings.max_missing, settings.require)
    return Policy(gate, settings.keep_old, settings.hold, settings.by)


def _newest_batch(version: Version | None) -> tuple[int | None, int]:
    """The version that is served, and its newest batch; -1 before the first."""
    return (version.target.version if version else None, version.position.batch if version and version.position else -1)
