"""Unions: the rows of several frames as those of one, with what travels beside them."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.engine.stamp import END, LAST, POSITION


def united(frames: list[DataFrame]) -> DataFrame:
    """One frame of all; what only some of them carry is filled in, or is of no use."""
    several = any(LAST in frame.columns for frame in frames)
    windowed = all(END in frame.columns for frame in frames)
    parts = []
    for frame in frames:
        part = frame.withColumn(LAST, F.lit(True)) if several and LAST not in frame.columns else frame
        parts.append(part if windowed else part.drop(END))
    return reduce(DataFrame.unionByName, parts)


def united_groups(frames: list[DataFrame], keep: str) -> DataFrame:
    """One frame of the rows of operators that keep state; `keep` marks those that a HAVING leaves."""
    marked = any(keep in frame.columns for frame in frames)
    parts = [frame.withColumn(keep, F.lit(True)) if marked and keep not in frame.columns else frame for frame in frames]
    return united(_positioned(parts))


def _positioned(frames: list[DataFrame]) -> list[DataFrame]:
    """The frames with positions that can be compared: where they are of different types, the branch comes first."""
    kinds = [frame.schema[POSITION].dataType for frame in frames]
    if all(kind == kinds[0] for kind in kinds):
        return frames
    parts = []
    for number, frame in enumerate(frames):
        own = [
            (F.col(POSITION) if place == number else F.lit(None).cast(kind)).alias(f"p{place}")
            for place, kind in enumerate(kinds)
        ]
        parts.append(frame.withColumn(POSITION, F.struct(F.lit(number).alias("branch"), *own)))
    return parts
