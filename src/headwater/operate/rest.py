"""Views at rest: those that a catch-up has nothing to do for, which is known without Spark.

A view is at rest if a run would go on with the version that is served, that has read every commit, all that is due by
them is written in each of its stores, and what others read of it is published. Where one of these is not certain, the
view is run.
"""

from __future__ import annotations

from headwater.engine.checkpoint import Unreadable
from headwater.engine.view import heads_of
from headwater.errors import HeadwaterError, ViewBusy
from headwater.operate.catalog import Catalog
from headwater.operate.supervise import CaughtUp
from headwater.plan import PlannedView
from headwater.store import Position, Version


def at_rest(catalog: Catalog, planned: PlannedView) -> CaughtUp | None:
    """The outcome of a catch-up for a view that it has nothing to do for; None if it has, or may have."""
    if catalog.wishes.is_replay_asked(planned.name):
        return None
    try:
        versions = catalog.versions(planned)
        with versions.locked() as held:
            if held.inherited:  # who had it before has to be fenced off
                return None
            version = versions.resumed()
            if version is None or not _is_at_rest(catalog, planned, version):
                return None
            return CaughtUp(planned.name, version.target.version, version.position)
    except ViewBusy as busy:
        return CaughtUp(planned.name, 0, error=busy)
    except (HeadwaterError, OSError, Unreadable):  # its run meets it too, and tells
        return None


def _is_at_rest(catalog: Catalog, planned: PlannedView, version: Version) -> bool:
    position, number = version.position, version.target.version
    if position is None or not version.promoted:
        return False
    if dict(position.commits) != heads_of(planned, catalog.logs(planned)):
        return False
    if not _is_closed(catalog, planned, number):
        return False
    return _is_everywhere(catalog, planned, number, position) and _is_published(catalog, planned, position)


def _is_closed(catalog: Catalog, planned: PlannedView, number: int) -> bool:
    """Tells whether all is written that is due by the commits that were read; each step of a settled view does so."""
    if planned.is_settled:
        return True
    return catalog.versions(planned).checkpoint(number).is_closed(by_clock=closes_by_clock(planned))


def closes_by_clock(planned: PlannedView) -> bool:
    """Tells whether a view that runs live has rows that are due without new events, one batch behind those that are."""
    streaming = planned.physical.streaming
    return streaming is not None and streaming.stamped


def _is_everywhere(catalog: Catalog, planned: PlannedView, number: int, position: Position) -> bool:
    stores = [catalog.stores.named(name) for name in planned.view.stores]
    return all(store.position(planned.name, number) == position for store in stores)


def _is_published(catalog: Catalog, planned: PlannedView, position: Position) -> bool:
    if not catalog.is_read(planned):
        return True
    published, log = planned.physical.publishes, catalog.derived_log_of(planned)
    return published is not None and log.watermark >= published.watermark(position.watermark)
