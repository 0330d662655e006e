"""Driving Spark's operators by the stamp: the one module that knows how.

Spark's own watermark follows the largest event time that it happens to have seen. Here it follows the rows' stamps:

    track    Spark's watermark := stamp − delay, behind a barrier that no filter is pushed through
    admit    a row is taken iff its end + grace > its own stamp: lateness is data, decided at the log's door
    mark     the column that state is evicted by, behind a barrier again

`tests/engine/test_stamp.py` fails if a Spark release changes what this rests on: push-down, eviction, late filtering.
"""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.model import spell_duration

STAMP, COMMIT, ROW, ID, TIME = "__stamp", "__commit", "__row", "__id", "__time"
CARRIED = (STAMP, COMMIT, ROW, ID, TIME)
"""What travels beside a row up to the first aggregate: its stamp and position; its identity where that is declared."""
_EVICTS = {"spark.watermarkDelayMs": 0}


def track(rows: DataFrame, delay: timedelta, name: str) -> DataFrame:
    """Let Spark's watermark follow the stamps, less a delay, and drop the tick rows once they have moved it.

    `observe` is the barrier: without it Spark pushes filters below the watermark, and rows that a selective filter
    drops no longer move it. `name` must be unique in the query; its counts are the ledger's `rows_in`.
    """
    tracked = rows.withWatermark(STAMP, spell_duration(delay))
    return barrier(tracked, name, F.count(COMMIT).alias("rows_in")).where(F.col(COMMIT).isNotNull())


def barrier(rows: DataFrame, name: str, *counts: Column) -> DataFrame:
    """Count rows as they pass; nothing is pushed through."""
    return rows.observe(name, *(counts or (F.count(F.lit(1)).alias("rows"),)))


def in_time(end: Column, grace: timedelta) -> Column:
    """Whether a row whose window ends there is admitted; equality is late."""
    return end + interval(grace) > F.col(STAMP)


def mark(column: Column, name: str) -> Column:
    """The column under a name, marked as the one that state is evicted by."""
    return column.alias(name, metadata=_EVICTS)


def interval(duration: timedelta) -> Column:
    """A duration as Spark has it, exact to the microsecond."""
    sign = "-" if duration < timedelta() else ""
    seconds, rest = divmod(abs(duration) // timedelta(microseconds=1), 1_000_000)
    return F.expr(f"INTERVAL '{sign}{seconds}.{rest:06d}' SECOND")
