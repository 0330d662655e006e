"""A slice: the rows of the log that one step of a settled view computes from, and what it computes.

It begins where the step before has ended, and ends at some commits. The rows that can matter are those of the new
commits, and of the others the ones that are not farther back than a row of the view can look. If they are few, they are
taken from memory (see `engine.small`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, reduce
from operator import and_
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.engine.batch import as_arrow
from headwater.engine.early import as_of, shown_at
from headwater.engine.kept import KeptRows
from headwater.engine.kept_panes import KeptPanes, collected
from headwater.engine.once import KeptWinners, winners_in_memory
from headwater.engine.scan import batch_scan, in_memory, memory_scan, memory_schema, slice_scan, told_new
from headwater.engine.small import Reach
from headwater.engine.span import Span, looked_back
from headwater.model import INSTANT, Emit
from headwater.operators import Scan, Stage
from headwater.operators.aggregate.lowering import gather, new_parts, total
from headwater.operators.aggregate.lowering.panes import compacted
from headwater.operators.aggregate.lowering.parts import Known
from headwater.operators.aggregate.lowering.totals import UNTIL, added
from headwater.operators.lowering.ledger import LOGGED, Tally, observed
from headwater.operators.lowering.needed import Needed
from headwater.operators.lowering.rooms import KnownParts, Lowering, Searched
from headwater.operators.lowering.stamp import FINAL, KEEP, NEW, PARTS, TIME

OPEN = "__open"
"""Says of a row whether it can still change when the slice has ended."""


@dataclass(frozen=True)
class Slice(Span):
    """One step of a view, computed by a session; `folder` has what is kept for the next.

    Its rows may have been `read` already: those that are new if the view keeps panes, totals or parts, else all that
    matter; and those that are `gone` from totals. Where a plan is prepared for many steps they are in `frames`
    and `gone_frames`.
    """

    spark: SparkSession
    folder: Path
    read: Mapping[Scan, pa.Table] = field(default_factory=dict)
    gone: Mapping[Scan, pa.Table] = field(default_factory=dict)
    frames: Mapping[Scan, DataFrame] = field(default_factory=dict)
    gone_frames: Mapping[Scan, DataFrame] = field(default_factory=dict)

    @property
    def has_only_ticks(self) -> bool:
        """Tells whether its rows were read, and there are none."""
        return bool(self.read) and not any(rows.num_rows for rows in self.read.values())

    def computed(self) -> tuple[pa.Table, dict[str, int]]:
        """The rows that are not yet final where the slice begins, and what became of every row that is new in it."""
        if self.step.adds == "panes":
            panes, ledger = self._panes()
            return as_arrow(self.rows(None, in_memory(self.spark, panes))), ledger
        if self.step.adds == "totals" and self.step.aggregate is not None:
            totals, ledger = self._totals()
            kept = self.step.aggregate, in_memory(self.spark, lasting(self, totals))
            return as_arrow(self.rows(None, totals=kept)), ledger
        tally = Tally()
        frame = self.rows(tally)
        return as_arrow(frame), self.counts(tally, frame)

    def early(self, before: pa.Table | None) -> pa.Table:
        """The open part of a view that shows it at a cadence: it stays as it was until the next instant."""
        instant = shown_at(self.planned, self.reached)
        if self.begin and before is not None and instant == shown_at(self.planned, self.begin.watermark):
            kept = before[FINAL]
            return before.filter(pc.greater(kept, pa.scalar(self.settled_at, kept.type)))
        return self.still_open(instant)

    def still_open(self, instant: datetime | None) -> pa.Table:
        """The open part, as it was when the watermark reached an instant, if there is one."""
        rows = as_arrow(self.rows(None, instant=instant))
        return rows.filter(rows[OPEN])

    def counts(self, tally: Tally, frame: DataFrame) -> dict[str, int]:
        """The ledger of a query that was executed over the slice."""
        return {**tally.ledger(observed(frame._jdf.queryExecution())), LOGGED: self.logged()}

    def _panes(self) -> tuple[pa.Table, dict[str, int]]:
        """The panes that windows still need: those known before, and those of the new rows."""
        stage, tally = self.step.aggregate, Tally()
        assert stage is not None
        before, frame = self.panes_before(), self.new_panes(tally)
        panes = self.keep_panes(
            before, collected(frame), lambda both: collected(compacted(stage, in_memory(self.spark, both)))
        )
        return panes, self.counts(tally, frame)

    def panes_before(self) -> pa.Table | None:
        """The panes where the slice begins, as they were kept or made again; None if there was nothing."""
        if self.begin is None:
            return None
        kept = KeptPanes(self.folder).read(self.begin.commits)
        assert self.step.aggregate is not None
        whole = replace(self, upto=self.begin.commits, read={})
        return collected(gather(self.step.aggregate, whole._lowering(None))) if kept is None else kept

    def new_panes(self, tally: Tally | None) -> DataFrame:
        """The panes of the new rows."""
        assert self.step.aggregate is not None
        return gather(self.step.aggregate, self._lowering(tally, only_new=True))

    def keep_panes(self, before: pa.Table | None, new: pa.Table, compact: Callable[[pa.Table], pa.Table]) -> pa.Table:
        """The panes where the slice ends, which are kept; `compact` merges the parts of each."""
        kept = KeptPanes(self.folder)
        panes = kept.added(compact, self.number, before, new)
        kept.write(self.upto, panes, self.begin.commits if self.begin else None, self.settled_at)
        return panes

    def _totals(self) -> tuple[pa.Table, dict[str, int]]:
        """The totals of groups without an end: those known before, with what has come and without what is gone."""
        tally, before = Tally(), self.totals_before()
        frame = self.totals(tally, None if before is None else lambda _: in_memory(self.spark, before))
        totals = collected(frame)
        keep_totals(self, totals)
        return totals, self.counts(tally, frame)

    def totals_before(self) -> pa.Table | None:
        """The totals where the slice begins, as they were kept or made again; None if there was nothing."""
        if self.begin is None:
            return None
        kept = KeptRows("totals", self.folder).read(self.begin.commits)
        if kept is not None:
            return kept
        assert self.step.aggregate is not None
        return collected(total(self.step.aggregate, replace(self, upto=self.begin.commits, read={})._lowering(None)))

    def totals(self, tally: Tally | None, before: Known | None) -> DataFrame:
        """The totals where the slice ends; `before` gives those where it begins, if it is told their columns."""
        assert self.step.aggregate is not None
        come = total(self.step.aggregate, self._lowering(tally, only_new=True))
        leaves = bool(self.gone_frames) or (self.marks is None and self.gone_between() is not None)
        gone = total(self.step.aggregate, self._leaving(), self.began_at) if leaves else None
        return added(self.step.aggregate, None if before is None else before(come.schema), come, gone)

    def _leaving(self) -> Lowering:
        """The lowering over the rows of the commits before that are gone now."""

        def scan(stage: Scan) -> DataFrame:
            log, after = self.logs[stage.relation], self.after(stage.relation)
            if stage in self.planned.looked_up:
                return self._changes(stage, after)
            if stage in self.gone:
                frame = self.gone_frames.get(stage) or self._frame(stage, self.gone[stage])
                return memory_scan(frame, stage, self.pace)
            span = self.gone_between()
            assert span is not None
            since, until = span
            rows = batch_scan(self.spark, log, stage, self.pace, 0, after, since, after, until)
            return rows.where((F.col(TIME) > F.lit(since)) & (F.col(TIME) <= F.lit(until)))

        return replace(self._lowering(None), scan=scan)

    def rows(
        self,
        tally: Tally | None,
        panes: DataFrame | None = None,
        instant: datetime | None = None,
        totals: tuple[Stage, DataFrame] | None = None,
    ) -> DataFrame:
        """The rows that are not yet final where the slice begins, when they are, and whether it ends later.

        They are as they were when the watermark reached an `instant`, if there is one. Where rows are written once they
        are final, the others are left out before they are computed; unless none can have become final: Spark would see
        that no row can be shown, and would not count any.
        """
        after, until = self.began_at, self.settled_at if self.planned.emit is Emit.FINAL else None
        until = None if until and after and until <= after else until
        lowering = replace(self._lowering(tally), needed=self._needed(after, until, panes), totals=totals)
        rows = (lowering if instant is None else as_of(self.planned, lowering, instant)).view(self.planned.root)
        names, tests = rows.columns, [F.col(KEEP)] if KEEP in rows.columns else []
        shown = [F.col(f"`{column.name}`") for column in self.planned.columns]
        if self.step.as_they_come or FINAL not in names:  # there for good when it comes
            final = F.lit(self.settled_at).alias(FINAL)
            return _where(rows, [*tests, F.col(NEW)]).select(*shown, final, F.lit(False).alias(OPEN))
        tests += [] if after is None else [F.col(FINAL) > F.lit(after)]
        tests += [] if until is None else [F.col(FINAL) <= F.lit(until)]
        keys = [F.col(PARTS)] if self.step.touched or self.step.asks else []
        return _where(rows, tests).select(*shown, FINAL, (F.col(FINAL) > F.lit(self.settled_at)).alias(OPEN), *keys)

    def groups(self, tally: Tally | None, known: Known | None) -> DataFrame:
        """The groups that have new rows, or known parts: the view's columns, when and whether it shows them, and parts.

        Those that are made again from the log are of all rows that it still looks back on.
        """
        lowering = replace(self._lowering(tally, only_new=not self.again), parts=self._parts(known))
        rows = lowering.view(self.planned.root)
        shown = [F.col(f"`{column.name}`") for column in self.planned.columns]
        keep = F.col(KEEP) if KEEP in rows.columns else F.lit(True)
        return rows.select(*shown, FINAL, keep.alias(KEEP), PARTS)

    def sums(self, tally: Tally) -> DataFrame:
        """The totals of the groups of an aggregate that is summed."""
        assert self.step.summed is not None
        return total(self.step.summed, self._lowering(tally))

    def touched(self) -> DataFrame:
        """The keys of the groups that new rows come to."""
        assert self.step.aggregate is not None
        lowering = replace(self._lowering(None, only_new=True), parts=self._parts(None))
        return new_parts(self.step.aggregate, lowering).select(*(f"`{key.name}`" for key in self.step.aggregate.keys))

    def _parts(self, known: Known | None) -> KnownParts:
        assert self.step.aggregate is not None
        return KnownParts(self.step.aggregate, known, only_new=not self.again)

    def _lowering(self, tally: Tally | None, *, only_new: bool = False) -> Lowering:
        """The lowering of the stages over the slice, or over the commits alone that are new in it."""

        def scan(stage: Scan) -> DataFrame:
            if stage in self.read and only_new == (self.step.adds is not None):
                frame = self.frames.get(stage) or self._frame(stage, self.read[stage])
                return memory_scan(frame, stage, self.pace, moved=self.step.paired)
            if stage in self.planned.looked_up:
                return self._changes(stage, self.upto[stage.relation])
            log, reach = self.logs[stage.relation], self._reaches[stage.relation]
            if self.step.looks_back == "nothing" or (only_new and self.step.looks_back != "events"):
                rows = batch_scan(self.spark, log, stage, self.pace, reach.after + 1, reach.last)
                return rows if only_new else rows.withColumn(NEW, F.lit(True))
            return slice_scan(self.spark, log, stage, self.pace, reach.after, reach.last, reach.since)

        planned = self.planned
        lowering = Lowering(scan, planned.view.grace, False, True, planned.sight, tally, physical=planned.physical)
        lowering = replace(lowering, sliced=True, retention=self.planned.retention)
        lowering = replace(lowering, settled_at=self.settled_at, began_at=self.began_at, searched=self._searched)
        return lowering if self.step.looks_back == "everything" else replace(lowering, taken=self._taken)

    def _searched(self, stage: Stage) -> Searched:
        """The place that the search for a pattern had come to where the slice begins, and comes to in it."""
        begin, number = self.begin, list(self.planned.root.walk()).index(stage)
        kept = KeptRows(f"pattern{number}", self.folder)

        def before() -> pa.Table | None:
            known = kept.read(begin.commits) if begin else None
            if begin is None or known is not None:
                return known
            made, whole = list[pa.Table](), replace(self, begin=None, upto=begin.commits, read={}, frames={})
            apart = Searched(lambda: None, made.append, is_small=False)
            replace(whole._lowering(None), searched=lambda _: apart).lower(stage)
            return made[0]

        def keep(rows: pa.Table) -> None:
            kept.write(self.upto, rows, begin.commits if begin else None)

        return Searched(before, keep, bool(self.read))

    def _changes(self, stage: Scan, last: int) -> DataFrame:
        """The changes of a table that is looked up, whenever they came."""
        return batch_scan(self.spark, self.logs[stage.relation], stage, self.pace, 0, last)

    def _frame(self, stage: Scan, rows: pa.Table) -> DataFrame:
        """Rows of a scan that are in memory."""
        topic, told = self.logs[stage.relation].topic, told_new(rows, self.after(stage.relation))
        # behind an empty chunk Spark loses rows
        return self.spark.createDataFrame(told.combine_chunks(), memory_schema(topic, rows.column_names))

    @cached_property
    def _reaches(self) -> Mapping[str, Reach]:
        return self.reaches()

    def _taken(self, stage: Scan) -> DataFrame:
        """The rows of a topic that are taken once, as far back as a slice reaches."""
        assert stage.within is not None
        kept = KeptWinners(stage.relation, stage.within, self.folder)
        after, last = self.after(stage.relation), self.upto[stage.relation]
        winners = kept.read(last)
        if winners is None:
            before = kept.read(after)
            first = 0 if before is None else after + 1
            rows = batch_scan(self.spark, self.logs[stage.relation], stage, self.pace, first, last)
            winners = kept.renewed(self.spark, before, rows)
            reach = max(self.planned.physical.reach, stage.within)
            kept.write(last, winners, looked_back(self.settled_at, reach, self.planned.view.every), but=after)
        return winners_in_memory(self.spark, winners)

    def _needed(self, after: datetime | None, until: datetime | None, panes: DataFrame | None) -> Needed | None:
        """The groups that a step shows, of the last stage that has groups: it may look at others of those below.

        What is computed from the whole log each time takes rows as they are.
        """
        return Needed(self.step.shown, after, until, panes) if self.step.shown is not None else None


def keep_totals(step: Slice, totals: pa.Table) -> None:
    """Keep the totals where a slice ends."""
    KeptRows("totals", step.folder).write(step.upto, totals, step.begin.commits if step.begin else None)


def lasting(step: Slice, totals: pa.Table) -> pa.Table:
    """Totals where a slice ends, with the instant until which what they show is open."""
    assert step.planned.retention is not None
    until = pa.scalar(step.settled_at + step.planned.retention, INSTANT)
    return totals.append_column(UNTIL, pa.repeat(until, totals.num_rows))


def _where(rows: DataFrame, tests: list[Column]) -> DataFrame:
    """The rows that meet all of some tests, asked for at once: to add to a plan takes milliseconds."""
    return rows.where(reduce(and_, tests)) if tests else rows
