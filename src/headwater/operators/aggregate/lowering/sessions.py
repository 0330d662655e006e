"""Sessions: rows of a key without a gap between them, and sessions that are kept in parts.

A session that can still change is kept with its bounds and the parts of its calls (see `merge`). New rows make sessions
of their own first. Sessions of a key that touch are one: it begins with the first of them, ends with the last, and its
parts are merged. So a row can make one of several that are known, and whoever adds to those of a key replaces them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import Window as Frame
from pyspark.sql import functions as F

from headwater.operators import Aggregate
from headwater.operators.aggregate.lowering.merge import merged_by, merged_parts, parts_by
from headwater.operators.aggregate.lowering.parts import Known, added_up, columns_of_parts, kept_while
from headwater.operators.lowering.columns import ROWS, every, named_columns
from headwater.operators.lowering.stamp import MARK, PARTS

SESSION, BEGAN = "__session", "__began"
ALL = "__key"
"""The key of sessions of all rows together: Spark has none without a key."""
_BEGINS = "__begins"


def sessions_of(rows: DataFrame, keys: Sequence[Column], gap: timedelta, calls: Sequence[Column]) -> DataFrame:
    """The sessions of rows, which happen at their mark: their keys, their bounds in `SESSION`, and what is called."""
    spelled = f"{gap // timedelta(microseconds=1)} microseconds"
    return rows.groupBy(*keys, F.session_window(MARK, spelled).alias(SESSION)).agg(*calls)


def parts_of_sessions(stage: Aggregate, rows: DataFrame, keys: Sequence[Column], gap: timedelta) -> DataFrame:
    """The parts of sessions, made of rows: their keys, when they began, their end in `MARK`, and parts."""
    calls = named_columns(parts_by(merged_by(stage))) or [every()]
    sessions = sessions_of(rows, keys, gap, calls)
    named = [F.col(f"`{name}`") for name in sessions.columns if name != SESSION]
    bounds = [F.col(f"{SESSION}.start").alias(BEGAN), F.col(f"{SESSION}.end").alias(MARK)]
    return sessions.select(*named[: len(keys)], *bounds, *named[len(keys) :])  # in the order in which they are kept


def sessions_of_parts(
    stage: Aggregate, new: DataFrame, known: Known | None, names: Sequence[str], settled_at: datetime
) -> DataFrame:
    """The sessions of the keys of new parts, or of known ones; in `PARTS` their keys, and what is added to next."""
    calls = merged_by(stage)
    merged = merged_parts(calls) or {ROWS: f"sum({ROWS})"}
    both = new if known is None else new.unionByName(known(columns_of_parts(new)))
    keys = [F.col(f"`{name}`") for name in names]
    bounds = F.min(BEGAN).alias(BEGAN), F.max(MARK).alias(MARK)
    whole = named_columns({name: call.whole for name, call in calls.items()})
    sessions = _numbered(both, keys).groupBy(*keys, SESSION).agg(*bounds, *whole, *added_up(merged))
    parts = kept_while(F.col(MARK) > F.lit(settled_at), merged)
    return sessions.withColumn(PARTS, F.struct(*keys, F.col(BEGAN), F.col(MARK), *parts))


def _numbered(parts: DataFrame, keys: Sequence[Column]) -> DataFrame:
    """Parts of sessions, those that touch under one number in `SESSION`."""
    ordered = Frame.partitionBy(*keys).orderBy(BEGAN, MARK)
    ended = F.max(MARK).over(ordered.rowsBetween(Frame.unboundedPreceding, -1))
    begins = F.coalesce(F.col(BEGAN) > ended, F.lit(True)).cast("int")
    before = F.sum(_BEGINS).over(ordered.rowsBetween(Frame.unboundedPreceding, 0))
    return parts.withColumn(_BEGINS, begins).withColumn(SESSION, before)
