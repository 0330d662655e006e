"""Running views: bringing them to the head of their topics, once or for as long as they are wanted there."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from headwater.engine.pulse import Pulses
from headwater.errors import HeadwaterError, ViewBusy
from headwater.log.columns import KeptColumns
from headwater.log.watch import Watch
from headwater.operate.beside import Beside, Feeding, besides, tell_unfed
from headwater.operate.catalog import Catalog
from headwater.operate.halt import Halt, side_by_side
from headwater.operate.keep import Keeper
from headwater.operate.meanwhile import meanwhile
from headwater.operate.patience import Patience
from headwater.operate.promotion import Promotion
from headwater.operate.rest import at_rest
from headwater.operate.supervise import CaughtUp, Reading, Run, RunOptions, Work
from headwater.operate.swap import finish
from headwater.operate.wish import POLL, Paused
from headwater.plan import PlannedView

Report = Callable[[Reading], None]


def _silent(_: Reading) -> None:
    """Tell nobody."""


class ViewRuns:
    """Runs the views of a catalog, and ends their runs.

    `at_once` is how many views run at a time, by default as many as Spark has cores. `chance` gives numbers in [0, 1).
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        at_once: int | None = None,
        patience: Patience = Patience(),  # noqa: B008  # it is frozen
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._catalog = catalog
        self._at_once = at_once
        self._patience = patience
        self._chance = chance
        self._halts: set[Halt] = set()
        self._keepers: set[Keeper] = set()
        self._columns = KeptColumns()

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
        catalog, kept = self._begun(names)
        halt = Halt()
        self._halts.add(halt)
        done: dict[str, CaughtUp] = {}
        try:
            for level in self._levels(kept):
                resting = {
                    planned.name: rest for planned in level if (rest := self._at_rest(planned, options)) is not None
                }
                done |= resting
                moving = [planned for planned in level if planned.name not in resting]
                tasks = [partial(self._run, planned, self._how(halt.part(), report, options)) for planned in moving]
                # without Spark none of them can run: one error, not one for each
                at_once = min(len(tasks), self._at_once or catalog.cores) if tasks and catalog.spark else 1
                done.update((caught_up.view, caught_up) for caught_up in side_by_side(tasks, at_once, halt))
            for beside in besides(catalog):
                fed = self._feed(self._how(halt.part(), _silent, None), beside)
                if fed.error is not None:
                    tell_unfed(beside, fed.error)
        finally:
            self._halts.discard(halt)
        return [done[planned.name] for planned in kept]

    def _at_rest(self, planned: PlannedView, options: Mapping[str, str] | None) -> CaughtUp | None:
        """The outcome of a view that can't run, shall not, or has nothing to do; None if it is to be run."""
        if paused := self._paused(planned):
            return CaughtUp(planned.name, 0, paused=paused)
        return None if options else at_rest(self._catalog, planned)  # options are checked by who reads

    def replay(
        self,
        names: Iterable[str] | None = None,
        options: Mapping[str, str] | None = None,
        report: Report = _silent,
    ) -> list[CaughtUp]:
        """Build views from the start of the log, each as a new version; the one before is served until it is there.

        One that another run works on is `left_to` that run, which builds it anew and goes on.
        """
        kept = self._catalog.materialized(names)
        for planned in kept:
            self._catalog.wishes.ask_replay(planned.name)
        done = self.catch_up([planned.name for planned in kept], options, report)
        return [_left(caught_up) if isinstance(caught_up.error, ViewBusy) else caught_up for caught_up in done]

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
        catalog, kept = self._begun(names)
        halt = Halt()
        self._halts.add(halt)
        try:
            if kept:
                catalog.wait_for_spark(halt)  # without it none of them can run: one error, not one for each
            else:
                catalog.end_spark()
            logs = {log for planned in kept for log in catalog.logs(planned).values()}
            self._publishable(kept)
            with Watch(logs) as watch:
                pulses = Pulses(watch, lambda: catalog.cores)
                how = replace(self._how(halt, report, options), watch=watch, pulses=pulses, waits=wait)
                run = partial(self._follow, how)
                keeper = Keeper(run, catalog.wishes, report, ended, halt, stays, takes_new=not names)
                quiet = replace(how, report=_silent, waits=False)  # whoever had the version lets go of it soon
                feeding = Feeding(catalog, halt, lambda beside, own: self._feed(replace(quiet, halt=own), beside))
                with meanwhile("feeding versions that are kept", feeding.look, POLL):
                    done = self._kept(keeper, kept)
                feeding.wait()
                return done
        finally:
            self._halts.discard(halt)

    def _begun(self, names: Iterable[str] | None) -> tuple[Catalog, list[PlannedView]]:
        """The catalog, and the views to run, whose stores are sound or put aside."""
        catalog = self._catalog
        kept = catalog.materialized(names)
        catalog.stores.mend(kept)
        if not names:
            catalog.keep(None)
        for planned in kept:
            with suppress(HeadwaterError):  # its run meets it too, and tells
                finish(catalog, planned)
        return catalog, kept

    def _kept(self, keeper: Keeper, views: Iterable[PlannedView]) -> list[CaughtUp]:
        """Let a keeper keep views, until they have ended."""
        self._keepers.add(keeper)
        try:
            keeper.begin(planned.name for planned in views)
            return keeper.wait()
        finally:
            self._keepers.discard(keeper)

    def _follow(self, how: RunOptions, name: str, own: Halt) -> CaughtUp:
        """One run of a view that follows its topics, which are watched; it may have been declared meanwhile."""
        try:
            planned = self._catalog.plan.view(name)
            assert how.watch is not None
            how.watch.add(self._catalog.logs(planned).values())
        except HeadwaterError as error:
            return CaughtUp(name, 0, error=error)
        return self._run(planned, replace(how, halt=own))

    def take_over(self, promotion: Promotion) -> None:
        """Let the views that are kept up follow another plan, which the catalog has by now."""
        self._publishable(self._catalog.materialized())
        self._catalog.keep(None)
        for keeper in tuple(self._keepers):
            keeper.take_over(promotion)

    def stop(self) -> None:
        """End every `catch_up` and `keep_up` that runs in another thread, cleanly: what was done stays."""
        for halt in tuple(self._halts):
            halt.now()

    def _publishable(self, materialized: Iterable[PlannedView]) -> None:
        """Make the derived topics of views that are read: their readers may be there first."""
        for planned in materialized:
            if self._catalog.is_read(planned):
                self._catalog.derived_log_of(planned).create()

    def _levels(self, views: list[PlannedView]) -> Iterator[list[PlannedView]]:
        """The views in groups, each behind those that it reads."""
        depths = {planned.name: self._depth(planned) for planned in views}
        for depth in sorted(set(depths.values())):
            yield [planned for planned in views if depths[planned.name] == depth]

    def _depth(self, planned: PlannedView) -> int:
        return max((1 + self._depth(read) for read in self._catalog.views_read(planned).values()), default=0)

    def _how(self, halt: Halt, report: Report, options: Mapping[str, str] | None) -> RunOptions:
        return RunOptions(halt, report, options or {}, self._patience, self._chance)

    def _run(self, planned: PlannedView, how: RunOptions) -> CaughtUp:
        catalog = self._catalog
        try:
            catalog.keep(planned)
            run = Run(self._work(catalog, planned), how)
        except HeadwaterError as error:
            return CaughtUp(planned.name, 0, error=error)
        done = run.catch_up() if how.watch is None else run.keep_up()
        if done.error is None:
            catalog.keep_classes()
        return done

    def _feed(self, how: RunOptions, beside: Beside) -> CaughtUp:
        """One run of a version that is fed beside another one."""
        try:
            catalog, planned = beside.catalog, beside.planned
            if how.watch is not None:
                how.watch.add(catalog.logs(planned).values())
            run = Run(self._work(catalog, planned), how, beside.version)
        except HeadwaterError as error:
            return CaughtUp(beside.planned.name, beside.version, error=error)
        return run.catch_up() if how.watch is None else run.keep_up()

    def _work(self, catalog: Catalog, planned: PlannedView) -> Work:
        return Work(
            planned,
            catalog.store(planned),
            catalog.versions(planned),
            catalog.wishes,
            catalog.logs(planned),
            catalog.spark,
            catalog.derived_log_of(planned) if catalog.is_read(planned) else None,
            self._columns,
            catalog.speeds,
            catalog.holds,
            partial(catalog.built_by, planned),
            catalog.policy.holds,
        )

    def _paused(self, planned: PlannedView) -> Paused | None:
        return self._catalog.wishes.paused("view", planned.name)


def _left(done: CaughtUp) -> CaughtUp:
    assert done.error is not None
    return replace(done, error=None, left_to=str(done.error.fields.get("holder") or "another run"))
