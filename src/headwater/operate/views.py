"""The views of a project: bringing them to the head of their topics, asking them, verifying and explaining them."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headwater import model
from headwater.engine.failure import failures_of
from headwater.errors import ArgumentRefused, HeadwaterError, LogDamaged, NotSupportedYet, UnknownStore, ViewBusy
from headwater.log import TopicLog
from headwater.log.columns import KeptColumns
from headwater.log.read import watermark_at
from headwater.log.watch import Watch
from headwater.operate.cut import POLL, Source, ViewAt, check_views, newest_cut, not_reached
from headwater.operate.explain import Explained, explain
from headwater.operate.figures import Figures
from headwater.operate.halt import Halt, side_by_side
from headwater.operate.keep import Keeper
from headwater.operate.ledger import Ledger, ledger_of
from headwater.operate.mend import mend
from headwater.operate.promotion import Promotion, is_read
from headwater.operate.query import DEFAULT_STORE, Queries
from headwater.operate.status import StoreStatus, Unsound, ViewStatus, lag_of
from headwater.operate.supervise import CaughtUp, Patience, Reading, Run
from headwater.operate.verify import Verified, differences
from headwater.operate.versions import Versions
from headwater.operate.why import Row, Why, condition_of, events_at, only_row, typed_row
from headwater.operate.wish import Paused, Wishes
from headwater.outlets import Feed
from headwater.outlets.discard import totals_apart
from headwater.plan import Plan, PlannedOutlet, PlannedView
from headwater.plan.additive import not_additive
from headwater.plan.approximate import tolerances
from headwater.plan.outlet import is_only_added_to
from headwater.plan.stages import Scan
from headwater.query import Engine
from headwater.store import OpenStore, Position, Store, Version, open_store
from headwater.store.sound import SoundStore, check_sound, dropped_from

if TYPE_CHECKING:
    from headwater.engine.batch import BatchView

Report = Callable[[Reading], None]
Commits = Mapping[str, int] | None
"""A commit of each topic; None, or a topic that is missing: the start of its log, or its head."""


def _silent(_: Reading) -> None:
    """Tell nobody."""


class Views:
    """The views of a project that has no findings. Spark starts when the first one runs.

    `at_once` is how many views run at a time, by default as many as Spark has cores. `chance` gives numbers in [0, 1).
    """

    def __init__(
        self,
        plan: Plan,
        log_of: Callable[[str], TopicLog],
        derived_log_of: Callable[[PlannedView], TopicLog],
        home: Path,
        spark: Mapping[str, str],
        *,
        at_once: int | None = None,
        patience: Patience = Patience(),  # noqa: B008  # it is frozen
        chance: Callable[[], float] = random.random,
        open_store: OpenStore = open_store,
    ) -> None:
        self.wishes = Wishes(home)
        self._plan = plan
        self._log_of = log_of
        self._derived_log_of = derived_log_of
        self._home = home
        self._settings = spark
        self._at_once = at_once
        self._patience = patience
        self._chance = chance
        self._open_store = open_store
        self._guard = threading.Lock()
        self._stores: dict[str, Store] = {}
        self._together: dict[str, Store] = {}
        self._halts: set[Halt] = set()
        self._keepers: set[Keeper] = set()
        self._columns = KeptColumns()
        self._query_engine = Engine()

    def catch_up(
        self,
        names: Iterable[str] | None = None,
        options: Mapping[str, str] | None = None,
        report: Report = _silent,
    ) -> list[CaughtUp]:
        """Bring views to the head of their topics; one that fails stops alone. Results are in the order of declaration.

        One that is paused is left as it is.
        `options` go to the source. `report` is told how far each view has come, from several threads. An interrupt
        (Ctrl-C) stops the views cleanly and is passed on.
        """
        kept = [planned for planned in self._chosen(names) if planned.view.materialized]
        self._mend(kept)
        can_run = [planned for planned in kept if not (_unsupported(planned) or self._paused(planned))]
        # without Spark none of them can run: one error, not one for each
        at_once = min(len(can_run), self._at_once or self._cores) if can_run and self._spark else 1
        halt = Halt()
        self._halts.add(halt)
        done: dict[str, CaughtUp] = {}
        try:
            for level in self._levels(kept):
                tasks = [partial(self._run, planned, options or {}, report, halt.part()) for planned in level]
                done.update((found.view, found) for found in side_by_side(tasks, at_once, halt))
        finally:
            self._halts.discard(halt)
        return [done[planned.name] for planned in kept]

    def replay(
        self,
        names: Iterable[str] | None = None,
        options: Mapping[str, str] | None = None,
        report: Report = _silent,
    ) -> list[CaughtUp]:
        """Build views from the start of the log, each as a new version; the one before is served until it is there.

        One that another run works on is `left_to` that run, which builds it anew and goes on.
        """
        kept = [planned for planned in self._chosen(names) if planned.view.materialized]
        for planned in kept:
            self.wishes.ask_replay(planned.name)
        done = self.catch_up([planned.name for planned in kept], options, report)
        return [_left(found) if isinstance(found.error, ViewBusy) else found for found in done]

    def keep_up(
        self,
        names: Iterable[str] | None = None,
        options: Mapping[str, str] | None = None,
        report: Report = _silent,
        ended: Callable[[CaughtUp], object] = lambda _: None,
        *,
        wait: bool = True,
        stays: bool = False,
    ) -> list[CaughtUp]:
        """Keep views at the head of their topics until `stop` is called; all at a time, each in a query of its own.

        `ended` is told of each view that ends, from several threads: one that failed for good ends alone, and begins
        again when it is resumed or replayed, until all have ended or, with `stays`, until `stop` is called. A view that
        is paused rests. A view that another run works on is waited for; without `wait` it ends with `ViewBusy`.
        """
        kept = [planned for planned in self._chosen(names) if planned.view.materialized]
        self._mend(kept)
        if any(_unsupported(planned) is None for planned in kept):
            assert self._spark  # without it none of them can run: one error, not one for each
        halt = Halt()
        self._halts.add(halt)
        logs = {log for planned in kept if not _unsupported(planned) for log in self._logs(planned).values()}
        self._publishable(kept)
        with Watch(logs) as watch:

            def run(name: str, own: Halt) -> CaughtUp:
                try:
                    planned = self._plan.view(name)
                    watch.add(self._logs(planned).values())
                except HeadwaterError as error:
                    return CaughtUp(name, 0, error=error)
                return self._run(planned, options or {}, report, own, watch, waits=wait)

            keeper = Keeper(run, self.wishes, report, ended, halt, stays, takes_new=not names)
            self._keepers.add(keeper)
            try:
                keeper.begin(planned.name for planned in kept)
                return keeper.wait()
            finally:
                self._halts.discard(halt)
                self._keepers.discard(keeper)

    def take_over(self, plan: Plan, promotion: Promotion) -> None:
        """Let another plan take the place of this one, and let the views that are kept up follow it."""
        if "_spark" in self.__dict__:
            self._register(self._spark, plan)
        self._plan = plan
        self._publishable(self._declared())
        for keeper in tuple(self._keepers):
            keeper.take_over(promotion)

    def _publishable(self, views: Iterable[PlannedView]) -> None:
        """Make the derived topics of views that are read: their readers may be there first."""
        for planned in views:
            if planned.view.materialized and is_read(self._plan, planned.name):
                self._derived_log_of(planned).create()

    def _chosen(self, names: Iterable[str] | None) -> list[PlannedView]:
        """The named views as they are named, behind those that they read; all, as declared, if none is named."""
        if not names:
            return self._declared()
        named = list({planned.name: planned for planned in map(self._plan.view, names)}.values())
        upstream = {found for planned in named for found in self._plan.graph.upstream(planned.name)}
        read = [planned for planned in self._declared() if planned.name in upstream and planned not in named]
        return [*read, *named]

    def _levels(self, views: list[PlannedView]) -> Iterator[list[PlannedView]]:
        """The views in groups, each behind those that it reads."""
        depths = {planned.name: self._depth(planned) for planned in views}
        for depth in sorted(set(depths.values())):
            yield [planned for planned in views if depths[planned.name] == depth]

    def _depth(self, planned: PlannedView) -> int:
        sources = [self._plan.view(scan.relation) for scan in planned.scans if scan.kind == "view"]
        return max((1 + self._depth(source) for source in sources), default=0)

    def stop(self) -> None:
        """End every `catch_up` and `keep_up` that runs in another thread, cleanly: what was done stays."""
        for halt in tuple(self._halts):
            halt.now()

    def query(self, sql: str, store: str | None = None, limit: int | None = None, *, native: bool = False) -> pa.Table:
        """Answer a statement in the SQL of views, or, `native`, in the store's own; it can't write.

        `RowsDropped` if a view that it names is unsound.
        """
        if not native:
            return self.queries.answer(sql, store, limit)
        opened = self._store(store or DEFAULT_STORE)
        for planned in self._declared():
            if planned.view.materialized and planned.name.lower() in sql.lower():
                check_sound(opened, planned.name)
        return opened.query(sql, limit)

    @cached_property
    def queries(self) -> Queries:
        """What answers statements over the views."""
        return Queries(lambda: self._plan, self._store, self._query_engine)

    def late(self, name: str) -> pa.Table:
        """The rows that came too late for a view, once per window, with how late they were."""
        with failures_of(name):
            return self._batch(self._plan.view(name), None, None).late(self._spark)

    def batch(self, name: str, after: Commits = None, upto: Commits = None) -> pa.Table:
        """The rows of a view over the commits after some and up to others, computed at once; nothing is stored."""
        with failures_of(name):
            return self._batch(self._plan.view(name), after, upto).rows(self._spark)

    def changes(
        self,
        name: str,
        version: int | None = None,
        since: int | None = None,
        accumulation: model.Accumulation = "accumulate",
    ) -> Iterator[pa.Table]:
        """What the batches of a version after `since` changed, by default of the served one: a table for each batch.

        Its columns are those of `changes_schema`, and `timing`, which says whether a change was early, on time or late.
        With `discard`, `after` is how the totals of a row differ from before.
        """
        from headwater.engine.timing import with_timing

        planned = self._plan.view(name)
        if accumulation == "discard":
            _check_totals(planned)
        number = self._versions(planned).promoted().target.version if version is None else version
        for found in self._store_of(planned).changes(planned.name, number, since):
            marked = with_timing(planned, found)
            yield totals_apart(marked, planned.identity) if accumulation == "discard" else marked

    def feed(self, planned: PlannedOutlet) -> Feed:
        """What an outlet sends: the changes of its view, with their timing."""
        from headwater.engine.timing import with_timing

        view, outlet = planned.view, planned.outlet
        mark = partial(with_timing, view)
        keyed, discards = outlet.envelope == "upsert", outlet.accumulation == "discard" and not is_only_added_to(view)
        differ = partial(totals_apart, key=view.identity) if discards else None
        return Feed(outlet.name, view.name, self._store_of(view), view.fingerprint, mark, outlet.start, keyed, differ)

    def ledger(self, name: str) -> Ledger:
        """What became of every row that the served version of a view has read."""
        planned = self._plan.view(name)
        version = self._versions(planned).promoted()
        number = version.target.version
        counts = self._store_of(planned).ledger(planned.name, number)
        return ledger_of(planned.name, number, _commits(planned, version), counts)

    def logs(self, name: str) -> dict[str, TopicLog]:
        """What a view reads, by name: the logs of topics, and of the views that it reads."""
        return self._logs(self._plan.view(name))

    def served(self, name: str) -> Version | None:
        """The version that is served, if there is one yet."""
        planned = self._plan.view(name)
        versions = self._store_of(planned).versions(planned.name)
        return next((version for version in versions if version.promoted), None)

    def place(self, name: str) -> tuple[int, Position | None] | None:
        """Which version is served, and its position; None if there is none. It asks less than `served`."""
        planned = self._plan.view(name)
        store = self._store_of(planned)
        number = store.promoted(planned.name)
        return None if number is None else (number, store.position(planned.name, number))

    def cut(self, names: Sequence[str], wait: timedelta) -> list[ViewAt]:
        """The rows of views, true for the same commits of what they read together; `NotReached` if waited in vain."""
        views = [self._plan.view(name) for name in names]
        check_views(self._plan, views)
        deadline = time.monotonic() + wait.total_seconds()
        while True:
            sources = [Source(view, self._store_of(view), self._versions(view).promoted()) for view in views]
            now = [list(islice(source.stands(), 1)) for source in sources]
            stands = newest_cut(now) or newest_cut([list(source.stands()) for source in sources])
            pairs = zip(sources, stands or (), strict=False)
            found = [at for source, stand in pairs if (at := source.at(stand)) is not None]
            if len(found) == len(views):
                return found
            if time.monotonic() >= deadline:
                raise not_reached(sources, wait)
            time.sleep(POLL.total_seconds())

    def store(self, name: str) -> Store:
        """The store that a view is served from."""
        return self._store_of(self._plan.view(name))

    def status(self, dead: Mapping[str, int], figures: Iterable[Figures]) -> list[ViewStatus]:
        """How each materialized view is, given the dead letters of each topic and the figures of those that run."""
        running = {found.view: found for found in figures}
        kept = [planned for planned in self._declared() if planned.view.materialized]
        return [self._status(planned, dead, running.get(planned.name)) for planned in kept]

    def _status(self, planned: PlannedView, dead: Mapping[str, int], figures: Figures | None) -> ViewStatus:
        version, ledger, error, unsound = None, None, None, None
        try:
            version = self.served(planned.name)
            ledger = self.ledger(planned.name) if version else None
            unsound = self._unsound(planned, version)
        except HeadwaterError as failure:  # who asks how things are must be told when a store is away
            error = failure.summary
        position = version.position if version else None
        paused = self._paused(planned)
        at_rest = "unreachable" if error else "paused" if paused else "at rest" if version else "empty"
        heads = {name: _head(log) for name, log in self._logs(planned).items()}
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
        )

    def _sound(self, planned: PlannedView) -> Version:
        """The version that is served; `RowsDropped` if it must not be."""
        version = self._versions(planned).promoted()
        check_sound(self._store_of(planned), planned.name, version.target.version)
        return version

    def _unsound(self, planned: PlannedView, served: Version | None) -> Unsound | None:
        """The version that Spark dropped rows of, if it is the one that is served or one that was to take its place."""
        store, first = self._store_of(planned), served.target.version if served else 0
        for version in reversed(store.versions(planned.name)):
            number = version.target.version
            if number >= first and (dropped := dropped_from(store, planned.name, number)):
                return Unsound(number, dropped)
        return None

    def _store_status(
        self,
        planned: PlannedView,
        store: str,
        version: Version | None,
        heads: Mapping[str, int],
        error: str | None,
    ) -> StoreStatus:
        """Where a store is with the served version; the one that leads has told it already, or what keeps it."""
        position = version.position if version else None
        leads = store == (planned.view.stores or [store])[0]
        error = error if leads else None
        if version and not leads:
            try:
                position = self._store(store).position(planned.name, version.target.version)
            except HeadwaterError as failure:
                position, error = None, failure.summary
        commits = dict(position.commits) if position else {}
        return StoreStatus(store, commits, position.watermark if position else None, lag_of(commits, heads), error)

    def verify(self, name: str) -> Verified:
        """Recompute a view in batch, up to where its store is, and compare its rows and its ledger."""
        planned = self._plan.view(name)
        version = self._sound(planned)
        number, commits = version.target.version, _commits(planned, version)
        store = self._store_of(planned)
        with failures_of(planned.name):
            expected, counts = self._batch_at(planned, commits).counted(self._spark)
        missing, extra = differences(store.read(planned.name, number), expected, tolerances(planned.root))
        kept = store.ledger(planned.name, number)
        miscounted = {fate: (kept.get(fate, 0), count) for fate, count in counts.items() if kept.get(fate, 0) != count}
        remainder = ledger_of(planned.name, number, commits, kept).remainder
        return Verified(planned.name, number, commits, expected.num_rows, missing, extra, miscounted, remainder)

    def why(self, name: str, row: Row, most: int) -> Why:
        """The events behind a row of the served version, and those that came too late for it."""
        from headwater.engine.batch import EVENTS
        from headwater.engine.stamp import BEHIND
        from headwater.engine.view import span_of

        planned = self._plan.view(name)
        asked = typed_row(planned.name, planned.columns, row)
        version = self._sound(planned)
        commits = _commits(planned, version)
        with failures_of(planned.name):
            view = replace(self._batch_at(planned, commits).tracing(), between=span_of(planned, asked))
            found, late = view.why(self._spark, condition_of(asked), most)
        names = [column.name for column in planned.columns]
        shown = only_row(planned.name, planned.identity, asked, found.select(names), late)
        read = self._plan.graph.upstream(planned.name) & set(self._plan.topics)
        topics = {topic: self._log_of(topic) for topic in read}
        counts = [sum(part[EVENTS].to_pylist()) for part in (found, late)]
        places = [
            events_at(topics, (place for row in part[BEHIND].to_pylist() for place in row)) for part in (found, late)
        ]
        return Why(planned.name, version.target.version, commits, shown, counts[0], places[0], counts[1], places[1])

    def explain(self, name: str, *, spark: bool = False) -> Explained:
        """How a view is executed and why, the state it keeps, and its versions; with `spark`, Spark's plan as well."""
        planned = self._plan.view(name)
        session = self._spark if spark else None
        return explain(planned, self._versions(planned), self._logs(planned), session)

    def close(self) -> None:
        """Stop what runs, and let go of the stores."""
        self.stop()
        self._query_engine.close()
        for store in self._stores.values():
            store.close()

    def _run(
        self,
        planned: PlannedView,
        options: Mapping[str, str],
        report: Report,
        halt: Halt,
        watch: Watch | None = None,
        *,
        waits: bool = True,
    ) -> CaughtUp:
        if refused := _unsupported(planned):
            return CaughtUp(planned.name, 0, error=refused)
        if watch is None and (paused := self._paused(planned)):
            return CaughtUp(planned.name, 0, paused=paused)  # it needs no Spark
        try:
            store, versions, logs = self._store_of(planned), self._versions(planned), self._logs(planned)
        except HeadwaterError as error:
            return CaughtUp(planned.name, 0, error=error)
        settings = self._spark, options, self._patience, halt, report, self._chance
        derived = self._derived_log_of(planned) if is_read(self._plan, planned.name) else None
        run = Run(planned, store, versions, self.wishes, logs, *settings, derived, watch, waits, self._columns)
        return run.catch_up() if watch is None else run.keep_up()

    def _paused(self, planned: PlannedView) -> Paused | None:
        return self.wishes.paused("view", planned.name)

    def _declared(self) -> list[PlannedView]:
        """The views in the order of declaration."""
        order = [view.name for view in self._plan.project.views]
        return sorted(self._plan.views.values(), key=lambda planned: order.index(planned.name))

    def _versions(self, planned: PlannedView) -> Versions:
        return Versions(
            planned, self._store_of(planned), self._home / "state", self._logs(planned), self._patience.lease
        )

    def _logs(self, planned: PlannedView) -> dict[str, TopicLog]:
        """What a view reads: topics, and the derived topics of other views."""
        return {scan.relation: self._log(scan) for scan in planned.scans}

    def _log(self, scan: Scan) -> TopicLog:
        if scan.kind == "view":
            return self._derived_log_of(self._plan.view(scan.relation))
        return self._log_of(scan.relation)

    def _batch(self, planned: PlannedView, after: Commits, upto: Commits) -> BatchView:
        """A view over commits of the topics that it reads, itself or through other views."""
        from headwater.engine.batch import BatchView, Upstream

        logs = self._logs(planned)
        commits = {name: (upto or {}).get(name, max(log.head, 0)) for name, log in logs.items()}
        read = {scan.relation: self._plan.view(scan.relation) for scan in planned.scans if scan.kind == "view"}
        views = {name: Upstream.whole(self._batch(found, after, upto)) for name, found in read.items()}
        return BatchView(planned, logs, commits, after, views)

    def _batch_at(self, planned: PlannedView, commits: Mapping[str, int]) -> BatchView:
        """A view as it is where its store is, which may be behind what the views that it reads could give today."""
        from headwater.engine.batch import BatchView, Upstream

        logs = self._logs(planned)
        read = {scan.relation: self._plan.view(scan.relation) for scan in planned.scans if scan.kind == "view"}
        views = {
            name: Upstream(self._batch(found, None, None), watermark_at(logs[name], commits[name]))
            for name, found in read.items()
        }
        return BatchView(planned, logs, commits, None, views)

    def _store_of(self, planned: PlannedView) -> Store:
        return self._store(planned.view.store or DEFAULT_STORE)

    def _store(self, names: str) -> Store:
        """The store of this name; of several, with commas between them, the first one leads."""
        with self._guard:
            if names not in self._together:
                leader, *followers = [self._opened(name.strip()) for name in names.split(",")]
                self._together[names] = SoundStore(leader, followers)
            return self._together[names]

    def _opened(self, name: str) -> Store:
        if name not in self._stores:
            self._stores[name] = self._open_store(self._declared_store(name), self._home.parent)
        return self._stores[name]

    def _mend(self, views: Iterable[PlannedView]) -> None:
        """Put stores of these views aside that are damaged; one that can't be opened is told by the view's own run."""
        names = dict.fromkeys(name for planned in views for name in planned.view.stores or [DEFAULT_STORE])
        with suppress(HeadwaterError), self._guard:
            mend([self._opened(name) for name in names])

    def _declared_store(self, name: str) -> model.Store:
        for declared in self._plan.project.stores:
            if declared.name == name:
                return declared
        raise UnknownStore(f'the project has no store "{name}"', hint="Declare it in headwater.toml.", store=name)

    @property
    def _cores(self) -> int:
        return max(1, int(self._spark.sparkContext.defaultParallelism))

    @property
    def spark(self) -> Any:
        """The project's session of Spark, which starts when it is first needed."""
        return self._spark

    @cached_property
    def _spark(self) -> Any:
        from headwater.engine.session import open_session

        session = open_session(self._plan.project.name, self._settings, self._home)
        self._register(session, self._plan)
        return session

    def _register(self, session: Any, plan: Plan) -> None:
        from headwater.engine.function import register

        register(session, plan.functions)


def _left(done: CaughtUp) -> CaughtUp:
    assert done.error is not None
    return replace(done, error=None, left_to=str(done.error.fields.get("holder") or "another run"))


def _check_totals(planned: PlannedView) -> None:
    column = not_additive(planned) if planned.identity else next(iter(planned.columns)).name
    if column is not None:
        raise ArgumentRefused(
            f'the totals of view "{planned.name}" have no differences',
            detail=f'Column "{column}" doesn\'t add up: counts and sums of integers and decimals do, under a key.',
            hint="Ask for accumulation = 'accumulate'.",
            view=planned.name,
        )


def _commits(planned: PlannedView, version: Version) -> dict[str, int]:
    return dict(version.position.commits) if version.position else dict.fromkeys(planned.inputs, 0)


def _unsupported(planned: PlannedView) -> NotSupportedYet | None:
    """Why a view can't be executed in this version, if it can't."""
    read = next((scan for scan in planned.scans if scan.kind == "table"), None)
    if read is not None:
        reason = f'It reads the table "{read.relation}"; only streams and views can be read yet.'
    elif planned.is_settled and planned.horizon is None:
        reason = "Nothing says how far back an input can matter."
    else:
        return None
    return NotSupportedYet(
        f'view "{planned.name}" can\'t be executed in this version', detail=reason, origin=planned.view.origin
    )


def _head(log: TopicLog) -> int:
    """The head of a log, as a status tells it: 0 if it is damaged, which its topic says."""
    try:
        return max(log.head, 0)
    except LogDamaged:
        return 0
