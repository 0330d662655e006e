"""Union, lowered: the rows of several frames as those of one, with what travels beside them."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.operators import Union
from headwater.operators.lowering.columns import carried, columns_of
from headwater.operators.lowering.ledger import Rows
from headwater.operators.lowering.stamp import COMMIT, END, FINAL, ID, KEEP, LAST, MARK, NEW, POSITION, ROW, TIME
from headwater.operators.lowering.trace import behind
from headwater.operators.lowering.walk import Lowering, lowered


@lowered.register
def _(stage: Union, lowering: Lowering) -> Rows:
    """The rows of all branches. An event is the same event only within a branch."""
    parts = [lowering.lower(branch) for branch in stage.branches]
    if any(FINAL in part.frame.columns for part in parts):
        return _of_groups(stage, parts, lowering)
    unique = any(ID in part.frame.columns for part in parts)
    frames = []
    for number, (part, branch) in enumerate(zip(parts, stage.branches, strict=True)):
        frame = part.frame
        if unique:
            identity = [F.col(ID)] if ID in frame.columns else [F.col(COMMIT), F.lit(":"), F.col(ROW)]
            frame = frame.withColumn(ID, F.concat(F.lit(f"{number}:"), *identity))
        pairs = zip(columns_of(branch), stage.columns, strict=True)
        frames.append(frame.select(*(column.alias(field.name) for column, field in pairs), *carried(frame)))
    passed = tuple(name for part in parts for name in part.passed)
    return Rows(_united(frames), passed, any(part.assigned for part in parts))


def _of_groups(stage: Union, parts: list[Rows], lowering: Lowering) -> Rows:
    """The rows of branches some of which keep state, or are those of tables: the others are final at their own time."""
    frames = []
    for part, branch in zip(parts, stage.branches, strict=True):
        frame = part.frame
        if not {FINAL, POSITION} <= set(frame.columns):
            frame = lowering.enter_by_time(part, branch).frame
            new = [F.col(NEW)] if lowering.as_they_come else []
            frame = frame.select(*columns_of(branch), POSITION, F.col(MARK).alias(FINAL), *new, *behind(frame))
        pairs = zip(columns_of(branch), stage.columns, strict=True)
        frames.append(frame.select(*(column.alias(field.name) for column, field in pairs), *carried(frame)))
    return Rows(_united_groups(frames, KEEP))


def _united(frames: list[DataFrame]) -> DataFrame:
    """One frame of all; what only some of them carry is filled in, or is of no use."""
    several, timed = (any(name in frame.columns for frame in frames) for name in (LAST, TIME))
    windowed = all(END in frame.columns for frame in frames)
    parts = []
    for frame in frames:
        part = frame.withColumn(LAST, F.lit(True)) if several and LAST not in frame.columns else frame
        part = part.withColumn(TIME, F.lit(None).cast("timestamp")) if timed and TIME not in part.columns else part
        parts.append(part if windowed else part.drop(END))
    return reduce(DataFrame.unionByName, parts)


def _united_groups(frames: list[DataFrame], keep: str) -> DataFrame:
    """One frame of the rows of operators that keep state; `keep` marks those that a HAVING leaves."""
    marked = any(keep in frame.columns for frame in frames)
    parts = [frame.withColumn(keep, F.lit(True)) if marked and keep not in frame.columns else frame for frame in frames]
    return _united(_positioned(parts))


def _positioned(frames: list[DataFrame]) -> list[DataFrame]:
    """The frames with positions that can be compared: where they are of different types, the branch comes first."""
    kinds = [frame.schema[POSITION].dataType for frame in frames]
    if all(kind == kinds[0] for kind in kinds):
        return frames
    parts = []
    for number, frame in enumerate(frames):
        own = [
            (F.col(POSITION) if other == number else F.lit(None).cast(kind)).alias(f"p{other}")
            for other, kind in enumerate(kinds)
        ]
        parts.append(frame.withColumn(POSITION, F.struct(F.lit(number).alias("branch"), *own)))
    return parts
