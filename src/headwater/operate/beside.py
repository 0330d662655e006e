"""Feeding versions beside those that runs build: the one that is served while a view is held, and those that are kept.

Each is gone on with by the declarations that it was built by. One whose declarations or state are lost stays as it is.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from headwater.errors import Fenced, HeadwaterError, ViewBusy
from headwater.operate.catalog import Catalog
from headwater.operate.halt import Halt
from headwater.operate.supervise import CaughtUp
from headwater.plan import PlannedView
from headwater.store import Version

_logger = logging.getLogger("headwater.run")


@dataclass(frozen=True)
class Beside:
    """A version to be fed, with the plan and the catalog that it was built by."""

    planned: PlannedView
    version: int
    catalog: Catalog

    @property
    def named(self) -> tuple[str, int]:
        """The view and the version."""
        return self.planned.name, self.version


def besides(catalog: Catalog) -> Iterator[Beside]:
    """The versions to be fed beside those that runs of a catalog's views work on, each behind those that it reads."""
    listed = [beside for planned in catalog.materialized() for beside in _of(catalog, planned)]
    plans = {id(one.catalog.plan): one.catalog.plan for one in listed}.values()
    for name in [name for plan in plans for name in plan.views]:
        yield from (beside for beside in listed if beside.planned.name == name)
        listed = [beside for beside in listed if beside.planned.name != name]


def _of(catalog: Catalog, planned: PlannedView) -> Iterator[Beside]:
    name, holds = planned.name, catalog.holds
    if not (holds.is_held(name) or holds.kept(name)) or catalog.wishes.paused("view", name):
        return
    versions = catalog.store(planned).versions(name)
    served = next((version.target.version for version in versions if version.promoted), None)
    main = max((one.target.version for one in versions if one.fingerprint == planned.fingerprint), default=None)
    for version in versions:
        number = version.target.version
        is_wanted = number in holds.beside(name, served) and number != main and version.position is not None
        if is_wanted and (beside := _by_its_plan(catalog, planned, version)) is not None:
            yield beside


def _by_its_plan(catalog: Catalog, planned: PlannedView, version: Version) -> Beside | None:
    number = version.target.version
    if version.fingerprint == planned.fingerprint:
        return Beside(planned, number, catalog)
    kept = catalog.kept(planned.name, version.fingerprint)
    return None if kept is None else Beside(kept[1], number, catalog.by(kept[0]))


@dataclass
class Feeding:
    """Feeds what is to be fed for as long as it is; `run` does one run of a version until its halt is wanted."""

    catalog: Catalog
    halt: Halt
    run: Callable[[Beside, Halt], CaughtUp]
    _fed: dict[tuple[str, int], tuple[threading.Thread, Halt]] = field(default_factory=dict)
    _failed: set[tuple[str, int]] = field(default_factory=set)

    def look(self) -> None:
        """Begin with versions that are to be fed from now on, and end with those that no longer are."""
        wanted = {beside.named: beside for beside in besides(self.catalog)}
        for named, (thread, halt) in list(self._fed.items()):
            if not thread.is_alive():
                del self._fed[named]
            elif named not in wanted:
                threading.Thread(target=halt.now, daemon=True).start()
        for named, beside in wanted.items():
            if named not in self._fed and named not in self._failed and not self.halt.is_wanted:
                halt = self.halt.part()
                feed = threading.Thread(target=self._feed, args=(beside, halt), daemon=True, name=f"beside {named}")
                self._fed[named] = feed, halt
                feed.start()

    def wait(self) -> None:
        """Wait until nothing is fed any more, once the halt is wanted."""
        for thread, halt in list(self._fed.values()):
            halt.now()
            thread.join()

    def _feed(self, beside: Beside, halt: Halt) -> None:
        done = self.run(beside, halt)
        if done.error is None or isinstance(done.error, Fenced | ViewBusy):
            return  # a promotion took place, or another run feeds it: it is looked at again
        self._failed.add(beside.named)
        tell_unfed(beside, done.error)


def tell_unfed(beside: Beside, error: HeadwaterError) -> None:
    """Log that a version stays as it is from now on."""
    view, version = beside.named
    _logger.warning('view "%s" version %d is fed no more: %s', view, version, error.summary)
