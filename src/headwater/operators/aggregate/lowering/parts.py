"""Parts: groups that a step adds to, from the parts of their new rows and those that are known.

A group that can still change is kept as the parts of its calls (see `merge`). What a step adds to it are the parts of
its new rows; merged, both are the group as it is now: its values, and the parts that the next step adds to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headwater.operators import Aggregate
from headwater.operators.aggregate.lowering.merge import merged_by, merged_parts, parts_by
from headwater.operators.lowering.columns import ROWS, every, named_column, named_columns
from headwater.operators.lowering.stamp import FOREVER, MARK, PARTS

_KEPT = "__kept"

Known = Callable[[StructType], DataFrame]
"""Gives the parts that are known, with these columns."""


def parts_of(stage: Aggregate, rows: DataFrame, bounds: Mapping[str, Column]) -> DataFrame:
    """The parts of groups, made of rows: their keys but for the bounds of windows, their end in `MARK`, and parts."""
    parts = parts_by(merged_by(stage))
    calls = named_columns(parts) or [every()]
    if not stage.keys:  # the one group of all rows is there before the first of them
        return rows.groupBy().agg(F.lit(FOREVER).alias(MARK), *calls)
    keys = [named_column(key) for key in stage.keys if key.name not in bounds]
    return rows.groupBy(*keys, MARK).agg(*calls)


def groups_of_parts(
    stage: Aggregate, new: DataFrame, known: Known | None, bounds: Mapping[str, Column], settled_at: datetime
) -> DataFrame:
    """The groups of an aggregate that have new parts, or known ones; in `PARTS` their keys, and what is added to next.

    Nothing is added to a group that is over.
    """
    calls = merged_by(stage)
    merged = merged_parts(calls) or {ROWS: f"sum({ROWS})"}
    both = new if known is None else new.unionByName(known(columns_of_parts(new)))
    keys = [F.col(f"`{key.name}`") for key in stage.keys if key.name not in bounds]
    whole = named_columns({name: call.whole for name, call in calls.items()})
    groups = both.groupBy(*keys, MARK).agg(*whole, *added_up(merged))
    parts = kept_while(F.col(MARK) > F.lit(settled_at), merged)
    return groups.withColumn(PARTS, F.struct(*keys, F.col(MARK), *parts)).withColumns(dict(bounds))


def added_up(merged: Mapping[str, str]) -> list[Column]:
    """Merged parts, under names that no column has beside the values that are made of them."""
    return [F.expr(sql).alias(f"{_KEPT}{name}") for name, sql in merged.items()]


def kept_while(is_open: Column, merged: Mapping[str, str]) -> list[Column]:
    """The parts that were `added_up`, as they are kept: a group that is over has none."""
    return [F.when(is_open, F.col(f"`{_KEPT}{name}`")).alias(name) for name in merged]


def columns_of_parts(parts: DataFrame) -> StructType:
    """The columns of parts as they are kept: a group that is over has none."""
    return StructType.fromJson(json.loads(parts._jdf.schema().asNullable().json()))
