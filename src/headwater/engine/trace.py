"""Tracing: the events behind a row travel beside it, through every operator, as their places in the log.

A scan that is *traced* gives each row a list of one place, in `BEHIND`. What makes one row of several puts their lists
together: a group has those of its rows, a pair those of both, a value from the rows around a row those of its frame.
Nothing is guessed from the text of a query: the same stages that compute a row say what it was computed from.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.engine.stamp import BEHIND, COMMIT, ROW
from headwater.plan.stages import Scan

TOPIC = "topic"
NOTHING = "CAST(array() AS array<struct<topic: string, commit: bigint, row: bigint>>)"


def traced(rows: DataFrame, scan: Scan) -> DataFrame:
    """The rows of a topic, each with its own place behind it; those of a view that is traced have theirs already."""
    if BEHIND in rows.columns:
        return rows
    place = F.struct(
        F.lit(scan.relation).alias(TOPIC),
        F.col(COMMIT).cast("bigint").alias("commit"),
        F.col(ROW).cast("bigint").alias("row"),
    )
    return rows.withColumn(BEHIND, F.array(place))


def behind(frame: DataFrame) -> list[Column]:
    """What is behind each row, where it is traced."""
    return [F.col(BEHIND)] if BEHIND in frame.columns else []


def gathered(frame: DataFrame) -> list[Column]:
    """What is behind the rows of a group, as an aggregate."""
    return [F.flatten(F.collect_list(BEHIND)).alias(BEHIND)] if BEHIND in frame.columns else []
