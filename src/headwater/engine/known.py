"""Tables as they were known: up to where their logs have to be read, so that rows can ask them.

A row is joined with the changes that had arrived in a table when it arrived itself. Which these are is settled once
nothing can arrive in the table at its time any more. A table that changes is past that by itself. One that is silent is
told the time, by a commit without rows: whatever arrives later has a later time of arrival, be it on its way already
and by whichever clock, because the log gives it its place and its time together.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.engine.view import Logs
from headwater.log.read import last_arrival
from headwater.plan import PlannedView


def with_known(planned: PlannedView, logs: Logs, upto: Mapping[str, int]) -> Mapping[str, int]:
    """These commits, and of each table that is looked up all that can have been known when their rows arrived."""
    tables = {scan.relation for scan in planned.looked_up}
    if not tables:
        return upto
    last = max(last_arrival(logs[scan.relation], upto[scan.relation]) for scan in planned.scans)
    for log in (logs[name] for name in tables):
        if log.clock.present <= last:
            log.pass_time(beyond=last)
    return {**upto, **{name: max(logs[name].head, upto[name]) for name in tables}}
