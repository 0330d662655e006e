"""Queries of views and tables: where each of a statement is kept, and what is read of it there, at one moment."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as pa

from headwater.errors import StatementRefused
from headwater.log import TopicLog
from headwater.log.cut import cut_by_name, cuts, shared
from headwater.log.table import TableLog
from headwater.log.table import Version as TableVersion
from headwater.model import Column, Table, schema_of
from headwater.operate.past import readable_then
from headwater.operate.table import readable_table, readable_version, version_of
from headwater.plan import Plan
from headwater.query import Engine, Readable, Statement, answer, parse, select
from headwater.query.refusal import refused
from headwater.query.selected import VIEW, statement_of
from headwater.query.statement import Past
from headwater.store import Condition, Order, Selection, Served, Snapshot, Store
from headwater.store.plain import plain

DEFAULT_STORE = "main"
Then = Callable[..., pa.Table]
"""Computes the rows of a view, which is named, `as_of` an instant, and `known_at` one."""


@dataclass(frozen=True)
class OpenView:
    """A view as it is at one moment, in the thread that has opened it."""

    snapshot: Snapshot
    served: Served
    engine: Engine

    def rows(self, selection: Selection) -> pa.Table:
        """The rows that a selection chooses, with exactly the declared types."""
        wanted, readable = self._wanted(selection), _readable(self.snapshot, self.served, self.served.target.columns)
        if self._can(wanted):
            return select(readable, wanted, self.engine)
        return answer(statement_of(wanted), {VIEW: readable}, self.engine, datetime.now(UTC))

    def plain(self, selection: Selection) -> Iterator[Sequence[Sequence[Any]]]:
        """The same rows, in parts, column by column, as JSON has their values."""
        wanted = self._wanted(selection)
        if self._can(wanted):
            yield from self.snapshot.plain(self.served, wanted)
        else:
            yield list(map(plain, self.rows(wanted).columns))

    def _wanted(self, selection: Selection) -> Selection:
        """A selection of the columns that are shown, unless it names others."""
        columns = selection.columns
        if columns is None and len(shown := self.served.target.shown) < len(self.served.target.columns):
            columns = tuple(column.name for column in shown)
        return replace(selection.in_needed_order(), columns=columns)

    def _can(self, selection: Selection) -> bool:
        """Tells whether the store does all of a selection."""
        parts: tuple[Condition | Order, ...] = (*selection.conditions, *selection.order)
        return all(self.snapshot.can(self.served, part) for part in parts)


@dataclass
class Queries:
    """Answers statements over the views and tables of a plan. `store_of` opens a store by its name, `log_of` the log
    of a table; `then` computes a view as it was, and `engine` the answer.
    """

    plan: Callable[[], Plan]
    store_of: Callable[[str], Store]
    log_of: Callable[[str], TopicLog]
    then: Then
    engine: Engine

    def answer(self, sql: str, store: str | None = None, limit: int | None = None) -> pa.Table:
        """The answer to a statement; each view is read where it is kept, or in the store that is named."""
        statement = parse(sql)
        if store is not None:
            self.store_of(store)  # a name that is none is told, even if no view is read
        now = datetime.now(UTC)
        with self._open(statement, store, now) as views:
            return answer(statement, views, self.engine, now, limit)

    def views_of(self, sql: str) -> list[str]:
        """The views that a statement reads."""
        read = parse(sql).relations().values()
        return [self._held_as(written, None)[1] for written in read if self._table(written) is None]

    def tables_of(self, sql: str) -> list[str]:
        """The tables that a statement reads."""
        read = map(self._table, parse(sql).relations().values())
        return [table.name for table in read if table is not None]

    def rows(self, view: str, selection: Selection) -> tuple[Served, pa.Table]:
        """The rows of a view that a selection chooses, and what they are true for."""
        with self.opened(view) as opened:
            if opened is None:
                raise _without_rows(view)
            return opened.served, opened.rows(selection)

    def rows_then(self, view: str, selection: Selection, known_at: datetime) -> pa.Table:
        """The rows that a selection chooses of a view as it was with what had arrived by an instant."""
        planned = self.plan().view(view)
        if not planned.view.materialized:
            raise _without_rows(planned.name)
        then = readable_then(planned, partial(self.then, planned.name, as_of=None, known_at=known_at))
        statement = statement_of(selection.in_needed_order())
        return answer(statement, {VIEW: then}, self.engine, datetime.now(UTC))

    def rows_of_table(self, name: str, selection: Selection, version: TableVersion) -> tuple[int, pa.Table]:
        """The commit that a table is at, and the rows that a selection chooses of a version of it."""
        table = TableLog(self.log_of(name))
        commit, statement = table.log.head, statement_of(selection.in_needed_order())
        readable = readable_version(table, version, commit)
        return commit, answer(statement, {VIEW: readable}, self.engine, datetime.now(UTC))

    @contextmanager
    def opened(self, view: str, *, waits: bool = True) -> Iterator[OpenView | None]:
        """A view at one moment, to be read in parts that belong together; None if it has no rows yet.

        Without `waits`, also if its store can't be read without waiting for others.
        """
        holder, name = self._held_as(view, None)
        store = self.store_of(holder)
        taken = store.snapshot(self.engine.limits.time) if waits else store.snapshot_at_hand()
        if taken is None:
            yield None
            return
        with taken as snapshot:
            served = snapshot.served(name)
            yield None if served is None else OpenView(snapshot, served, self.engine)

    @contextmanager
    def _open(self, statement: Statement, store: str | None, now: datetime) -> Iterator[dict[str, Readable]]:
        """The views and tables that a statement reads, each store at one moment, the tables at one cut."""
        snapshots: dict[str, Snapshot] = {}
        views: dict[str, Readable] = {}
        tables = {lowered: self._table(written) for lowered, written in statement.relations().items()}
        cut = _cut({table.name: self.log_of(table.name) for table in tables.values() if table is not None})
        with ExitStack() as opened:
            for lowered, written in statement.relations().items():
                past = statement.past.get(lowered)
                if (table := tables[lowered]) is not None:
                    views[lowered] = readable_table(TableLog(self.log_of(table.name)), past, now, cut[table.name])
                    continue
                if past is not None:
                    views[lowered] = self._past(past, now)
                    continue
                holder, name = self._held_as(written, store)
                if holder not in snapshots:
                    at_one_moment = self.store_of(holder).snapshot(self.engine.limits.time)
                    snapshots[holder] = opened.enter_context(at_one_moment)
                served = _served(snapshots[holder], name, self._known())
                views[lowered] = _readable(snapshots[holder], served, served.target.shown)
            yield views

    def _past(self, past: Past, now: datetime) -> Readable:
        """A view as it was, which is computed from the log when it is read."""
        view = next((view for view in self.plan().views.values() if view.name.lower() == past.table.lower()), None)
        if view is None or not view.view.materialized:
            raise refused(f'There is no table or materialized view "{past.table}".', "Name one that is declared.")
        version = version_of(past, now)
        if version.as_of is not None and not view.view.is_forever:
            raise refused(
                f'View "{view.name}" lets go of rows: it has none as of an instant.',
                "Write AS KNOWN AT, for what it had when no more had arrived; or ask a view over all of time.",
            )
        return readable_then(view, partial(self.then, view.name, as_of=version.as_of, known_at=version.known_at))

    def _held_as(self, written: str, store: str | None) -> tuple[str, str]:
        """The store that has a view, and the view's name there."""
        planned = next((view for view in self.plan().views.values() if view.name.lower() == written.lower()), None)
        if planned is None:
            return store or DEFAULT_STORE, written
        if not planned.view.materialized:
            raise refused(
                f'"{planned.name}" is no materialized view: its rows are kept nowhere.',
                "Declare it with CREATE MATERIALIZED VIEW, or ask a view that reads it.",
            )
        return store or planned.view.store or DEFAULT_STORE, planned.name

    def _table(self, written: str) -> Table | None:
        tables = (topic for topic in self.plan().topics.values() if isinstance(topic, Table))
        return next((table for table in tables if table.name.lower() == written.lower()), None)

    def _known(self) -> list[str]:
        return [view.name for view in self.plan().views.values() if view.view.materialized]


def _served(snapshot: Snapshot, view: str, known: Iterable[str]) -> Served:
    served = snapshot.served(view)
    if served is None:
        near = difflib.get_close_matches(view, list(known), 1)
        if view in known:
            raise _without_rows(view)
        raise refused(
            f'There is no view "{view}".',
            f'Did you mean "{near[0]}"?' if near else f"The views are {', '.join(known) or 'none'}.",
        )
    return served


def _cut(logs: Mapping[str, TopicLog]) -> Mapping[str, int]:
    """The commits at which a statement reads tables; where they share transactions, up to the same one."""
    for together in shared(logs.values()):
        if next(cuts(together), None) is None:
            names = " and ".join(f'"{log.topic.name}"' for log in together)
            raise refused(
                f"Tables {names} have come to no common transaction yet.",
                "Take them in: `headwater intake`, or resume the one that is paused.",
            )
    return cut_by_name(logs)


def _without_rows(view: str) -> StatementRefused:
    return refused(f'View "{view}" has no rows yet.', "Run `headwater catch-up` to build it.")


def _readable(snapshot: Snapshot, served: Served, columns: Sequence[Column]) -> Readable:
    """A view of a store as statements read it, with these of its columns."""
    names = tuple(column.name for column in columns)

    def read(selection: Selection) -> Iterator[pa.Table]:
        few = selection.columns is None and len(names) < len(served.target.columns)
        return snapshot.rows(served, replace(selection, columns=names) if few else selection)

    return Readable(schema_of(tuple(columns)), partial(snapshot.can, served), read)
