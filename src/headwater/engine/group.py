"""The group that a view failed on, when each of its rows is fine on its own.

Two things can fail on a group: a sum that has become too great for its type, and an expression of aggregates (a ratio
of two sums, a HAVING). The groups that were open in the failing batch are computed again from the log. A sum is tried
with `try_sum`, which gives NULL where `sum` fails; what stands above the aggregate is halved over the groups.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.engine.batch import BatchView, as_arrow
from headwater.engine.halving import computed, first_failing
from headwater.engine.join import FINAL
from headwater.engine.ledger import Rows
from headwater.engine.lower import KEEP, Lowering
from headwater.engine.stamp import later
from headwater.engine.view import pace_of
from headwater.errors import ViewFailed
from headwater.model import Emit
from headwater.plan.stages import Aggregate, Call, Expression, Field, Scan, Stage

MOST_GROUPS = 1_000_000
_TRIED = {"sum": "try_sum", "avg": "try_avg", "mean": "try_avg"}
_NAME = re.compile(r"^\s*\w+")


@dataclass(frozen=True)
class Group:
    """The keys of a group as a table of one row, and what fails for it: an expression, or a failure of its own."""

    keys: pa.Table
    expression: str | None = None
    failure: ViewFailed | None = None


def find_group(spark: SparkSession, view: BatchView) -> Group | None:
    """The first group, by its keys, that a view fails on at the end of these commits; None if none is found."""
    aggregate = next((stage for stage in view.planned.stages if isinstance(stage, Aggregate)), None)
    if aggregate is None:
        return None
    return _too_great(spark, view, aggregate) or _above(spark, view, aggregate)


def _too_great(spark: SparkSession, view: BatchView, aggregate: Aggregate) -> Group | None:
    sums = [call for call in aggregate.aggregates if call.function.lower() in _TRIED]
    flags = [_overflows(number, call) for number, call in enumerate(sums)]
    if not flags:
        return None
    fields = tuple(Field(flag.name, pa.bool_()) for flag in flags)
    tried = replace(aggregate, columns=(*_keys(aggregate), *fields), aggregates=tuple(flags), having=None)
    frame = _still_open(view, _whole(view).lowering(spark).lower(tried).frame)
    any_of = " OR ".join(flag.name for flag in flags)
    found = as_arrow(_ordered(frame.where(any_of), aggregate).limit(1), None)
    if not found.num_rows:
        return None
    first = next(number for number, flag in enumerate(flags) if found[flag.name][0].as_py())
    return Group(found.select(_names(aggregate)), expression=sums[first].expression.sql)


def _overflows(number: int, call: Call) -> Call:
    """Whether a sum is too great: it has values, and `try_sum` gives none."""
    sql = call.expression.sql
    tried, counted = _NAME.sub(_TRIED[call.function.lower()], sql), _NAME.sub("count", sql)
    return Call(f"__overflow{number}", "", Expression(f"({tried}) IS NULL AND {counted} > 0", pa.bool_()))


def _above(spark: SparkSession, view: BatchView, aggregate: Aggregate) -> Group | None:
    plain = replace(aggregate, having=None)
    frame = _shown(view, _still_open(view, _whole(view).lowering(spark).lower(plain).frame))
    groups = as_arrow(_ordered(frame, aggregate).drop(KEEP).limit(MOST_GROUPS), None)

    def compute(low: int, high: int) -> None:
        some = spark.createDataFrame(groups.slice(low, high - low).combine_chunks())
        same = view.lowering(spark)
        lowering = _Above(_nothing, same.grace, same.live, same.settled, same.horizon, aggregate=aggregate, groups=some)
        lowering = replace(lowering, retention=same.retention, settled_at=same.settled_at)
        computed(lowering.view(view.planned.root))

    found = first_failing(groups.num_rows, compute, view.planned.name)
    if found is None:
        return None
    return Group(groups.slice(found[0], 1).select(_names(aggregate)), failure=found[1])


@dataclass(frozen=True)
class _Above(Lowering):
    """What stands above an aggregate, over groups that are given."""

    aggregate: Aggregate | None = None
    groups: DataFrame | None = None

    def lower(self, stage: Stage) -> Rows:
        if self.groups is None or self.aggregate is None or stage is not self.aggregate:
            return super().lower(stage)
        having = self.aggregate.having
        keep = F.lit(True) if having is None else F.coalesce(F.expr(having.sql), F.lit(False))
        return Rows(self.groups.withColumn(KEEP, keep))


def _nothing(scan: Scan) -> DataFrame:
    raise AssertionError(f"{scan.relation} is below the aggregate")


def _whole(view: BatchView) -> BatchView:
    """The same view over the log from its beginning."""
    return replace(view, after=None)


def _still_open(view: BatchView, groups: DataFrame) -> DataFrame:
    """Those that the failing batch could add to: open where it begins."""
    return groups.where(_closes_at(view) > F.lit(pace_of(view.planned).reached(view.logs, view.after or {})))


def _shown(view: BatchView, groups: DataFrame) -> DataFrame:
    """Those of which the batch computes rows: all or, if rows are final, the ones that it closes."""
    if view.planned.emit is not Emit.FINAL:
        return groups
    return groups.where(_closes_at(view) <= F.lit(pace_of(view.planned).reached(view.logs, view.upto)))


def _closes_at(view: BatchView) -> Column:
    return later(F.col(FINAL), pace_of(view.planned).settles)


def _ordered(groups: DataFrame, aggregate: Aggregate) -> DataFrame:
    return groups.orderBy(*(F.col(f"`{name}`") for name in _names(aggregate)))


def _keys(aggregate: Aggregate) -> list[Field]:
    names = {key.name for key in aggregate.keys}
    return [found for found in aggregate.columns if found.name in names]


def _names(aggregate: Aggregate) -> list[str]:
    return [found.name for found in _keys(aggregate)]
