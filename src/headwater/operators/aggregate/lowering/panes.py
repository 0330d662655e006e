"""Panes: rows aggregated by pane, and windows combined from panes (see `operators.aggregate.panes`).

A row that is late for the first of its windows may be in time for the last ones. How many of its last windows admit it
is kept beside it (`WINDOWS`), and a pane is taken apart by it: the rows of a group are in the very same windows. So a
window has the rows that it would have if each row were copied into all of its windows.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.model import Cumulate, Hop
from headwater.operators import Aggregate, Named, Role
from headwater.operators.aggregate.lowering.merge import merged_by, merged_parts, parts_by
from headwater.operators.assign.lowering.window import whole
from headwater.operators.assign.stage import pane_of
from headwater.operators.lowering.columns import every, named_columns
from headwater.operators.lowering.needed import AFTER, UPTO, Needed
from headwater.operators.lowering.stamp import END, MARK, WINDOWS, later

_MICROSECOND, _MILLISECOND = timedelta(microseconds=1), timedelta(milliseconds=1)
_BACK, _START = "__back", "__start"


def panes_of(stage: Aggregate, rows: DataFrame) -> DataFrame:
    """The panes of an aggregate, made of rows: its keys, the end of the last window in `MARK`, and parts of calls."""
    keys = [F.expr(key.expression.sql).alias(key.name) for key in _keys(stage)]
    parts = parts_by(merged_by(stage))
    return rows.groupBy(*keys, MARK, WINDOWS).agg(*(named_columns(parts) or [every()]))


def compacted(stage: Aggregate, panes: DataFrame) -> DataFrame:
    """Panes of which several may be one, each as one."""
    merged = merged_parts(merged_by(stage))
    return panes.groupBy(*_names(stage), MARK, WINDOWS).agg(*(named_columns(merged) or [every()]))


def windows_of(stage: Aggregate, panes: DataFrame, window: Hop | Cumulate, needed: Needed) -> DataFrame:
    """The groups of an aggregate, combined of panes: its keys, its calls, and the end of their window in `MARK`."""
    wholes = {name: call.whole for name, call in merged_by(stage).items()}
    groups = _copied(panes, window, needed).groupBy(*_names(stage), END, _START)
    frame = groups.agg(*(named_columns(wholes) or [every()]))
    bounds = {
        Role.WINDOW_START: F.col(_START),
        Role.WINDOW_END: F.col(END),
        Role.WINDOW_TIME: later(F.col(END), -_MILLISECOND),
    }
    keys = {key.name: bounds[role] for key in stage.keys if (role := _role(stage, key))}
    return frame.withColumns(keys | {MARK: F.col(END)})


def _copied(panes: DataFrame, window: Hop | Cumulate, needed: Needed) -> DataFrame:
    """Each pane once per window that is asked for, counted back from the last."""
    last, pane = F.unix_micros(MARK), pane_of(window)
    nearest, farthest = F.lit(0).cast("bigint"), F.col(WINDOWS).cast("bigint") - 1
    if needed.until is not None:
        nearest = F.greatest(
            nearest, whole(last - _micros(panes, UPTO, needed.until) + (pane // _MICROSECOND - 1), pane)
        )
    if needed.after is not None:
        farthest = F.least(farthest, whole(last - _micros(panes, AFTER, needed.after) - 1, pane))
    some = panes.withColumns({"__nearest": nearest, "__farthest": farthest}).where("__nearest <= __farthest")
    each = some.withColumn(_BACK, F.expr("explode(sequence(__nearest, __farthest))"))
    end = last - F.col(_BACK) * (pane // _MICROSECOND)
    start = (end if isinstance(window, Hop) else last) - window.size // _MICROSECOND
    return each.withColumns({END: F.timestamp_micros(end), _START: F.timestamp_micros(start)})


def _micros(panes: DataFrame, name: str, at: datetime) -> Column:
    """An instant, which may be given with the panes: of a literal Spark makes a number while it plans."""
    return F.unix_micros(F.col(name) if name in panes.columns else F.lit(at))


def _keys(stage: Aggregate) -> list[Named]:
    """The keys that are not bounds of windows."""
    return [key for key in stage.keys if not _role(stage, key)]


def _names(stage: Aggregate) -> list[Column]:
    return [F.col(f"`{key.name}`") for key in _keys(stage)]


def _role(stage: Aggregate, key: Named) -> Role | None:
    column = stage.input.column(key.expression.reads[0]) if key.expression.is_column else None
    return column.role if column and column.role and column.role.bounds_window else None
