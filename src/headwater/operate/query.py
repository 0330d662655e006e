"""Queries of views: where each view of a statement is kept, and what is read of it there, at one moment."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import pyarrow as pa

from headwater.plan import Plan
from headwater.query import Engine, Readable, Statement, answer, parse, select
from headwater.query.refusal import refused
from headwater.query.selected import VIEW, statement_of
from headwater.store import Selection, Served, Snapshot, Store

DEFAULT_STORE = "main"


@dataclass
class Queries:
    """Answers statements over the views of a plan. `store_of` opens a store by its name; `engine` computes."""

    plan: Callable[[], Plan]
    store_of: Callable[[str], Store]
    engine: Engine

    def answer(self, sql: str, store: str | None = None, limit: int | None = None) -> pa.Table:
        """The answer to a statement; each view is read where it is kept, or in the store that is named."""
        statement = parse(sql)
        if store is not None:
            self.store_of(store)  # a name that is none is told, even if no view is read
        with self._open(statement, store) as views:
            return answer(statement, views, self.engine, datetime.now(UTC), limit)

    def views_of(self, sql: str) -> list[str]:
        """The views that a statement reads."""
        return [self._place(written, None)[1] for written in parse(sql).relations().values()]

    def rows(self, view: str, selection: Selection) -> tuple[Served, pa.Table]:
        """The rows of a view that a selection chooses, and what they are true for."""
        store, name = self._place(view, None)
        with self.store_of(store).snapshot(self.engine.limits.time) as snapshot:
            served = _served(snapshot, name, [name])
            return served, self._chosen(snapshot, served, selection)

    def _chosen(self, snapshot: Snapshot, served: Served, selection: Selection) -> pa.Table:
        readable = _readable(snapshot, served)
        if all(map(readable.can, selection.conditions)) and all(map(readable.can, selection.order)):
            return select(readable, selection, self.engine)
        return answer(statement_of(selection), {VIEW: readable}, self.engine, datetime.now(UTC))

    @contextmanager
    def _open(self, statement: Statement, store: str | None) -> Iterator[dict[str, Readable]]:
        """The views that a statement reads, each store at one moment."""
        snapshots: dict[str, Snapshot] = {}
        views: dict[str, Readable] = {}
        with ExitStack() as opened:
            for lowered, written in statement.relations().items():
                place, name = self._place(written, store)
                if place not in snapshots:
                    at_one_moment = self.store_of(place).snapshot(self.engine.limits.time)
                    snapshots[place] = opened.enter_context(at_one_moment)
                views[lowered] = _readable(snapshots[place], _served(snapshots[place], name, self._known()))
            yield views

    def _place(self, written: str, store: str | None) -> tuple[str, str]:
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

    def _known(self) -> list[str]:
        return [view.name for view in self.plan().views.values() if view.view.materialized]


def _served(snapshot: Snapshot, view: str, known: Iterable[str]) -> Served:
    served = snapshot.served(view)
    if served is None:
        near = difflib.get_close_matches(view, list(known), 1)
        if view in known:
            raise refused(f'View "{view}" has no rows yet.', "Run `headwater catch-up` to build it.")
        raise refused(
            f'There is no view "{view}".',
            f'Did you mean "{near[0]}"?' if near else f"The views are {', '.join(known) or 'none'}.",
        )
    return served


def _readable(snapshot: Snapshot, served: Served) -> Readable:
    return Readable(served.target.schema, partial(snapshot.can, served), partial(snapshot.rows, served))
