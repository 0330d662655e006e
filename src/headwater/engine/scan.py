"""Scans: a topic's rows as a DataFrame, as a stream of commits or as a range of them at once.

Both give the scan's columns and what is carried beside them (`stamp.CARRIED`), so that everything above is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headwater.engine.next_batch import NextBatch
from headwater.engine.source import schema_ddl
from headwater.engine.stream import read_commits, read_stream
from headwater.log import TopicLog
from headwater.log.datafile import DataFile
from headwater.model import Topic
from headwater.operators import Scan
from headwater.operators.lowering.stamp import COMMIT, ID, NEW, OP, ROW, STAMP, TIME, events, track
from headwater.plan.physical.pace import Pace
from headwater.plan.physical.tracking import Tracking

_MILLISECOND = timedelta(milliseconds=1)


def live_scan(
    spark: SparkSession,
    log: TopicLog,
    scan: Scan,
    pace: Pace,
    tracking: Tracking,
    name: str,
    options: dict[str, str],
    next_batch: NextBatch | None = None,
) -> DataFrame:
    """The topic as a stream. `name` is unique in the query. Without a `next_batch` it ends at its last commit."""
    columns = columns_of(scan, pace)
    if not tracking.stamped:
        columns = [name for name in columns if name != pace.stamp or scan.column(name)]
    rows = _named(read_stream(spark, log, columns, name, options, next_batch), scan, pace, stamped=tracking.stamped)
    return track(rows, pace.delay) if tracking.tracked else events(rows)


def batch_scan(
    spark: SparkSession,
    log: TopicLog,
    scan: Scan,
    pace: Pace,
    first: int,
    last: int,
    since: datetime | None = None,
    after: int = 0,
    until: datetime | None = None,
) -> DataFrame:
    """The rows of the commits from `first` to `last`, at once.

    Files of which no row is later than `since`, and up to `until`, are left out, unless they have commits after
    `after`.
    """
    files = files_of(log, scan, pace, first, last, since, after, until)
    return _named(read_commits(spark, log, columns_of(scan, pace), files, first, last), scan, pace)


def files_of(
    log: TopicLog,
    scan: Scan,
    pace: Pace,
    first: int,
    last: int,
    since: datetime | None,
    after: int,
    until: datetime | None = None,
) -> list[DataFile]:
    """The files of some commits that have rows later than `since` and up to `until`, or of commits after `after`."""
    time = paced_by(scan, pace)
    return [file for file in log.snapshot().between(first, last) if _matters(file, time, since, after, until)]


def paced_by(scan: Scan, pace: Pace) -> str | None:
    """The column of the log whose time the view runs by."""
    return "_arrived_at" if pace.stamp == "_arrived_at" else scan.time


def _matters(file: DataFile, time: str | None, since: datetime | None, after: int, until: datetime | None) -> bool:
    if since is None or time is None or file.commits[1] > after:
        return True
    begun = until is None or file.least[time] <= until
    return begun and bool(file.greatest[time] + _MILLISECOND > since)  # statistics may be cut to milliseconds


def slice_scan(
    spark: SparkSession, log: TopicLog, scan: Scan, pace: Pace, after: int, last: int, since: datetime | None
) -> DataFrame:
    """The rows up to a commit that are later than an instant, and those of the commits after another, which are new."""
    rows, new = batch_scan(spark, log, scan, pace, 0, last, since, after), F.col(COMMIT) > after
    time = F.col(STAMP if pace.stamp == "_arrived_at" else TIME)
    kept = rows if since is None or paced_by(scan, pace) is None else rows.where(new | (time > F.lit(since)))
    return kept.withColumn(NEW, new)


def in_memory(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Rows that are in memory, as a DataFrame."""
    return spark.createDataFrame(rows.combine_chunks())  # behind an empty chunk Spark loses rows


def told_new(rows: pa.Table, after: int) -> pa.Table:
    """Rows of a log, each with whether it is of a commit after this one."""
    return rows.append_column(NEW, pc.greater(rows["_commit"], after))


def memory_schema(topic: Topic, columns: Sequence[str]) -> StructType:
    """The types in which Spark is given these columns of a topic, and whether a row is new."""
    return StructType.fromDDL(f"{schema_ddl(topic, columns)}, {NEW} BOOLEAN")


def memory_scan(rows: DataFrame, scan: Scan, pace: Pace, *, moved: bool = False) -> DataFrame:
    """The same of rows that have been read already, and that tell which are new, in one partition.

    Spark doesn't move what is in one partition. Where two of these are joined it leaves one of them unread, and
    uncounted, if the other turns out to be empty: rows that have to be `moved` are all read.
    """
    return _named(rows if moved else rows.coalesce(1), scan, pace, F.col(NEW))


def columns_of(scan: Scan, pace: Pace) -> list[str]:
    """The columns of the log that a scan reads."""
    own = ["_commit", "_row", pace.stamp, *(["_id"] if _is_identified(scan) else [])]
    own += ["_op"] if scan.kind == "table" else []
    time = [scan.time] if scan.time else []
    return list(dict.fromkeys([*(column.name for column in scan.columns), *time, *own]))


def _is_identified(scan: Scan) -> bool:
    return bool(scan.unique) or scan.within is not None


def _named(rows: DataFrame, scan: Scan, pace: Pace, *more: Column, stamped: bool = True) -> DataFrame:
    carried = {COMMIT: "_commit", ROW: "_row", **({STAMP: pace.stamp} if stamped else {})}
    if scan.time:
        carried[TIME] = scan.time
    if _is_identified(scan):
        carried[ID] = "_id"
    if scan.kind == "table":
        carried[OP] = "_op"
    shown = [F.col(f"`{column.name}`") for column in scan.columns]
    return rows.select(*shown, *(F.col(f"`{name}`").alias(carries) for carries, name in carried.items()), *more)
