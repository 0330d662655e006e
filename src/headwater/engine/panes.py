"""Panes: rows aggregated by pane, and windows combined from panes (see `plan.panes`).

A row that is late for the first of its windows may be in time for the last ones. How many of its last windows admit it
is kept beside it (`WINDOWS`), and a pane is taken apart by it: the rows of a group are in the very same windows. So a
window has the rows that it would have if each row were copied into all of its windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.engine.aggregate import ordered, stable, taken_apart
from headwater.engine.join import MARK
from headwater.engine.stamp import END, POSITION, STAMP, WINDOWS, later
from headwater.engine.window import Spread, whole
from headwater.model import Cumulate, Hop, spell_type
from headwater.plan.functions import Stability
from headwater.plan.panes import UNIONS, Merge, merge_of, pane_of
from headwater.plan.stages import Aggregate, Call, Named, Role

_MICROSECOND, _MILLISECOND = timedelta(microseconds=1), timedelta(milliseconds=1)
_BACK, _START = "__back", "__start"
_MOMENTS = ("n", "x", "xx")
_COMOMENTS = ("n", "x", "y", "xx", "yy", "xy")
_OF_MOMENTS = {
    "var_pop": "s.xx / s.n",
    "var_samp": "if(s.n > 1, s.xx / (s.n - 1), NULL)",
    "covar_pop": "s.xy / s.n",
    "covar_samp": "if(s.n > 1, s.xy / (s.n - 1), NULL)",
    "corr": "if(s.xx > 0 AND s.yy > 0, s.xy / sqrt(s.xx * s.yy), NULL)",
}
_SAME = {"variance": "var_samp", "stddev": "stddev_samp", "std": "stddev_samp"}


@dataclass(frozen=True)
class Needed:
    """Which windows are asked for: those that end after an instant, and up to another."""

    after: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True)
class Combined:
    """An aggregate in two steps: `parts` over the rows of a pane, and `whole` over the parts of a window's panes."""

    parts: dict[str, str]
    whole: str


def admitting(frame: DataFrame, spread: Spread, grace: timedelta) -> DataFrame:
    """The rows that some window admits, with the number of their last windows that do in `WINDOWS`."""
    ended = F.unix_micros(STAMP) - grace // _MICROSECOND
    first = F.greatest(F.lit(spread.first), spread.after(ended))
    windows = F.when(first <= spread.last, spread.last + 1 - first).otherwise(0).cast("int")
    return frame.withColumn(WINDOWS, windows).where(F.col(WINDOWS) > 0)


def combine(stage: Aggregate, rows: DataFrame, window: Hop | Cumulate, needed: Needed) -> DataFrame:
    """The groups of an aggregate, with its keys, its calls, and the end of their window in `MARK`."""
    keys = [key for key in stage.keys if not _role(stage, key)]
    names = [F.col(f"`{key.name}`") for key in keys]
    combined = {call.name: _combined(call, number) for number, call in enumerate(stage.aggregates)}
    parts = [F.expr(sql).alias(name) for found in combined.values() for name, sql in found.parts.items()]
    named = [F.expr(key.expression.sql).alias(key.name) for key in keys]
    panes = rows.groupBy(*named, MARK, WINDOWS).agg(*(parts or [_any()]))
    groups = _windows(panes, window, needed).groupBy(*names, END, _START)
    whole_calls = [F.expr(found.whole).alias(name) for name, found in combined.items()]
    frame = groups.agg(*(whole_calls or [_any()]))
    bounds = {
        Role.WINDOW_START: F.col(_START),
        Role.WINDOW_END: F.col(END),
        Role.WINDOW_TIME: later(F.col(END), -_MILLISECOND),
    }
    found = {key.name: bounds[role] for key in stage.keys if (role := _role(stage, key))}
    return frame.withColumns(found | {MARK: F.col(END)})


def _windows(panes: DataFrame, window: Hop | Cumulate, needed: Needed) -> DataFrame:
    """Each group of a pane once per window that is asked for, counted back from the last."""
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


def _role(stage: Aggregate, key: Named) -> Role | None:
    found = stage.input.column(key.expression.reads[0]) if key.expression.is_column else None
    return found.role if found and found.role and found.role.bounds_window else None


# Aggregates in two steps


def _combined(call: Call, number: int) -> Combined:
    merge, own = merge_of(call), f"__part{number}"
    match merge:
        case Merge.SUM:
            return _cast(own, stable(call, POSITION), call)
        case Merge.AVERAGE:
            return _average(call, own)
        case Merge.ORDER:
            return _by_order(call, own)
        case Merge.MOMENTS:
            return _moments(call, own)
        case Merge.COMOMENTS:
            return _comoments(call, own)
        case Merge.UNION:
            return Combined({own: call.expression.sql}, _union(call, own))
        case _:
            return Combined({own: call.expression.sql}, f"{call.function}({own})")


def _cast(own: str, part: str, call: Call) -> Combined:
    """A sum of sums, which has more digits than the sum."""
    total = f"sum({own})"
    wider = pa.types.is_decimal(call.expression.type)
    return Combined({own: part}, f"CAST({total} AS {spell_type(call.expression.type)})" if wider else total)


def _union(call: Call, own: str) -> str:
    """Sketches united at the size at which they were made."""
    sizes = taken_apart(call).arguments[1:]
    sized = sizes if UNIONS[call.function.lower()].startswith(("theta", "kll")) else []
    return f"{UNIONS[call.function.lower()]}({', '.join([own, *sized])})"


def _average(call: Call, own: str) -> Combined:
    taken, kind = taken_apart(call), call.expression.type
    value, count = taken.arguments[0], f"{own}n"
    counted = {count: f"count({value}){taken.condition}"}
    if pa.types.is_decimal(kind):  # the value of a DECIMAL has four digits more than its argument, the sum ten
        total = f"CAST(sum({own}) AS DECIMAL({kind.precision + 6}, {kind.scale - 4})) / sum({count})"
        total = f"CAST({total} AS {spell_type(kind)})"
    else:
        total = f"CAST(sum({own}) AS DOUBLE) / CAST(sum({count}) AS DOUBLE)"
        value = f"CAST({value} AS {'DECIMAL(38, 0)' if call.stability is Stability.REWRITTEN else 'DOUBLE'})"
    return Combined({own: f"sum({value}){taken.condition}", **counted}, f"CASE WHEN sum({count}) > 0 THEN {total} END")


def _by_order(call: Call, own: str) -> Combined:
    found, order = ordered(call, POSITION), f"{own}o"
    assert found is not None
    extreme = found.function.removesuffix("_by")
    parts = {own: str(found), order: f"{extreme}({found.order}){found.condition}"}
    return Combined(parts, f"{found.function}({own}, {order})")


def _moments(call: Call, own: str) -> Combined:
    taken = taken_apart(call)
    value = f"CAST({taken.arguments[0]} AS DOUBLE)"
    sums = {"n": f"count({value})", "x": f"avg({value})", "xx": f"var_pop({value})"}
    parts = {f"{own}{name}": f"{sql}{taken.condition}" for name, sql in sums.items()}
    name = _SAME.get(call.function.lower(), call.function.lower())
    result = _OF_MOMENTS[name.replace("stddev", "var")]
    return Combined(parts, _folded(own, _MOMENTS, f"sqrt({result})" if name.startswith("stddev") else result))


def _comoments(call: Call, own: str) -> Combined:
    taken = taken_apart(call)
    x, y = (f"CAST({value} AS DOUBLE)" for value in taken.arguments)
    both = taken.where(f"{x} IS NOT NULL", f"{y} IS NOT NULL")
    sums = {"n": "count(1)", "x": f"avg({x})", "y": f"avg({y})"}
    sums |= {"xx": f"var_pop({x})", "yy": f"var_pop({y})", "xy": f"covar_pop({x}, {y})"}
    parts = {f"{own}{name}": f"{sql}{both}" for name, sql in sums.items()}
    return Combined(parts, _folded(own, _COMOMENTS, _OF_MOMENTS[call.function.lower()]))


def _folded(own: str, names: tuple[str, ...], result: str) -> str:
    """Means and sums of squares of several groups as those of all, by their differences: nothing is lost by rounding.

    A pane has the mean of the squares, which its count makes a sum of them.
    """
    count = f"CAST({own}n AS DOUBLE)"
    values = [f"{count} AS n", *(f"{own}{name}{_times(name, count)} AS {name}" for name in names[1:])]
    panes = f"collect_list(struct({', '.join(values)})) FILTER (WHERE {own}n > 0)"
    none = f"struct({', '.join(f'0D AS {name}' for name in names)})"
    added = ", ".join(f"{_added(name)} AS {name}" for name in names)
    return f"aggregate({panes}, {none}, (s, b) -> struct({added}), s -> if(s.n > 0, {result}, NULL))"


def _times(name: str, count: str) -> str:
    return f" * {count}" if len(name) > 1 else ""


def _added(name: str) -> str:
    if name == "n":
        return "s.n + b.n"
    if len(name) == 1:
        return f"s.{name} + (b.{name} - s.{name}) * b.n / (s.n + b.n)"
    one, other = name[0], name[1]
    return f"s.{name} + b.{name} + (b.{one} - s.{one}) * (b.{other} - s.{other}) * s.n * b.n / (s.n + b.n)"
