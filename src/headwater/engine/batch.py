"""Batch: a view over a range of the log at once, for verification and replay, and what came too late for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from headwater.engine.early import as_of, shown_at
from headwater.engine.key import check_key
from headwater.engine.late import united
from headwater.engine.scan import batch_scan, paced_by
from headwater.engine.typed import typed
from headwater.engine.view import Logs, reached_by
from headwater.findings import NotSupportedYet
from headwater.model import Emit
from headwater.operators import Scan
from headwater.operators.lowering.ledger import Tally, observed
from headwater.operators.lowering.rooms import LateRows, Lowering
from headwater.operators.lowering.stamp import BEHIND, COMMIT, END, FINAL, KEEP, ROW, STAMP, TIME, interval, later
from headwater.operators.lowering.trace import behind, traced
from headwater.operators.scan.stage import scans_of
from headwater.plan import PlannedView

EVENTS = "__events"
_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class BatchView:
    """A view over the commits after `after` and up to `upto` of each topic it reads.

    The views that it reads are computed as well, in place of reading their derived topics. Where it `is_traced`, rows
    have beside them what is behind them. Where only some rows are wanted, `between` is when their events have happened.
    A view over all of time can be asked for `as_of` an instant: what had happened by then counts.
    """

    planned: PlannedView
    logs: Logs
    upto: Mapping[str, int]
    after: Mapping[str, int] | None = None
    views: Mapping[str, Upstream] = field(default_factory=dict)
    is_traced: bool = False
    between: tuple[datetime, datetime] | None = None
    as_of: datetime | None = None

    def rows(self, spark: SparkSession) -> pa.Table:
        """The rows that the view has once it has read these commits: all, or those that are final."""
        return self._collected(self.frame(self.lowering(spark)))

    def counted(self, spark: SparkSession) -> tuple[pa.Table, dict[str, int]]:
        """The rows, and what became of every row that was read."""
        tally = Tally()
        frame = self.frame(self.lowering(spark, tally))
        return self._collected(frame), tally.ledger(observed(frame._jdf.queryExecution()))

    def _collected(self, frame: DataFrame) -> pa.Table:
        rows = typed(self.planned, as_arrow(frame))
        check_key(self.planned, rows)
        return rows

    def late(self, spark: SparkSession) -> pa.Table:
        """The rows that came too late, once per window they were late for, with how late they were.

        Lateness is a predicate on the log: the rows are read, not remembered. Rows of several topics are told apart by
        `_topic`; a column that only one of them has is NULL in the others, and one that they have in different types is
        a column for each (see `engine.late`).
        """
        lowering = self.lowering(spark)
        lowering.view(self.planned.root)
        parts = [(_topics_of(late), self._late(late)) for late in lowering.late]
        if not parts:
            return pa.table(
                {"_watermark": pa.array([], pa.timestamp("us", "UTC")), "late_by": pa.array([], pa.duration("us"))}
            )
        return as_arrow(united(parts))

    def frame(self, lowering: Lowering) -> DataFrame:
        """The rows of the view as a DataFrame."""
        rows, instant = _kept(lowering.view(self.planned.root)), shown_at(self.planned, self.reached)
        shown = [*(F.col(f"`{column.name}`") for column in self.planned.columns), *behind(rows)]
        settled = later(F.col(FINAL), self.planned.physical.pace.settles) <= F.lit(self.reached)
        if instant is not None:
            early = _kept(as_of(self.planned, lowering, instant).view(self.planned.root)).where(~settled)
            return rows.where(settled).select(*shown).unionByName(early.select(*shown))
        step = self.planned.physical.step
        waits = self.planned.emit is Emit.FINAL and not (step is not None and step.as_they_come)
        if waits and FINAL in rows.columns:
            rows = rows.where(settled)
        return rows.select(*shown)

    @property
    def reached(self) -> datetime:
        """The instant up to which the view is final, but for its own delay."""
        read = {scan.relation for scan in self.planned.scans} - self.views.keys()
        topics = {name: commit for name, commit in self.upto.items() if name in read}
        watermarks = [view.watermark for view in self.views.values()]
        return min([*watermarks, *([reached_by(self.planned, self.logs, topics)] if topics else [])])

    def lowering(self, spark: SparkSession, tally: Tally | None = None) -> Lowering:
        """The lowering of the view's stages over these commits."""
        pace = self.planned.physical.pace

        def read(stage: Scan) -> DataFrame:
            if stage.relation in self.views:
                return self.views[stage.relation].scan(spark, stage)
            first, last = 1 + (self.after or {}).get(stage.relation, -1), self.upto[stage.relation]
            if stage in self.planned.looked_up:
                return batch_scan(spark, self.logs[stage.relation], stage, pace, 0, last)
            if self.as_of is not None and stage.time is not None:
                rows = batch_scan(spark, self.logs[stage.relation], stage, pace, first, last)
                return rows.where(F.col(TIME) <= F.lit(self.as_of))
            if self.between is None or paced_by(stage, pace) is None:
                return batch_scan(spark, self.logs[stage.relation], stage, pace, first, last)
            since, until = self.between
            rows = batch_scan(spark, self.logs[stage.relation], stage, pace, first, last, since, last)
            at = F.col(STAMP if pace.stamp == "_arrived_at" else TIME)
            return rows.where((at >= F.lit(since)) & (at <= F.lit(until)))

        def scan(stage: Scan) -> DataFrame:
            return traced(read(stage), stage) if self.is_traced else read(stage)

        planned = self.planned
        settled_at, retention = self.reached - pace.settles, planned.retention
        settled = planned.is_settled
        lowering = Lowering(scan, planned.view.grace, False, settled, planned.sight, tally, physical=planned.physical)
        return replace(lowering, retention=retention, settled_at=settled_at)

    def tracing(self) -> BatchView:
        """The same, traced through the views that it reads."""
        views = {name: replace(upstream, view=upstream.view.tracing()) for name, upstream in self.views.items()}
        return replace(self, views=views, is_traced=True)

    def why(self, spark: SparkSession, where: Column, most: int) -> tuple[pa.Table, pa.Table]:
        """The rows that a condition is true of, and those that it is true of if what came too late is computed alone.

        Each has the number of events that are behind it in `EVENTS`, and where the first of them are in `BEHIND`.
        """
        lowering = self.lowering(spark)
        if BEHIND not in (rows := self.frame(lowering)).columns:
            raise NotSupportedYet(
                f'what is behind the rows of view "{self.planned.name}" isn\'t known',
                detail="They are made by a function in Python, which may read its inputs as it likes.",
                hint="Ask for the rows of the topics that it reads, with headwater read.",
                origin=self.planned.view.origin,
            )
        names = [column.name for column in self.planned.columns]
        late = rows.where(F.lit(False))
        if self.planned.physical.admitted_once:  # else it isn't known where it would have been
            late = replace(lowering, turned_away=True, late=[]).view(self.planned.root)
        shown, missing = (as_arrow(_placed(part.where(where), names, most)) for part in (rows, late))
        return shown, missing

    def _late(self, late: LateRows) -> DataFrame:
        rows = late.make()
        shown = [F.col(f"`{name}`") for name in rows.columns if not name.startswith("__")]
        by = (F.col(STAMP) - F.col(END) - interval(self.planned.view.grace)).alias("late_by")
        topic = [F.lit(_topics_of(late)).alias("_topic")] if len(self.planned.inputs) > 1 else []
        return rows.select(*topic, *shown, F.col(STAMP).alias("_watermark"), by)


@dataclass(frozen=True)
class Upstream:
    """A view that is read: its rows as its derived topic has them at a watermark of the topic."""

    view: BatchView
    watermark: datetime

    @classmethod
    def whole(cls, view: BatchView) -> Upstream:
        """All rows that are final."""
        published = view.planned.physical.publishes
        assert published is not None
        return cls(view, published.watermark(view.reached))

    def scan(self, spark: SparkSession, scan: Scan) -> DataFrame:
        """The rows, numbered in the order in which they are published."""
        planned, published = self.view.planned, self.view.planned.physical.publishes
        assert planned.time is not None and published is not None
        until = self.watermark + published.reach
        rows = self.view.frame(self.view.lowering(spark)).where(F.col(f"`{planned.time.name}`") <= F.lit(until))
        order = Window.orderBy(*(F.col(f"`{name}`").asc_nulls_last() for name in published.by))
        carried = {STAMP: F.lit(_EPOCH), COMMIT: F.lit(0).cast("bigint"), ROW: F.row_number().over(order)}
        carried[TIME] = F.col(f"`{planned.time.name}`")
        shown = [*(F.col(f"`{column.name}`") for column in scan.columns), *behind(rows)]
        return rows.select(*shown, *(column.alias(name) for name, column in carried.items()))


def _topics_of(late: LateRows) -> str:
    return " and ".join(sorted({scan.relation for scan in scans_of(late.stage)}))


def _kept(rows: DataFrame) -> DataFrame:
    return rows.where(F.col(KEEP)) if KEEP in rows.columns else rows


def _placed(rows: DataFrame, names: list[str], most: int) -> DataFrame:
    """Rows with how many events are behind each, and where the first of them are."""
    positions = F.array_sort(F.array_distinct(BEHIND))
    shown = rows.select(*(F.col(f"`{name}`") for name in names), positions.alias(BEHIND))
    return shown.select(*names, F.size(BEHIND).alias(EVENTS), F.slice(BEHIND, 1, most).alias(BEHIND))


def batch_rows(spark: SparkSession, planned: PlannedView, logs: Logs, upto: Mapping[str, int]) -> pa.Table:
    """The rows of a view over all commits up to these."""
    return BatchView(planned, logs, upto).rows(spark)


def late_rows(spark: SparkSession, planned: PlannedView, logs: Logs, upto: Mapping[str, int]) -> pa.Table:
    """The rows that came too late for a view, up to these commits."""
    return BatchView(planned, logs, upto).late(spark)


def as_arrow(rows: DataFrame) -> pa.Table:
    """The rows of a DataFrame as Arrow, in one chunk."""
    return rows.toArrow().combine_chunks()
