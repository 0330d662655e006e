"""Promotion of a version: another one is served from now on, if it is as far and doesn't differ too much.

Meanwhile the version that was served stands still: whoever promotes takes its next epoch, so that no run writes to it,
and waits until the other one has read what it has. So whoever reads the view never sees it go back. The run goes on
with both behind it. What is cut off, by whatever, has either changed nothing or is finished by the next run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import pyarrow as pa

from headwater.errors import PromotionRefused
from headwater.log.cut import cut_by_name
from headwater.model import Emit
from headwater.operate.catalog import Catalog
from headwater.operate.compare import EXAMPLES, Compared, HasClosed, Pair, compared, is_as_far
from headwater.operate.cut import POLL, ViewAt
from headwater.operate.policy import Gate
from headwater.operate.rest import closes_by_clock
from headwater.operate.table import readable_rows
from headwater.plan import PlannedView
from headwater.query import Engine, answer, parse
from headwater.store import Position, Version
from headwater.store.sound import check_sound
from headwater.waiting import wait_for

WAIT = timedelta(seconds=30)
"""The other version is waited for so long."""


@dataclass(frozen=True)
class Promoted:
    """The version that is served now, the one before, until when that is kept up, and how they differ, if asked."""

    view: str
    version: int
    before: int | None
    kept_until: datetime | None = None
    compared: Compared | None = None


def finish(catalog: Catalog, planned: PlannedView) -> None:
    """Finish a promotion that was cut off between the stores of a view."""
    holds, name = catalog.holds, planned.name
    unfinished = holds.unfinished(name)
    if unfinished is not None:
        store = catalog.store(planned)
        if any(one.target.version == unfinished for one in store.versions(name)):
            store.promote(name, unfinished)
        holds.swapping(name, None)


@dataclass(frozen=True)
class Swaps:
    """Changes which version of a view is served."""

    catalog: Catalog
    engine: Callable[[], Engine]
    wait: timedelta

    def compare(self, planned: PlannedView, version: int | None = None, examples: int = EXAMPLES) -> Compared:
        """The difference between the version that is served and another one, by default the newest."""
        pair = self._pair(planned, version)
        old, new = pair.at_one_cut(self.wait)
        return compared(old, new, pair.key, examples)

    def promote(
        self, views: Sequence[PlannedView], gate: Gate, version: int | None, keep_old: timedelta
    ) -> list[Promoted]:
        """Serve the newest versions, or another one, from now on; `PromotionRefused` if one doesn't pass the gate.

        All of them are checked before any is swapped, and a swap that is cut off between them is finished.
        """
        with ExitStack() as alone:
            for planned in views:
                alone.enter_context(self.catalog.holds.promoting(planned.name))
                finish(self.catalog, planned)
            pairs = [self._pair(planned, version) for planned in views]
            seen = [None if gate.is_open else self._checked(pair, gate) for pair in pairs]
            self._swap(pairs, keep_old, back=False)
        return [self._promoted(pair, keep_old, compared) for pair, compared in zip(pairs, seen, strict=True)]

    def roll_back(self, planned: PlannedView, version: int | None, keep_old: timedelta) -> Promoted:
        """Serve the version again that was served before, or another one; the newer one stays, held."""
        name, holds = planned.name, self.catalog.holds
        with holds.promoting(name):
            finish(self.catalog, planned)
            served = self._served(planned)
            if version is None:
                version = max((one for one in holds.kept(name) if one != served.target.version), default=None)
            if version is None:
                raise PromotionRefused(
                    f'view "{name}" has no version to go back to',
                    detail=f"Version {served.target.version} is served, and no other one is kept up.",
                    hint=f"`headwater versions {name}` shows those that are there; name one with --to.",
                    view=name,
                )
            pair = self._pair(planned, version)
            self._swap([pair], keep_old, back=True)
        return self._promoted(pair, keep_old, None)

    def _promoted(self, pair: Pair, keep_old: timedelta, seen: Compared | None) -> Promoted:
        until = self.catalog.holds.kept(pair.planned.name).get(pair.old.target.version) if keep_old else None
        return Promoted(pair.planned.name, pair.new.target.version, pair.old.target.version, until, seen)

    def _checked(self, pair: Pair, gate: Gate) -> Compared:
        old, new = pair.at_one_cut(self.wait)
        seen = compared(old, new, pair.key)
        for what, share, most in (
            ("differ", seen.difference, gate.most_different),
            ("are missing", seen.missing, gate.most_missing),
        ):
            if most is not None and share > most:
                raise self._refused(pair, f"{share:.3%} of its rows {what}, and {most:.3%} may")
        for require in gate.require:
            if not self._holds(require, old, new):
                raise self._refused(pair, f"what is required doesn't hold: {require}")
        return seen

    def _holds(self, require: str, old: ViewAt, new: ViewAt) -> bool:
        """Tells whether a query over both versions answers with true."""
        named: dict[str, pa.Table] = {"old": old.rows, "new": new.rows}
        named |= {f"v{at.version}": at.rows for at in (old, new)}
        statement = parse(require)
        views = {name: readable_rows(named[name]) for name in statement.relations() if name in named}
        rows = answer(statement, views, self.engine(), datetime.now(UTC), 1)
        return bool(rows.num_rows and rows.column(0)[0].as_py() is True)

    def _refused(self, pair: Pair, why: str) -> PromotionRefused:
        name, old, new = pair.planned.name, pair.old.target.version, pair.new.target.version
        return PromotionRefused(
            f'view "{name}" version {new} is not promoted: {why}',
            detail=f"Version {old} is served as before, and both are kept up.",
            hint=f"`headwater compare {name}` shows the rows; promote it with other limits, or change the declaration.",
            view=name,
            version=new,
        )

    def _swap(self, pairs: Sequence[Pair], keep_old: timedelta, *, back: bool) -> None:
        for pair in pairs:
            self._stop_old(pair)
        for pair in pairs:
            self._wait_for(pair, pair.store.position(pair.old.target.view, pair.old.target.version))
        holds = self.catalog.holds
        for pair in pairs:
            if back:
                holds.hold(pair.planned.name)
            if keep_old:
                holds.keep(pair.planned.name, pair.old.target.version, keep_old)
        for pair in pairs:  # from here on all of them are finished, whatever comes between
            holds.swapping(pair.planned.name, pair.new.target.version)
        for pair in pairs:
            pair.store.promote(pair.planned.name, pair.new.target.version)
            holds.swapping(pair.planned.name, None)
            if not back:
                holds.release(pair.planned.name)

    def _stop_old(self, pair: Pair) -> None:
        """Let the version that is served stand still, once the other one has read what it has now.

        Not what it has by then: while events come without a pause it may always be a step ahead.
        """
        old, new = pair.old.target, pair.new.target
        check_sound(pair.store, new.view, new.version)
        self._wait_for(pair, pair.store.position(old.view, old.version))
        self.catalog.holds.fence(pair.store, pair.old)

    def _wait_for(self, pair: Pair, position: Position | None) -> None:
        """Wait until the new version has read what the old one had at a position."""
        name, old, new = pair.planned.name, pair.old.target.version, pair.new.target.version

        def is_there() -> bool:
            return is_as_far(pair.store.position(name, new), position, pair.apart)

        if not wait_for(is_there, self.wait, every=POLL):
            raise PromotionRefused(
                f'view "{name}" version {new} is not promoted: it is behind version {old}',
                detail=f"It was waited for for {self.wait.total_seconds():g} s. Version {old} is served as before.",
                hint="Let `headwater run` or `headwater catch-up` bring it to where the other one is, and repeat.",
                view=name,
                version=new,
            )

    def _served(self, planned: PlannedView) -> Version:
        return self.catalog.versions(planned).promoted()

    def _pair(self, planned: PlannedView, version: int | None) -> Pair:
        """The version that is served, and the one to be served; the newest that has rows, if none is named."""
        served, store = self._served(planned), self.catalog.store(planned)
        others = [one for one in store.versions(planned.name) if one.position is not None and not one.promoted]
        named = [one for one in others if version in (None, one.target.version)]
        newer = [one for one in named if version is not None or one.target.version > served.target.version]
        if not newer:
            raise PromotionRefused(
                f'view "{planned.name}" has no other version that is built'
                if version is None
                else f'view "{planned.name}" has no version {version} beside the one that is served',
                detail=f"Version {served.target.version} is served; there are "
                f"{', '.join(str(one.target.version) for one in others) or 'no others'}.",
                hint="Build one with `headwater promote --hold` or `headwater replay VIEW --hold`, and a run.",
                view=planned.name,
            )
        chosen = newer[-1]
        plans = self._plan_of(planned, served), self._plan_of(planned, chosen)
        closed = (self._closed(plans[0], served), self._closed(plans[1], chosen))
        return Pair(served, chosen, store, plans[1], plans[0], partial(self._meet, plans), closed)

    @contextmanager
    def _meet(self, plans: tuple[PlannedView, PlannedView], longest: timedelta) -> Iterator[Mapping[str, int]]:
        """Let both versions stand at the heads of what both read, as they are now."""
        read = {scan.relation for scan in plans[0].reading}
        commits = cut_by_name({name: log for name, log in self.catalog.logs(plans[1]).items() if name in read})
        with self.catalog.holds.meet(plans[0].name, commits, longest):
            yield commits

    def _closed(self, plan: PlannedView, version: Version) -> HasClosed:
        """Tells of a version's batches whether they have written all that is due by what they had read.

        What is emitted as it changes is so at once; of rows that are emitted when they are final, a live view writes
        those that are due in a batch of its own.
        """
        if plan.is_settled or plan.emit is not Emit.FINAL or not closes_by_clock(plan):
            return lambda _: True
        return self.catalog.versions(plan).checkpoint(version.target.version).has_closed

    def _plan_of(self, planned: PlannedView, version: Version) -> PlannedView:
        """The plan that a version was built by; today's, if it wasn't kept."""
        return self.catalog.built_by(planned, version) or planned
