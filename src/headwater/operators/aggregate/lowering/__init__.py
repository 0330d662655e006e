"""Aggregate, lowered: groups of rows, of panes or of totals, and sessions."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.model import Cumulate, Hop, Session, Tumble
from headwater.operators import Aggregate, Named, Role
from headwater.operators.aggregate.lowering.panes import panes_of, windows_of
from headwater.operators.aggregate.lowering.parts import groups_of_parts, parts_of
from headwater.operators.aggregate.lowering.sessions import (
    ALL,
    BEGAN,
    SESSION,
    parts_of_sessions,
    sessions_of,
    sessions_of_parts,
)
from headwater.operators.aggregate.lowering.stable import stable
from headwater.operators.aggregate.lowering.totals import UNTIL, groups_of, totals_of
from headwater.operators.assign.stage import assigned_below
from headwater.operators.lowering.columns import columns_of, every, named_column, values_of
from headwater.operators.lowering.ends import MILLISECOND
from headwater.operators.lowering.ledger import Rows
from headwater.operators.lowering.stamp import (
    COMMIT,
    END,
    FINAL,
    FOREVER,
    KEEP,
    MARK,
    NEW,
    POSITION,
    ROW,
    barrier,
    later,
)
from headwater.operators.lowering.trace import behind, gathered
from headwater.operators.lowering.walk import Lowering, lowered, taken_in

_TOO_LONG = "a session is longer than the horizon that the view states"


@lowered.register
def _(stage: Aggregate, lowering: Lowering) -> Rows:
    return _sessions(stage, lowering) if stage.is_of_sessions else _groups(stage, lowering)


def _groups(stage: Aggregate, lowering: Lowering) -> Rows:
    """One row per group. The bounds of a window follow from its end: as a key that alone is enough."""
    paned = lowering.physical.panes_of(stage)
    if lowering.needed is not None and paned is not None:
        assert isinstance(paned, Aggregate) and isinstance(stage.window, Hop | Cumulate)
        needed = lowering.needed.of(stage)
        panes = needed.panes if needed.panes is not None else gather(paned, lowering)
        return Rows(_finished(stage, windows_of(paned, panes, stage.window, needed), F.col(MARK)))
    if lowering.totals is not None and stage is lowering.totals[0]:
        return Rows(_finished(stage, groups_of(stage, lowering.totals[1]), F.col(UNTIL)))
    if lowering.parts is not None and stage is lowering.parts.stage:
        return Rows(_finished(stage, _added_to(stage, lowering), F.col(MARK)))
    rows = lowering.keyed(stage.input, stage.group_keys)
    if stage.is_endless:
        # whatever is shown of a group that has no end is open, and nothing can be what is left of one
        calls = *_calls(stage), F.max(MARK).alias(FINAL), *gathered(rows.frame)
        grouped = rows.frame.groupBy(*map(named_column, stage.keys)).agg(*calls)
        return Rows(_finished(stage, grouped, F.coalesce(F.col(FINAL), F.lit(FOREVER))))
    bounds = _bounds_by_end(stage, F.col(MARK))
    grouped = rows.frame.groupBy(*(named_column(key) for key in stage.keys if key.name not in bounds), MARK)
    made = grouped.agg(*_calls(stage), *gathered(rows.frame)).withColumns(bounds)
    return Rows(_finished(stage, made, F.col(MARK)))


def _added_to(stage: Aggregate, lowering: Lowering) -> DataFrame:
    """Groups with new rows, from the parts of these and those that are known."""
    assert lowering.parts is not None and lowering.settled_at is not None
    bounds = _bounds_by_end(stage, F.col(MARK))
    new = new_parts(stage, lowering)
    return groups_of_parts(stage, new, lowering.parts.known, bounds, lowering.settled_at)


def new_parts(stage: Aggregate, lowering: Lowering) -> DataFrame:
    """The parts of groups that their new rows come to; of all rows, where none are told to be new."""
    assert lowering.parts is not None
    of_sessions = isinstance(stage.window, Session)
    entered = _in_session_order(stage, lowering) if of_sessions else lowering.keyed(stage.input, stage.group_keys)
    rows = entered.frame
    if lowering.parts.only_new and NEW in rows.columns:
        rows = rows.where(F.col(NEW))
    if isinstance(stage.window, Session):
        return parts_of_sessions(stage, rows, _keys_of(stage), stage.window.gap)
    return parts_of(stage, rows, _bounds_by_end(stage, F.col(MARK)))


def gather(stage: Aggregate, lowering: Lowering) -> DataFrame:
    """The panes of an aggregate, from the rows of the log."""
    return panes_of(stage, lowering.enter(lowering.lower(stage.input), stage.input, F.col(END)).frame)


def total(stage: Aggregate, lowering: Lowering, gone_since: datetime | None = None) -> DataFrame:
    """The totals of groups without an end, of the rows that count; or of those that no longer do, since then."""
    if gone_since is None:
        return totals_of(stage, lowering.retained(stage.input).frame)
    counted, now = lowering.counting(stage.input).frame, F.lit(lowering.settled_at)
    return totals_of(stage, counted.where((F.col(MARK) > F.lit(gone_since)) & (F.col(MARK) <= now)))


def _sessions(stage: Aggregate, lowering: Lowering) -> Rows:
    assert isinstance(stage.window, Session)
    if lowering.parts is not None and stage is lowering.parts.stage:
        assert lowering.settled_at is not None
        names = [key.name for key in _session_keys(stage)] or [ALL]
        new, known = new_parts(stage, lowering), lowering.parts.known
        frame = sessions_of_parts(stage, new, known, names, lowering.settled_at)
        start, end = F.col(BEGAN), F.col(MARK)
    else:
        rows = _in_session_order(stage, lowering).frame
        frame = sessions_of(rows, _keys_of(stage), stage.window.gap, [*_calls(stage), *gathered(rows)])
        # a filter on a session's bounds would be pushed below the merge, where each row is a session of its own
        frame = barrier(frame, f"sessions{next(lowering.numbers)}", every())
        start, end = F.col(f"{SESSION}.start"), F.col(f"{SESSION}.end")
    if (
        lowering.settled and lowering.horizon is not None
    ):  # a slice may not have all of it: no number is better than a wrong one
        longest, too_long = later(start, lowering.horizon), F.raise_error(F.lit(_TOO_LONG)).cast("timestamp")
        end = F.when(end > longest, too_long).otherwise(end)
    bounds = {
        Role.WINDOW_START: start,
        Role.WINDOW_END: end,
        Role.WINDOW_TIME: later(end, -MILLISECOND),
    }
    shown = [
        bounds[role].alias(key.name) if (role := _bound(stage, key)) else F.col(f"`{key.name}`") for key in stage.keys
    ]
    calls = (F.col(f"`{call.name}`") for call in stage.aggregates)
    beside = [F.col(name) for name in (SESSION, BEGAN, MARK) if name in frame.columns]
    return Rows(_finished(stage, frame.select(*shown, *calls, *behind(frame), *beside), end))


def _in_session_order(stage: Aggregate, lowering: Lowering) -> Rows:
    """Rows as they enter sessions: marked by when they happen."""
    assert isinstance(stage.window, Session)
    return lowering.enter(lowering.lower(stage.input), stage.input, later(F.col(END), -stage.window.gap))


def _session_keys(stage: Aggregate) -> list[Named]:
    return [key for key in stage.keys if not _bound(stage, key)]


def _keys_of(stage: Aggregate) -> list[Column]:
    return [named_column(key) for key in _session_keys(stage)] or [F.col(MARK).isNull().alias(ALL)]


@taken_in.register
def _(stage: Aggregate, frame: DataFrame, _side: int) -> DataFrame:
    frame = frame.withColumn(POSITION, F.struct(COMMIT, ROW))
    own = frame.groupBy(*values_of(stage.group_keys), COMMIT, ROW)
    calls = [F.expr(stable(call, POSITION)) for call in stage.aggregates]
    return own.agg(*(calls or [F.count(F.lit(1))]))


def _calls(stage: Aggregate) -> list[Column]:
    calls = [F.expr(stable(call, POSITION)).alias(call.name) for call in stage.aggregates]
    return calls or [every()]


def _finished(stage: Aggregate, frame: DataFrame, final: Column) -> DataFrame:
    keep = F.lit(True) if stage.having is None else F.coalesce(F.expr(stage.having.sql), F.lit(False))
    keys = [F.col(f"`{key.name}`") for key in stage.keys]  # they tell the rows apart, and so decide ties behind this
    position = F.struct(*keys).alias(POSITION)
    return frame.select(*columns_of(stage), position, final.alias(FINAL), keep.alias(KEEP), *behind(frame))


def _bounds_by_end(stage: Aggregate, end: Column) -> dict[str, Column]:
    """The keys that are bounds of windows of one size, and what they are where a window ends."""
    below = assigned_below(stage)
    if below is None or not isinstance(below.window, Tumble | Hop) or not below.input.is_stateless:
        return {}
    start, last = later(end, -below.window.size), later(end, -MILLISECOND)
    bounds = {Role.WINDOW_START: start, Role.WINDOW_END: end, Role.WINDOW_TIME: last}
    return {key.name: bounds[role] for key in stage.keys if (role := _bound(stage, key))}


def _bound(stage: Aggregate, key: Named) -> Role | None:
    """The bound of a window that a key is, if it is one."""
    column = stage.input.column_of(key.expression)
    return column.role if column is not None and column.is_window_bound else None
