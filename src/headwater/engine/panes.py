"""Panes: rows aggregated by pane, and windows combined from panes (see `plan.panes`).

A row that is late for the first of its windows may be in time for the last ones. How many of its last windows admit it
is kept beside it (`WINDOWS`), and a pane is taken apart by it: the rows of a group are in the very same windows. So a
window has the rows that it would have if each row were copied into all of its windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.engine.join import MARK
from headwater.engine.merge import merged_by
from headwater.engine.stamp import END, STAMP, WINDOWS, later
from headwater.engine.window import Spread, whole
from headwater.model import Cumulate, Hop
from headwater.plan.panes import pane_of
from headwater.plan.stages import Aggregate, Named, Role, Stage

_MICROSECOND, _MILLISECOND = timedelta(microseconds=1), timedelta(milliseconds=1)
_BACK, _START = "__back", "__start"


@dataclass(frozen=True)
class Needed:
    """Which groups of a stage are asked for: those that end after an instant, and up to another.

    What another stage may look at is not known. Where the panes of a view are `given` they are not made from the rows
    of the log.
    """

    stage: Stage | None = None
    after: datetime | None = None
    until: datetime | None = None
    given: DataFrame | None = None

    def of(self, stage: Stage) -> Needed:
        """What is asked for of a stage."""
        return self if stage is self.stage else Needed()

    def cut(self, rows: DataFrame) -> DataFrame:
        """The rows of the groups that are asked for."""
        rows = rows if self.after is None else rows.where(F.col(MARK) > F.lit(self.after))
        return rows if self.until is None else rows.where(F.col(MARK) <= F.lit(self.until))


def admitting(frame: DataFrame, spread: Spread, grace: timedelta) -> DataFrame:
    """The rows that some window admits, with the number of their last windows that do in `WINDOWS`."""
    ended = F.unix_micros(STAMP) - grace // _MICROSECOND
    first = F.greatest(F.lit(spread.first), spread.after(ended))
    windows = F.when(first <= spread.last, spread.last + 1 - first).otherwise(0).cast("int")
    return frame.withColumn(WINDOWS, windows).where(F.col(WINDOWS) > 0)


def panes_of(stage: Aggregate, rows: DataFrame) -> DataFrame:
    """The panes of an aggregate, made of rows: its keys, the end of the last window in `MARK`, and parts of calls."""
    keys = [F.expr(key.expression.sql).alias(key.name) for key in _keys(stage)]
    parts = {name: sql for found in merged_by(stage).values() for name, sql in found.parts.items()}
    return rows.groupBy(*keys, MARK, WINDOWS).agg(*(_named(parts) or [_any()]))


def compacted(stage: Aggregate, panes: DataFrame) -> DataFrame:
    """Panes of which several may be one, each as one."""
    merged = {name: sql for found in merged_by(stage).values() for name, sql in found.merged.items()}
    return panes.groupBy(*_names(stage), MARK, WINDOWS).agg(*(_named(merged) or [_any()]))


def windows_of(stage: Aggregate, panes: DataFrame, window: Hop | Cumulate, needed: Needed) -> DataFrame:
    """The groups of an aggregate, combined of panes: its keys, its calls, and the end of their window in `MARK`."""
    wholes = {name: found.whole for name, found in merged_by(stage).items()}
    groups = _copied(panes, window, needed).groupBy(*_names(stage), END, _START)
    frame = groups.agg(*(_named(wholes) or [_any()]))
    bounds = {
        Role.WINDOW_START: F.col(_START),
        Role.WINDOW_END: F.col(END),
        Role.WINDOW_TIME: later(F.col(END), -_MILLISECOND),
    }
    found = {key.name: bounds[role] for key in stage.keys if (role := _role(stage, key))}
    return frame.withColumns(found | {MARK: F.col(END)})


def _copied(panes: DataFrame, window: Hop | Cumulate, needed: Needed) -> DataFrame:
    """Each pane once per window that is asked for, counted back from the last."""
    last, pane = F.unix_micros(MARK), pane_of(window)
    nearest, farthest = F.lit(0).cast("bigint"), F.col(WINDOWS).cast("bigint") - 1
    if needed.until is not None:
        nearest = F.greatest(nearest, whole(last - _micros(needed.until) + (pane // _MICROSECOND - 1), pane))
    if needed.after is not None:
        farthest = F.least(farthest, whole(last - _micros(needed.after) - 1, pane))
    some = panes.withColumns({"__nearest": nearest, "__farthest": farthest}).where("__nearest <= __farthest")
    each = some.withColumn(_BACK, F.expr("explode(sequence(__nearest, __farthest))"))
    end = last - F.col(_BACK) * (pane // _MICROSECOND)
    start = (end if isinstance(window, Hop) else last) - window.size // _MICROSECOND
    return each.withColumns({END: F.timestamp_micros(end), _START: F.timestamp_micros(start)})


def _micros(at: datetime) -> Column:
    return F.unix_micros(F.lit(at))


def _any() -> Column:
    return F.count(F.lit(1)).alias("__rows")


def _named(columns: dict[str, str]) -> list[Column]:
    return [F.expr(sql).alias(name) for name, sql in columns.items()]


def _keys(stage: Aggregate) -> list[Named]:
    """The keys that are not bounds of windows."""
    return [key for key in stage.keys if not _role(stage, key)]


def _names(stage: Aggregate) -> list[Column]:
    return [F.col(f"`{key.name}`") for key in _keys(stage)]


def _role(stage: Aggregate, key: Named) -> Role | None:
    found = stage.input.column(key.expression.reads[0]) if key.expression.is_column else None
    return found.role if found and found.role and found.role.bounds_window else None
