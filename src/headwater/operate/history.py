"""History that is gone: events that a version has read and its log no longer has, because it was trimmed.

Rows that come from them can't be rebuilt. So a version that is built without them doesn't take the place of the one
that is served by itself: the view is held, and somebody compares both and promotes, or doesn't.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from headwater.log import TopicLog
from headwater.log.read import count_rows
from headwater.operate.hold import Holds
from headwater.plan import PlannedView
from headwater.store import Store, Version

_logger = logging.getLogger("headwater.run")


def events_gone(planned: PlannedView, version: Version, store: Store, logs: Mapping[str, TopicLog]) -> int:
    """The number of events that a version, built by this plan, has read and that the log no longer has.

    It is known of views that read streams alone: of tables changes go that were replaced, and these lose no row. Events
    that were declared lost are let go of by whoever did that: they aren't counted in logs that nothing was trimmed of.
    """
    scans = planned.scans
    if version.position is None or any(scan.kind != "stream" or scan.relation not in logs for scan in scans):
        return 0
    if all(_has_its_beginning(logs[scan.relation]) for scan in scans):
        return 0
    commits = dict(version.position.commits)
    there = sum(count_rows(logs[scan.relation], 0, commits[scan.relation]) for scan in scans)
    return max(0, store.ledger(planned.name, version.target.version).get("logged", 0) - there)


def _has_its_beginning(log: TopicLog) -> bool:
    """Tells whether the first rows of a log are there: a log is trimmed from its beginning."""
    return any(file.commits[0] == 1 for file in log.snapshot().files.values())


def hold_where_gone(
    before: PlannedView | None, served: Version | None, store: Store, logs: Mapping[str, TopicLog], holds: Holds
) -> bool:
    """Hold a view if another version can't have all that the served one has, which was built by the plan `before`."""
    if before is None or served is None or holds.is_held(before.name):
        return False
    gone = events_gone(before, served, store, logs)
    if gone:
        holds.hold(before.name)
        _logger.warning(
            'view "%s" is held at version %d: %d events that it has read are no longer in the log; '
            "see `headwater compare %s`, then `headwater promote %s`",
            before.name, served.target.version, gone, before.name, before.name,
        )  # fmt: skip
    return gone > 0
