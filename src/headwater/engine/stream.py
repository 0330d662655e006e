"""A topic as a DataFrame, as a stream of commits or as a range of them, read by whoever reaches its files.

A log in a folder is read by Spark itself, one in an object store by Python workers, which need no more than the log
does to reach it. So are files that are past: Spark doesn't know how they are read today.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.engine.direct import read_directly
from headwater.engine.next_batch import NextBatch
from headwater.engine.source import Limits, LogStream, as_pattern, check_options, schema_ddl
from headwater.engine.workers import read_batch_with_workers, read_with_workers
from headwater.log import TopicLog
from headwater.log.datafile import DataFile
from headwater.log.read import require_whole


def read_stream(
    spark: SparkSession,
    log: TopicLog,
    columns: Sequence[str],
    name: str,
    options: Mapping[str, str],
    next_batch: NextBatch | None = None,
) -> DataFrame:
    """The columns of a topic as a stream of commits, under a name that is unique in the query.

    Workers, which are other processes, don't share the next batch of a query: each scan asks for the head itself.
    """
    check_options(options)
    if _is_in_a_folder(log):
        return read_directly(spark, LogStream(log, columns, Limits.of(options), next_batch), name)
    return read_with_workers(spark, log, columns, name, options)


def read_commits(
    spark: SparkSession, log: TopicLog, columns: Sequence[str], files: Sequence[DataFile], first: int, last: int
) -> DataFrame:
    """The rows of these files that are of the commits from `first` to `last`; `_commit` must be among the columns."""
    schema = schema_ddl(log.topic, columns)
    if not files:
        return spark.createDataFrame([], schema)
    past = [file for file in files if file.past is not None]
    if past and len(past) < len(files):
        now = [file for file in files if file.past is None]
        parts = [read_commits(spark, log, columns, part, first, last) for part in (past, now)]
        return parts[0].unionByName(parts[1])
    if past or not _is_in_a_folder(log):
        return read_batch_with_workers(spark, log, columns, files, first, last)
    require_whole(log, files)
    rows = spark.read.schema(schema).parquet(*(as_pattern(f"{log.storage.url}/{file.path}") for file in files))
    whole = all(first <= file.commits[0] and file.commits[1] <= last for file in files)
    return rows if whole else rows.where(F.col("_commit").between(first, last))


def _is_in_a_folder(log: TopicLog) -> bool:
    return "://" not in log.storage.url
