"""A span of the log: where a step of a settled view begins and ends, and what it has to read of its topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property

from headwater.engine.prepared import Instants
from headwater.engine.small import Reach
from headwater.engine.view import Logs, reached_by
from headwater.log.read import count_rows
from headwater.operators.aggregate.lowering.totals import span_of_gone
from headwater.plan import PlannedView
from headwater.plan.physical.pace import Pace
from headwater.plan.physical.step import Step

BEGAN_AT, SETTLED_AT = "began_at", "settled_at"
"""The instants that two steps differ in: up to where rows were final before it, and up to where they are at its end."""
BEGINNING = datetime.min.replace(tzinfo=UTC)
"""An instant up to which no row is ever final."""
_MARGIN = timedelta(seconds=1)
_NEVER = datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True)
class Settled:
    """The end of a view's last step: its number, the commits that it has read, the watermark there."""

    number: int
    commits: Mapping[str, int]
    watermark: datetime


def kept_behind(
    planned: PlannedView, logs: Logs, kept: Sequence[Mapping[str, int] | None], at: Settled
) -> Settled | None:
    """The end of the step at which all of something was kept, if a view's position is there or behind it."""
    first = kept[0] if kept else None
    if first is None or any(commits != first for commits in kept) or first.keys() != at.commits.keys():
        return None
    if any(first[name] > at.commits[name] for name in first):
        return None
    return Settled(0, first, reached_by(planned, logs, first))


@dataclass(frozen=True)
class Span:
    """From where a view was settled up to these commits.

    Groups that are kept in parts may have to be made `again` from the log. Where a plan is prepared for many steps,
    `marks` stand for the instants where one begins and ends.
    """

    planned: PlannedView
    logs: Logs
    begin: Settled | None
    upto: Mapping[str, int]
    again: bool = field(default=False, kw_only=True)
    marks: Instants | None = field(default=None, kw_only=True)

    @property
    def number(self) -> int:
        """The number of the step."""
        return self.begin.number + 1 if self.begin else 0

    @property
    def pace(self) -> Pace:
        """The pace of the view."""
        return self.planned.physical.pace

    @property
    def step(self) -> Step:
        """The computation of a step."""
        step = self.planned.physical.step
        assert step is not None
        return step

    @cached_property
    def reached(self) -> datetime:
        """The watermark at the end."""
        return reached_by(self.planned, self.logs, self.upto)

    @property
    def settled_at(self) -> datetime:
        """The instant up to which rows are final at the end."""
        return self.reached - self.pace.settles if self.marks is None else self.marks[SETTLED_AT]

    @property
    def began_at(self) -> datetime | None:
        """The instant up to which rows were final before; None if nothing was."""
        if self.marks is not None:
            return self.marks[BEGAN_AT]
        return self.begin.watermark - self.pace.settles if self.begin else None

    def reaches(self, *, only_new: bool = False) -> Mapping[str, Reach]:
        """The rows of each topic that matter, or those that are new."""
        near = _NEVER if self.step.as_they_come else self.since(self.planned.physical.waits)
        since = self.since(self.planned.physical.reach)
        if self.step.looks_back == "everything" or (self.again and self.planned.horizon is None):
            since = None
        if self.begin and since is not None and self.step.looks_back == "events" and not self.again:
            return {name: Reach(self.after(name), last, self._first(name), _NEVER) for name, last in self.upto.items()}
        only_new = only_new or self.step.looks_back == "nothing"
        since = _NEVER if only_new else since
        # of a table any change can be the newest one of its key
        looked_up = {scan.relation for scan in self.planned.scans if scan.kind == "table"} if not only_new else ()
        return {
            name: Reach(self.after(name), last, None if name in looked_up else since, near, only_new)
            for name, last in self.upto.items()
        }

    def _first(self, topic: str) -> datetime | None:
        """An instant before the events of the new commits: a copy of one of them has happened when it has."""
        log, times = self.logs[topic], {scan.time for scan in self.planned.scans if scan.relation == topic}
        files = log.snapshot().between(self.after(topic) + 1, self.upto[topic])
        least = [file.least[time] for file in files for time in times if time is not None]
        return looked_back(min(least), timedelta(), None) if least else _NEVER

    def logged(self) -> int:
        """The rows that the log has in the new commits, by its own statistics."""
        scans = self.planned.scans
        return sum(
            count_rows(self.logs[scan.relation], self.after(scan.relation) + 1, self.upto[scan.relation])
            for scan in scans
        )

    def gone_between(self) -> tuple[datetime, datetime] | None:
        """When the rows have happened that are gone from totals in this step; None if none are."""
        if self.began_at is None or self.began_at >= self.settled_at:
            return None
        return span_of_gone(self.planned, self.began_at, self.settled_at)

    def after(self, topic: str) -> int:
        """The last commit of a topic that is not new."""
        return self.begin.commits[topic] if self.begin else 0

    def since(self, reach: timedelta) -> datetime | None:
        """The instant that the slice looks back to; None for all that there is."""
        return looked_back(self.began_at, reach, self.planned.view.every) if self.began_at else None


def looked_back(at: datetime, reach: timedelta, every: timedelta | None) -> datetime | None:
    """The reach of a slice back from an instant, or from that of a cadence; None if the calendar begins later."""
    try:
        return at - reach - (every or timedelta()) - _MARGIN
    except OverflowError:
        return None
