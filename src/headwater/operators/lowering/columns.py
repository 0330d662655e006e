"""The columns of a frame while it is lowered: those of its stage, and what travels beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.operators import Expression, Named, Stage
from headwater.operators.lowering.stamp import CARRIED, COMMIT, FINAL, ID, KEEP, NEW, PARTS, POSITION, ROW, TIME

RANK, ROWS = "__rank", "__rows"


def earliest(frame: DataFrame, keys: list[str]) -> DataFrame:
    """Of the rows with the same keys the first in the log: which of them is counted must not depend on the slice."""
    rank = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {COMMIT}, {ROW})"
    return frame.withColumn(RANK, F.expr(rank)).where(F.col(RANK) == 1).drop(RANK, COMMIT, ROW)


def oldest(frame: DataFrame, keys: list[str]) -> DataFrame:
    """Of the rows with the same keys one that is not new, if there is one."""
    rank = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {NEW})"
    return frame.withColumn(RANK, F.expr(rank)).where(F.col(RANK) == 1).drop(RANK)


def every() -> Column:
    """The number of rows."""
    return F.count(F.lit(1)).alias(ROWS)


def columns_of(stage: Stage) -> list[Column]:
    """The columns of a stage, unchanged."""
    return [F.col(f"`{column.name}`") for column in stage.columns]


def named_columns(columns: Mapping[str, str]) -> list[Column]:
    """Spark SQL under names."""
    return [F.expr(sql).alias(name) for name, sql in columns.items()]


def named_column(named: Named) -> Column:
    """An expression under its name."""
    return F.expr(named.expression.sql).alias(named.name)


def partition_by(keys: Sequence[Expression]) -> str:
    """The partitions of a window, in Spark SQL; nothing if all rows are one."""
    return f"PARTITION BY {', '.join(key.sql for key in keys)} " if keys else ""


def carried(frame: DataFrame, but: str = "") -> list[Column]:
    """The columns that travel beside the rows of a frame."""
    return [F.col(name) for name in (*CARRIED, FINAL, KEEP, PARTS) if name in frame.columns and name != but]


def position_of(frame: DataFrame) -> list[Column]:
    """The total order of rows. Which copy of a duplicate survives is arbitrary, so there it is what copies share."""
    if POSITION in frame.columns:
        return [F.col(POSITION)]
    shared = [name for name in (TIME, ID) if name in frame.columns]
    names = shared if ID in shared else [COMMIT, ROW]
    return [F.struct(*names).alias(POSITION)] if set(names) <= set(frame.columns) else []


def values_of(expressions: Iterable[Expression]) -> list[Column]:
    """Some expressions, each under a name of its own."""
    return [F.expr(expression.sql).alias(f"__value{number}") for number, expression in enumerate(expressions)]
