"""The versions of a project's views, for whoever operates it: compared, promoted, rolled back, let go of."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from headwater.errors import ArgumentRefused
from headwater.operate import Views
from headwater.operate.audit import Audit
from headwater.operate.backtest import EXAMPLES as BACKTESTED
from headwater.operate.backtest import Backtested
from headwater.operate.compare import EXAMPLES, Compared
from headwater.operate.policy import Gate
from headwater.operate.swap import WAIT, Promoted, Swaps
from headwater.plan import PlannedView
from headwater.project.declarations import Declarations
from headwater.store import Position


@dataclass(frozen=True)
class VersionStatus:
    """A version of a view: whether it is served, declared, kept up and until when, and how far it has come."""

    version: int
    served: bool
    declared: bool
    kept_until: datetime | None
    plan: str
    position: Position | None


class ProjectVersions:
    """Lets the versions of views be changed: `project.versions`. Each act is in the audit."""

    def __init__(self, declarations: Declarations, views: Callable[[], Views], audit: Audit) -> None:
        self._declarations = declarations
        self._views = views
        self._audit = audit

    def of(self, view: str) -> list[VersionStatus]:
        """The versions of a view, in the order of their numbers."""
        planned, catalog = self._planned(view), self._views().catalog
        kept = catalog.holds.kept(planned.name)
        return [
            VersionStatus(
                version.target.version,
                version.promoted,
                version.fingerprint == planned.fingerprint,
                kept.get(version.target.version),
                version.fingerprint,
                version.position,
            )
            for version in catalog.store(planned).versions(planned.name)
        ]

    def is_held(self, view: str) -> bool:
        """Tells whether a view goes on being served as it is until a version is promoted."""
        return self._views().catalog.holds.is_held(self._planned(view).name)

    def hold(self, *views: str) -> None:
        """Let what views serve be served until another version is promoted; the next ones are built beside them."""
        for view in views:
            name = self._planned(view).name
            self._audit.note("hold view", name)
            self._views().catalog.holds.hold(name)

    def compare(self, view: str, version: int | None = None, *, examples: int = EXAMPLES) -> Compared:
        """The difference between what is served and another version, by default the newest, at one cut.

        Counts are exact. `NotReached` if both have come to no common cut in time.
        """
        return self._swaps().compare(self._planned(view), version, examples)

    def backtest(
        self, view: str, *conditions: str, labels: str | Path | None = None, examples: int = BACKTESTED
    ) -> Backtested:
        """The rows of a view over all of history as it is declared, and with each of some other conditions.

        With `labels`, a CSV file of rows that should be found, it is told how many of them are, and how many rows are
        among them. Nothing is stored.
        """
        file = Path(labels) if labels is not None else None
        return self._views().inspect.backtest(self._planned(view).name, conditions, file, examples)

    def promote(
        self,
        view: str,
        *,
        version: int | None = None,
        max_diff: float | None = None,
        max_missing: float | None = None,
        require: str | None = None,
        keep_old: timedelta | None = None,
    ) -> Promoted:
        """Serve the newest version of a view from now on, in all of its stores; the one before is kept up for a while.

        `PromotionRefused`, and nothing is changed, if a larger share of rows differs or is missing, if `require`, a
        query over `old` and `new`, doesn't answer with true, or if the version is not as far as the one before. The
        limits of the project's policy hold as well, and `keep_old` is the policy's where none is given.
        """
        limits = (max_diff, max_missing, require)
        return self._promoted([view], limits, version, keep_old)[0]

    def promote_together(
        self,
        *views: str,
        max_diff: float | None = None,
        max_missing: float | None = None,
        require: str | None = None,
        keep_old: timedelta | None = None,
    ) -> list[Promoted]:
        """Serve the newest versions of several views from now on, if each of them passes the gate; else of none."""
        return self._promoted(views, (max_diff, max_missing, require), None, keep_old)

    def _promoted(
        self,
        views: Sequence[str],
        limits: tuple[float | None, float | None, str | None],
        version: int | None,
        keep_old: timedelta | None,
    ) -> list[Promoted]:
        planned = list({one.name: one for one in map(self._planned, views)}.values())
        policy, (max_diff, max_missing, require) = self._views().catalog.policy, limits
        asked = Gate(_share(max_diff), _share(max_missing), () if require is None else (require,))
        details = {"version": version, "max_diff": max_diff, "max_missing": max_missing, "require": require}
        for one in planned:
            self._audit.note("promote view", one.name, **details)
        policy.check_actor()
        kept = policy.keep_old if keep_old is None else keep_old
        done = self._swaps().promote(planned, policy.gate.with_(asked), version, kept)
        for served in done:
            self._audit.note("promoted view", served.view, version=served.version, before=served.before)
        return done

    def rollback(self, view: str, *, version: int | None = None, keep_old: timedelta | None = None) -> Promoted:
        """Serve the version again that was served before; the newer one stays, held and kept up."""
        planned, policy = self._planned(view), self._views().catalog.policy
        self._audit.note("roll back view", planned.name, version=version)
        return self._swaps().roll_back(planned, version, policy.keep_old if keep_old is None else keep_old)

    def prune(self, view: str, *versions: int) -> list[int]:
        """Drop versions of a view, by default all that are neither served nor kept up nor declared; tell which."""
        planned, catalog = self._planned(view), self._views().catalog
        name, store = planned.name, catalog.store(planned)
        with catalog.holds.promoting(name):
            there = self.of(name)
            newest = max((one.version for one in there if one.declared), default=None)
            idle = [one.version for one in there if not (one.served or one.kept_until or one.version == newest)]
            chosen = [number for number in (versions or idle) if number in {one.version for one in there}]
            self._audit.note("prune view", name, versions=chosen)
            for number in chosen:
                catalog.holds.let_go(name, number)
                with catalog.versions(planned).locked(number):
                    store.drop(name, number)
                    shutil.rmtree(catalog.versions(planned).checkpoint(number).folder, ignore_errors=True)
        return chosen

    def _swaps(self) -> Swaps:
        return Swaps(self._views().catalog, lambda: self._views().ask.queries.engine, WAIT)

    def _planned(self, view: str) -> PlannedView:
        return self._declarations.plan().view(view)


def _share(share: float | None) -> float | None:
    if share is not None and not 0 <= share <= 1:
        raise ArgumentRefused(f"{share:g} is no share", hint="Give one between 0 and 1: 0.001 is 0.1%.")
    return share
