"""Asking views: the rows that are served, what changed in them, and what several of them have at one cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from itertools import islice

import pyarrow as pa

from headwater import model
from headwater.errors import ArgumentRefused
from headwater.operate.catalog import Catalog
from headwater.operate.cut import POLL, Source, ViewAt, check_views, newest_cut, not_reached
from headwater.operate.query import DEFAULT_STORE, Queries, Then
from headwater.outlets import Feed
from headwater.outlets.discard import totals_apart
from headwater.plan import PlannedOutlet, PlannedView
from headwater.plan.additive import not_additive
from headwater.plan.outlet import is_only_added_to
from headwater.query import Engine
from headwater.store import Position, Version
from headwater.store.sound import SoundStore, check_sound
from headwater.waiting import wait_for


class ViewAnswers:
    """Answers what is asked of the views of a catalog. `queries` answers statements in the SQL of views, and `then`
    computes a view as it was.
    """

    def __init__(self, catalog: Catalog, then: Then) -> None:
        self._catalog = catalog
        self._engine = Engine()
        self.queries = Queries(lambda: catalog.plan, catalog.stores.named, catalog.log_of, then, self._engine)

    def query(self, sql: str, store: str | None = None, limit: int | None = None, *, native: bool = False) -> pa.Table:
        """Answer a statement in the SQL of views, or, `native`, in the store's own; it can't write.

        `RowsDropped` if a view that it names is unsound.
        """
        if not native:
            return self.queries.answer(sql, store, limit)
        opened = self._catalog.stores.named(store or DEFAULT_STORE)
        for planned in self._catalog.materialized():
            if planned.name.lower() in sql.lower():
                check_sound(opened, planned.name)
        return opened.query(sql, limit)

    def store(self, name: str) -> SoundStore:
        """The store that a view is served from."""
        return self._catalog.store(self._catalog.plan.view(name))

    def served(self, name: str) -> Version | None:
        """The version that is served, if there is one yet."""
        return self._catalog.served(self._catalog.plan.view(name))

    def served_position(self, name: str) -> tuple[int, Position | None] | None:
        """The number of the served version, and its position; None if there is none. It asks less than `served`."""
        planned = self._catalog.plan.view(name)
        store = self._catalog.store(planned)
        number = store.promoted(planned.name)
        return None if number is None else (number, store.position(planned.name, number))

    def cut(self, names: Sequence[str], wait: timedelta) -> list[ViewAt]:
        """The rows of views, true for the same commits of what they read together; `NotReached` if waited in vain."""
        views = [self._catalog.plan.view(name) for name in names]
        check_views(self._catalog.plan, views)
        at_cut = wait_for(lambda: self._at_cut(views), wait, every=POLL)
        if at_cut is None:
            raise not_reached([self._source(view) for view in views], wait)
        return at_cut

    def _at_cut(self, views: Sequence[PlannedView]) -> list[ViewAt] | None:
        sources = [self._source(view) for view in views]
        now = [list(islice(source.stands(), 1)) for source in sources]
        stands = newest_cut(now) or newest_cut([list(source.stands()) for source in sources])
        pairs = zip(sources, stands or (), strict=False)
        at_cut = [at for source, stand in pairs if (at := source.at(stand)) is not None]
        return at_cut if len(at_cut) == len(views) else None

    def changes(
        self,
        name: str,
        version: int | None = None,
        since: int | None = None,
        accumulation: model.Accumulation = "accumulate",
    ) -> Iterator[pa.Table]:
        """The changes of the batches of a version after `since`, by default of the served one: a table for each batch.

        Its columns are those of `changes_schema`, and `timing`, which says whether a change was early, on time or late.
        With `discard`, `after` is how the totals of a row differ from before.
        """
        from headwater.engine.timing import with_timing

        planned = self._catalog.plan.view(name)
        if accumulation == "discard":
            _check_totals(planned)
        number = self._catalog.versions(planned).promoted().target.version if version is None else version
        for batch in self._catalog.store(planned).changes(planned.name, number, since):
            marked = with_timing(planned, batch)
            yield totals_apart(marked, planned.identity) if accumulation == "discard" else marked

    def feed(self, planned: PlannedOutlet) -> Feed:
        """The changes that an outlet sends: those of its view, with their timing."""
        from headwater.engine.timing import with_timing

        view, outlet = planned.view, planned.outlet
        store, mark = self._catalog.store(view), partial(with_timing, view)
        keyed, discards = outlet.envelope == "upsert", outlet.accumulation == "discard" and not is_only_added_to(view)
        differ = partial(totals_apart, key=view.identity) if discards else None
        return Feed(outlet.name, view.name, store, view.fingerprint, mark, outlet.start, keyed, differ)

    def close(self) -> None:
        """Let go of what computes answers."""
        self._engine.close()

    def _source(self, planned: PlannedView) -> Source:
        return Source(planned, self._catalog.store(planned), self._catalog.versions(planned).promoted())


def _check_totals(planned: PlannedView) -> None:
    column = not_additive(planned) if planned.identity else next(iter(planned.columns)).name
    if column is not None:
        raise ArgumentRefused(
            f'the totals of view "{planned.name}" have no differences',
            detail=f'Column "{column}" doesn\'t add up: counts and sums of integers and decimals do, under a key.',
            hint="Ask for accumulation = 'accumulate'.",
            view=planned.name,
        )
