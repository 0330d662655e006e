"""Batch: a view over a range of the log at once, for verification and replay, and what came too late for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.engine.lower import END, KEEP, Lowering
from headwater.engine.scan import batch_scan
from headwater.engine.stamp import STAMP, TIME, interval
from headwater.engine.view import delay_of, output_schema
from headwater.log import TopicLog
from headwater.log.read import watermark_at
from headwater.model import Emit
from headwater.plan import PlannedView
from headwater.plan.stages import Aggregate

Logs = Mapping[str, TopicLog]


def batch_rows(spark: SparkSession, planned: PlannedView, logs: Logs, upto: Mapping[str, int]) -> pa.Table:
    """The rows that the view has once its topics are read up to these commits: all, or those that are final."""
    lowering = _lowering(spark, planned, logs, upto)
    rows = lowering.view(planned.root)
    if planned.emit is Emit.FINAL and END in rows.columns:
        rows = rows.where(F.col(END) + interval(delay_of(planned)) <= F.lit(watermark_of(logs, upto)))
    if KEEP in rows.columns:
        rows = rows.where(F.col(KEEP))
    return as_arrow(rows.select(*(F.col(f"`{column.name}`") for column in planned.columns)), output_schema(planned))


def late_rows(spark: SparkSession, planned: PlannedView, logs: Logs, upto: Mapping[str, int]) -> pa.Table:
    """The rows that came too late, once per window they were late for, with how late they were.

    Lateness is a predicate on the log: the rows are read, not remembered.
    """
    lowering = replace(_lowering(spark, planned, logs, upto), late=True)
    aggregate = next((stage for stage in planned.stages if isinstance(stage, Aggregate)), None)
    rows = lowering.lower(planned.root if aggregate is None else aggregate.input)
    if aggregate is not None:
        end = F.col("window_end")
    elif TIME in rows.columns:  # an event is taken once, as long as its copies can still be told
        end = F.col(TIME)
        rows = rows.where(lowering.admits(end))
    else:
        end, rows = F.col(STAMP), rows.limit(0)
    shown = [F.col(f"`{name}`") for name in rows.columns if not name.startswith("__")]
    late_by = (F.col(STAMP) - end - interval(planned.view.grace)).alias("late_by")
    return as_arrow(rows.select(*shown, F.col(STAMP).alias("_watermark"), late_by), None)


def watermark_of(logs: Logs, upto: Mapping[str, int]) -> datetime:
    """What the view is final up to: the least watermark of its topics."""
    return min(watermark_at(logs[topic], commit) for topic, commit in upto.items())


def as_arrow(rows: DataFrame, schema: pa.Schema | None) -> pa.Table:
    """The rows of a DataFrame as Arrow, in one chunk; cast to the declared types where they are given."""
    table = rows.toArrow().combine_chunks()
    return table if schema is None else table.cast(schema)


def _lowering(spark: SparkSession, planned: PlannedView, logs: Logs, upto: Mapping[str, int]) -> Lowering:
    return Lowering(
        lambda scan: batch_scan(spark, logs[scan.relation], scan, 0, upto[scan.relation]),
        planned.view.grace,
        live=False,
    )
