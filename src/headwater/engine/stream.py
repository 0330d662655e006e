"""A topic as a Spark stream, read by whoever reaches its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from headwater.engine.direct import read_directly
from headwater.engine.source import Limits, LogStream, check_options
from headwater.engine.workers import read_with_workers
from headwater.log import TopicLog


def read_stream(
    spark: SparkSession, log: TopicLog, columns: Sequence[str], name: str, options: Mapping[str, str]
) -> DataFrame:
    """The columns of a topic as a stream of commits, under a name that is unique in the query.

    A log in a folder is read by Spark itself, one in an object store by Python workers, which need no more than the
    log does to reach it.
    """
    check_options(options)
    if "://" in log.storage.url:
        return read_with_workers(spark, log, columns, name, options)
    return read_directly(spark, LogStream(log, columns, Limits.of(options)), name)
