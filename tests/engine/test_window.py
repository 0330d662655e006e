"""Windows from a millisecond to months: held against whole numbers of Python."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.model import Cumulate, Hop
from headwater.operators import Aggregate
from headwater.operators.aggregate.lowering.panes import windows_of
from headwater.operators.assign.lowering.window import Spread, admitting
from headwater.operators.lowering.needed import Needed
from headwater.operators.lowering.stamp import MARK, STAMP, WINDOWS, in_time
from tests.plan.planning import view

MS, SECOND, MINUTE, HOUR, DAY = (
    timedelta(milliseconds=1),
    timedelta(seconds=1),
    timedelta(minutes=1),
    timedelta(hours=1),
    timedelta(days=1),
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
AT = datetime(2026, 3, 29, 1, 59, 59, 999_999, tzinfo=UTC)
TIMES = [
    AT,
    AT + timedelta(microseconds=1),
    AT + 37 * MINUTE,
    AT + 40 * DAY,
    datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC),
]
GRACE = 3 * MS
WINDOWS_OF_ALL_SIZES = [
    *(Hop(count * slide, slide, offset)
      for slide in (MS, SECOND, 17 * SECOND, MINUTE, HOUR, DAY, 15 * DAY)
      for count in (2, 12, 60)
      for offset in (timedelta(), 7 * MS)),
    Hop(36 * MINUTE, 10 * MS * 100, timedelta()),
    Hop(31 * DAY, HOUR, timedelta()),
    *(Cumulate(count * step, step, offset)
      for step in (MS, SECOND, MINUTE, HOUR, DAY)
      for count in (2, 60, 90)
      for offset in (timedelta(), -2 * HOUR)),
]  # fmt: skip
Bounds = set[tuple[int, datetime, datetime]]


def windows_around(at: datetime, window: Hop | Cumulate) -> list[tuple[datetime, datetime]]:
    """Every window that an instant is in, by looking at all that could be."""
    step = window.slide if isinstance(window, Hop) else window.step
    found, end = [], (at - EPOCH - window.offset) // step * step + step
    while end <= at - EPOCH - window.offset + window.size:
        start = end - window.size if isinstance(window, Hop) else (end - step) // window.size * window.size
        if start <= at - EPOCH - window.offset < end:
            found.append((EPOCH + window.offset + start, EPOCH + window.offset + end))
        end += step
    return found


def stamped(at: datetime, window: Hop | Cumulate) -> datetime:
    """A watermark that has passed some of an instant's windows, and stands at the end of one of them + grace."""
    ends = sorted(end for _, end in windows_around(at, window))
    return ends[len(ends) // 3] + GRACE


def rows_of(spark: SparkSession, window: Hop | Cumulate) -> DataFrame:
    rows = [{"at": at, STAMP: stamped(at, window)} for at in TIMES]
    return spark.createDataFrame(pa.Table.from_pylist(rows)).coalesce(1)


def collected(frames: list[DataFrame]) -> Bounds:
    """All rows, at once: to plan takes longer than to compute."""
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    return {tuple(row.values()) for row in whole.toArrow().to_pylist()}


def admitted() -> Bounds:
    return {
        (number, start, end)
        for number, window in enumerate(WINDOWS_OF_ALL_SIZES)
        for at in TIMES
        for start, end in windows_around(at, window)
        if end + GRACE > stamped(at, window)
    }


def test_a_row_is_in_each_of_its_windows_that_admits_it(spark: SparkSession) -> None:
    frames = []
    for number, window in enumerate(WINDOWS_OF_ALL_SIZES):
        spread = Spread.of(F.col("at"), window)
        each = rows_of(spark, window).withColumn("n", F.expr(f"explode(sequence(0, {spread.last}))"))
        each = each.where(F.col("n") >= spread.first).withColumn("w", spread.window(F.col("n")))
        each = each.where(in_time(F.col("w.end"), GRACE))
        frames.append(each.select(F.lit(number).alias("number"), "w.start", "w.end"))
    assert collected(frames) == admitted()


def test_windows_combined_of_panes_are_those_that_admit_a_row(spark: SparkSession) -> None:
    stage = view(
        "SELECT window_start, window_end, count(*) AS n "
        "FROM HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' SECOND, INTERVAL '9' SECOND) GROUP BY 1, 2"
    ).root
    assert isinstance(stage, Aggregate)
    frames = []
    for number, window in enumerate(WINDOWS_OF_ALL_SIZES):
        spread = Spread.of(F.col("at"), window)
        rows = admitting(rows_of(spark, window), spread, GRACE)
        rows = rows.withColumn(MARK, spread.window(F.lit(spread.last))["end"])
        panes = rows.groupBy(MARK, WINDOWS).agg(F.count(F.lit(1)).alias("__part0"))
        windows = windows_of(stage, panes, window, Needed())
        frames.append(windows.select(F.lit(number).alias("number"), "window_start", "window_end"))
    assert collected(frames) == admitted()
