"""A slice: the rows of the log that one step of a settled view computes from, and what it computes.

It begins where the step before has ended, and ends at some commits. The rows that can matter are those of the new
commits, and of the others the ones that are not farther back than a row of the view can look. If they are few, they are
taken from memory (see `engine.small`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, reduce
from operator import and_
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.engine.batch import as_arrow
from headwater.engine.early import as_of, shown_at
from headwater.engine.join import FINAL
from headwater.engine.kept import KeptPanes, KeptRows, collected, keeps_panes
from headwater.engine.ledger import LOGGED, Tally, observed
from headwater.engine.lower import KEEP, Lowering
from headwater.engine.once import KeptWinners, given_winners
from headwater.engine.panes import Needed
from headwater.engine.scan import batch_scan, given, given_scan, slice_scan
from headwater.engine.small import Reach
from headwater.engine.stamp import NEW, TIME
from headwater.engine.totals import added, keeps_totals, span_of_gone
from headwater.engine.view import Logs, Pace, pace_of, reach_of, waits_of
from headwater.log.read import count_rows
from headwater.model import Emit
from headwater.plan import PlannedView
from headwater.plan.execution import shows_events
from headwater.plan.stages import STATELESS, Aggregate, Join, Scan

OPEN = "__open"
"""Whether a row can still change when the slice has ended."""
_MARGIN = timedelta(seconds=1)
_NEVER = datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True)
class Settled:
    """How far a view is settled: the number of its last step, the commits that it has read, the watermark there."""

    number: int
    commits: Mapping[str, int]
    watermark: datetime


def keeps_new(planned: PlannedView) -> bool:
    """Whether a step adds the rows that are new to what was kept, and needs no others."""
    return keeps_panes(planned) is not None or keeps_totals(planned) is not None


def _pairs(planned: PlannedView) -> bool:
    """Whether rows are joined with others, of which there may be none."""
    joined = any(isinstance(stage, Join) for stage in planned.stages)
    return joined or any(scan.within is not None for scan in planned.scans)


@dataclass(frozen=True)
class Slice:
    """One step of a view: from where it was settled up to these commits.

    Its rows may have been `read` already: those that are new if the view keeps panes or totals, else all that matter;
    and those that are `gone` from totals.
    """

    planned: PlannedView
    logs: Logs
    folder: Path
    spark: SparkSession
    begin: Settled | None
    upto: Mapping[str, int]
    read: Mapping[Scan, pa.Table] = field(default_factory=dict)
    gone: Mapping[Scan, pa.Table] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """The number of the step."""
        return self.begin.number + 1 if self.begin else 0

    @cached_property
    def pace(self) -> Pace:
        """How the view keeps pace."""
        return pace_of(self.planned)

    @cached_property
    def reached(self) -> datetime:
        """The watermark at the end."""
        return self.pace.reached(self.logs, self.upto)

    @property
    def settled_at(self) -> datetime:
        """What is final at the end."""
        return self.reached - self.pace.settles

    @property
    def began_at(self) -> datetime | None:
        """What was final before; None if nothing was."""
        return self.begin.watermark - self.pace.settles if self.begin else None

    def reaches(self, *, only_new: bool = False) -> Mapping[str, Reach]:
        """What of each topic matters, or what is new of it."""
        near, since = self._since(waits_of(self.planned)), self._since(reach_of(self.planned))
        since = since if self.planned.execution.kind == "settle" else None
        if self.begin and since is not None and shows_events(self.planned.root):
            return {name: Reach(self._after(name), last, self._first(name), _NEVER) for name, last in self.upto.items()}
        since = _NEVER if only_new else since
        return {name: Reach(self._after(name), last, since, near) for name, last in self.upto.items()}

    def _first(self, topic: str) -> datetime | None:
        """An instant before the events of the new commits: a copy of one of them has happened when it has."""
        log, times = self.logs[topic], {scan.time for scan in self.planned.scans if scan.relation == topic}
        files = log.snapshot().between(self._after(topic) + 1, self.upto[topic])
        least = [file.least[time] for file in files for time in times if time is not None]
        return _before(min(least), timedelta(), None) if least else _NEVER

    def logged(self) -> int:
        """How many rows the log has in the new commits, by its own statistics."""
        scans = self.planned.scans
        return sum(
            count_rows(self.logs[scan.relation], self._after(scan.relation) + 1, self.upto[scan.relation])
            for scan in scans
        )

    def computed(self) -> tuple[pa.Table, dict[str, int]]:
        """The rows that are not yet final where the slice begins, and what became of every row that is new in it."""
        if (stage := keeps_panes(self.planned)) is not None:
            panes, ledger = self._panes(stage)
            return as_arrow(self._rows(None, given(self.spark, panes)), None), ledger
        if (stage := keeps_totals(self.planned)) is not None:
            totals, ledger = self._totals(stage)
            return as_arrow(self._rows(None, totals=(stage, given(self.spark, totals))), None), ledger
        tally = Tally()
        frame = self._rows(tally)
        return as_arrow(frame, None), self._counts(tally, frame)

    def gone_between(self) -> tuple[datetime, datetime] | None:
        """When the rows have happened that are gone from totals in this step; None if none are."""
        if self.began_at is None or self.began_at >= self.settled_at:
            return None
        return span_of_gone(self.planned, self.began_at, self.settled_at)

    def early(self, before: pa.Table | None) -> pa.Table:
        """The open part of a view that shows it at a cadence: it stays as it was until the next instant."""
        instant = shown_at(self.planned, self.reached)
        if self.begin and before is not None and instant == shown_at(self.planned, self.begin.watermark):
            kept = before[FINAL]
            return before.filter(pc.greater(kept, pa.scalar(self.settled_at, kept.type)))
        return self.still_open(instant)

    def still_open(self, instant: datetime | None) -> pa.Table:
        """The open part, as it was when the watermark reached an instant if one is given."""
        rows = as_arrow(self._rows(None, instant=instant), None)
        return rows.filter(rows[OPEN])

    def _counts(self, tally: Tally, frame: DataFrame) -> dict[str, int]:
        return {**tally.ledger(observed(frame._jdf.queryExecution())), LOGGED: self.logged()}

    def _panes(self, stage: Aggregate) -> tuple[pa.Table, dict[str, int]]:
        """The panes that windows still need: those known before, and those of the new rows."""
        kept, tally, begin = KeptPanes(stage, self.folder), Tally(), self.begin
        before = kept.read(begin.number, begin.commits) if begin else None
        if begin and before is None:
            whole = replace(self, upto=begin.commits, read={})
            before = collected(whole._lowering(None).gather(stage))
        frame = self._lowering(tally, only_new=True).gather(stage)
        panes = kept.added(self.spark, self.number, before, collected(frame))
        kept.write(self.number, self.upto, panes, self.settled_at)
        return panes, self._counts(tally, frame)

    def _totals(self, stage: Aggregate) -> tuple[pa.Table, dict[str, int]]:
        """The totals of groups without an end: those known before, with what has come and without what is gone."""
        kept, tally, begin = KeptRows("totals", self.folder), Tally(), self.begin
        before = kept.read(begin.number, begin.commits) if begin else None
        if begin and before is None:
            before = collected(replace(self, upto=begin.commits, read={})._lowering(None).total(stage))
        come = self._lowering(tally, only_new=True).total(stage)
        gone = self._leaving().total(stage, self.began_at) if self.gone_between() else None
        frame = added(stage, given(self.spark, before) if before is not None else None, come, gone)
        totals = collected(frame)
        kept.write(self.number, self.upto, totals)
        return totals, self._counts(tally, frame)

    def _leaving(self) -> Lowering:
        """How the stages are lowered over the rows of the commits before, of when the rows are that are gone now."""
        span = self.gone_between()
        assert span is not None
        since, until = span

        def scan(stage: Scan) -> DataFrame:
            log, after = self.logs[stage.relation], self._after(stage.relation)
            if stage in self.gone:
                return given_scan(self.spark, log, stage, self.pace, self.gone[stage], after)
            rows = batch_scan(self.spark, log, stage, self.pace, 0, after, since, after, until)
            return rows.where((F.col(TIME) > F.lit(since)) & (F.col(TIME) <= F.lit(until)))

        return replace(self._lowering(None), scan=scan)

    def _rows(
        self,
        tally: Tally | None,
        panes: DataFrame | None = None,
        instant: datetime | None = None,
        totals: tuple[Aggregate, DataFrame] | None = None,
    ) -> DataFrame:
        """The rows that are not yet final where the slice begins, when they are, and whether it ends later.

        They are as they were when the watermark reached an `instant`, if one is given. Where rows are written once they
        are final, the others are left out before they are computed; unless none can have become final: Spark would see
        that no row can be shown, and would not count any.
        """
        after, until = self.began_at, self.settled_at if self.planned.emit is Emit.FINAL else None
        until = None if until and after and until <= after else until
        lowering = replace(self._lowering(tally), needed=self._needed(after, until, panes), totals=totals)
        rows = (lowering if instant is None else as_of(self.planned, lowering, instant)).view(self.planned.root)
        names, tests = rows.columns, [F.col(KEEP)] if KEEP in rows.columns else []
        shown = [F.col(f"`{column.name}`") for column in self.planned.columns]
        if FINAL not in names:  # computed from one row, it is final when it comes
            final = F.lit(self.settled_at).alias(FINAL)
            return _where(rows, [*tests, F.col(NEW)]).select(*shown, final, F.lit(False).alias(OPEN))
        tests += [] if after is None else [F.col(FINAL) > F.lit(after)]
        tests += [] if until is None else [F.col(FINAL) <= F.lit(until)]
        return _where(rows, tests).select(*shown, FINAL, (F.col(FINAL) > F.lit(self.settled_at)).alias(OPEN))

    def _lowering(self, tally: Tally | None, *, only_new: bool = False) -> Lowering:
        """How the stages are lowered over the slice, or over the commits alone that are new in it."""
        reaches = self.reaches()

        def scan(stage: Scan) -> DataFrame:
            log, reach = self.logs[stage.relation], reaches[stage.relation]
            if stage in self.read and only_new == keeps_new(self.planned):
                return given_scan(
                    self.spark, log, stage, self.pace, self.read[stage], reach.after, moved=_pairs(self.planned)
                )
            if only_new:
                return batch_scan(self.spark, log, stage, self.pace, reach.after + 1, reach.last)
            return slice_scan(self.spark, log, stage, self.pace, reach.after, reach.last, reach.since)

        lowering = Lowering(scan, self.planned.view.grace, False, True, self.planned.sight, tally)
        lowering = replace(lowering, retention=self.planned.retention, settled_at=self.settled_at)
        return replace(lowering, taken=self._taken) if self.planned.execution.kind == "settle" else lowering

    def _taken(self, stage: Scan) -> DataFrame:
        """The rows of a topic that are taken once, as far back as a slice reaches."""
        assert stage.within is not None
        kept = KeptWinners(stage.relation, stage.within, self.folder)
        after, last = self._after(stage.relation), self.upto[stage.relation]
        found = kept.read(last)
        if found is None:
            before = kept.read(after)
            first = 0 if before is None else after + 1
            rows = batch_scan(self.spark, self.logs[stage.relation], stage, self.pace, first, last)
            found = kept.found(self.spark, before, rows)
            reach = max(reach_of(self.planned), stage.within)
            kept.write(last, found, _before(self.settled_at, reach, self.planned.view.every), but=after)
        return given_winners(self.spark, found)

    def _needed(self, after: datetime | None, until: datetime | None, panes: DataFrame | None) -> Needed | None:
        """Which groups a step shows, of the last stage that has groups: it may look at others of those below.

        What is computed from the whole log each time takes rows as they are.
        """
        if self.planned.execution.kind == "batch":
            return None
        last = next((stage for stage in reversed(self.planned.stages) if not isinstance(stage, STATELESS)), None)
        return Needed(last, after, until, panes)

    def _after(self, topic: str) -> int:
        return self.begin.commits[topic] if self.begin else 0

    def _since(self, reach: timedelta) -> datetime | None:
        """What the slice looks back to; None for all that there is."""
        return _before(self.began_at, reach, self.planned.view.every) if self.began_at else None


def _where(rows: DataFrame, tests: list[Column]) -> DataFrame:
    """The rows that meet all of some tests, asked for at once: to add to a plan takes milliseconds."""
    return rows.where(reduce(and_, tests)) if tests else rows


def _before(at: datetime, reach: timedelta, every: timedelta | None) -> datetime | None:
    """How far a slice reaches back from an instant, or from that of a cadence; None if the calendar begins later."""
    try:
        return at - reach - (every or timedelta()) - _MARGIN
    except OverflowError:
        return None
