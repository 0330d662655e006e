"""Tracing: the events behind a row travel beside it, through every operator, as their places in the log.

A scan that is *traced* gives each row a list of one place, in `BEHIND`. What makes one row of several puts their lists
together: a group has those of its rows, a pair those of both, a value from the rows around a row those of its frame.
Nothing is guessed from the text of a query: the same stages that compute a row say what it was computed from.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.operators import Scan
from headwater.operators.lowering.stamp import BEHIND, COMMIT, PARTS, ROW

TOPIC = "topic"
NOTHING = "CAST(array() AS array<struct<topic: string, commit: bigint, row: bigint>>)"


def traced(rows: DataFrame, scan: Scan) -> DataFrame:
    """The rows of a topic, each with its own position behind it; those of a view that is traced have theirs already."""
    if BEHIND in rows.columns:
        return rows
    position = F.struct(
        F.lit(scan.relation).alias(TOPIC),
        F.col(COMMIT).cast("bigint").alias("commit"),
        F.col(ROW).cast("bigint").alias("row"),
    )
    return rows.withColumn(BEHIND, F.array(position))


def behind(frame: DataFrame) -> list[Column]:
    """The columns that travel beside the rows of a group: the events behind each, and the parts that it is made of."""
    return [F.col(name) for name in (BEHIND, PARTS) if name in frame.columns]


def gathered(frame: DataFrame) -> list[Column]:
    """The events behind the rows of a group, as an aggregate."""
    return [F.flatten(F.collect_list(BEHIND)).alias(BEHIND)] if BEHIND in frame.columns else []
