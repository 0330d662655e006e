"""The group that a view failed on, when each of its rows is fine on its own.

Two things can fail on a group: a sum that has become too great for its type, and an expression of aggregates (a ratio
of two sums, a HAVING). The groups that were open in the failing batch are computed again from the log. A sum is tried
with `try_sum`, which gives NULL where `sum` fails; what stands above the aggregate is halved over the groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.engine.batch import BatchView, as_arrow
from headwater.engine.halving import computed, first_failing
from headwater.engine.view import reached_by
from headwater.errors import ViewFailed
from headwater.model import Emit
from headwater.operators import Scan, Stage
from headwater.operators.aggregate.trial import Trial, trial_of
from headwater.operators.lowering.ledger import Rows
from headwater.operators.lowering.rooms import Lowering
from headwater.operators.lowering.stamp import FINAL, KEEP, later

MOST_GROUPS = 1_000_000


@dataclass(frozen=True)
class Group:
    """The keys of a group as a table of one row, and what fails for it: an expression, or a failure of its own."""

    keys: pa.Table
    expression: str | None = None
    failure: ViewFailed | None = None


def find_group(spark: SparkSession, view: BatchView) -> Group | None:
    """The first group, by its keys, that a view fails on at the end of these commits; None if none is found."""
    tried = trial_of(view.planned.stages)
    return None if tried is None else _too_great(spark, view, tried[1]) or _above(spark, view, *tried)


def _too_great(spark: SparkSession, view: BatchView, trial: Trial) -> Group | None:
    if not trial.sums:
        return None
    frame = _still_open(view, _whole(view).lowering(spark).lower(trial.overflow).frame)
    groups = as_arrow(_ordered(frame.where(" OR ".join(trial.sums)), trial).limit(1))
    if not groups.num_rows:
        return None
    first = next(sql for flag, sql in trial.sums.items() if groups[flag][0].as_py())
    return Group(groups.select(list(trial.names)), expression=first)


def _above(spark: SparkSession, view: BatchView, stage: Stage, trial: Trial) -> Group | None:
    frame = _shown(view, _still_open(view, _whole(view).lowering(spark).lower(trial.plain).frame))
    groups = as_arrow(_ordered(frame, trial).drop(KEEP).limit(MOST_GROUPS))

    def compute(low: int, high: int) -> None:
        some = spark.createDataFrame(groups.slice(low, high - low).combine_chunks())
        same = view.lowering(spark)
        lowering = _Above(_nothing, same.grace, same.live, same.settled, same.horizon, physical=same.physical)
        lowering = replace(lowering, below=(stage, trial, some), retention=same.retention, settled_at=same.settled_at)
        computed(lowering.view(view.planned.root))

    failing = first_failing(groups.num_rows, compute, view.planned.name)
    if failing is None:
        return None
    return Group(groups.slice(failing[0], 1).select(list(trial.names)), failure=failing[1])


@dataclass(frozen=True)
class _Above(Lowering):
    """The stages above an aggregate, over groups that are given."""

    below: tuple[Stage, Trial, DataFrame] | None = None

    def lower(self, stage: Stage) -> Rows:
        if self.below is None or stage is not self.below[0]:
            return super().lower(stage)
        _, trial, groups = self.below
        keep = F.lit(True) if trial.having is None else F.coalesce(F.expr(trial.having.sql), F.lit(False))
        return Rows(groups.withColumn(KEEP, keep))


def _nothing(scan: Scan) -> DataFrame:
    raise AssertionError(f"{scan.relation} is below the aggregate")


def _whole(view: BatchView) -> BatchView:
    """The same view over the log from its beginning."""
    return replace(view, after=None)


def _still_open(view: BatchView, groups: DataFrame) -> DataFrame:
    """Those that the failing batch could add to: open where it begins."""
    return groups.where(_closes_at(view) > F.lit(reached_by(view.planned, view.logs, view.after or {})))


def _shown(view: BatchView, groups: DataFrame) -> DataFrame:
    """Those of which the batch computes rows: all or, if rows are final, the ones that it closes."""
    if view.planned.emit is not Emit.FINAL:
        return groups
    return groups.where(_closes_at(view) <= F.lit(reached_by(view.planned, view.logs, view.upto)))


def _closes_at(view: BatchView) -> Column:
    return later(F.col(FINAL), view.planned.physical.pace.settles)


def _ordered(groups: DataFrame, trial: Trial) -> DataFrame:
    return groups.orderBy(*(F.col(f"`{name}`") for name in trial.names))
