"""The versions of a project's views, for whoever operates it: compared, promoted, rolled back, let go of."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.errors import ArgumentRefused
from headwater.operate import Views
from headwater.operate.audit import Audit
from headwater.operate.compare import EXAMPLES, Compared
from headwater.operate.hold import KEEP_OLD
from headwater.operate.swap import WAIT, Gate, Promoted, Swaps
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

    def promote(
        self,
        view: str,
        *,
        version: int | None = None,
        max_diff: float | None = None,
        max_missing: float | None = None,
        require: str | None = None,
        keep_old: timedelta = KEEP_OLD,
    ) -> Promoted:
        """Serve the newest version of a view from now on, in all of its stores; the one before is kept up for a while.

        `PromotionRefused`, and nothing is changed, if a larger share of rows differs or is missing, if `require`, a
        query over `old` and `new`, doesn't answer with true, or if the version is not as far as the one before.
        """
        planned = self._planned(view)
        gate = Gate(_share(max_diff), _share(max_missing), require)
        details = {"version": version, "max_diff": max_diff, "max_missing": max_missing, "require": require}
        self._audit.note("promote view", planned.name, **details)
        done = self._swaps().promote(planned, gate, version, keep_old)
        self._audit.note("promoted view", planned.name, version=done.version, before=done.before)
        return done

    def rollback(self, view: str, *, version: int | None = None, keep_old: timedelta = KEEP_OLD) -> Promoted:
        """Serve the version again that was served before; the newer one stays, held and kept up."""
        planned = self._planned(view)
        self._audit.note("roll back view", planned.name, version=version)
        return self._swaps().roll_back(planned, version, keep_old)

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
