"""Frames in time as differences of running totals.

Spark adds up the rows of a frame anew for every row: over an hour with a thousand rows that is a thousand steps for
each of them. What adds up exactly is found in two: the total of all rows up to the end of the frame, less the total of
those before its start. Both only grow from row to row, so that Spark carries them on.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pyarrow as pa
from sqlglot import exp

from headwater.model import spell_type
from headwater.operators import Call
from headwater.operators.aggregate.lowering.stable import quotient, taken_apart, unchanged
from headwater.operators.aggregate.panes import is_exact_average
from headwater.operators.lowering.stamp import interval_of
from headwater.sql import spell

_MICROSECOND = timedelta(microseconds=1)
_DIGITS = 38


def over_of(window: exp.Window) -> str:
    """The OVER of a window, as it stands behind an aggregate."""
    parts = {name: part for name, part in window.args.items() if name in ("partition_by", "order", "spec")}
    nothing = exp.Var(this="")
    return f" {spell(exp.Window(this=nothing, over='OVER', **parts)).strip()}"


def adds_up_exactly(call: Call) -> bool:
    """Tells whether a call's value over some rows follows from its totals over more rows, and over the rest of them."""
    kind = call.expression.type
    has_room = not pa.types.is_decimal(kind) or kind.precision < _DIGITS
    return has_room and (call.adds_up or is_exact_average(call))


def between_totals(call: Call, window: exp.Window, start: timedelta) -> str:
    """The value of a call that adds up, over a frame that begins so long before a row."""
    growing = _Growing(window, start)
    if call.function in ("count", "count_if"):
        return growing.difference(lambda over: unchanged(call, over))
    value, kind = taken_apart(call).arguments[0], call.expression.type
    summed = value if pa.types.is_decimal(kind) else f"CAST({value} AS DECIMAL({_DIGITS}, 0))"
    count = growing.difference(lambda over: taken_apart(call, over).of("count", value))
    total = growing.difference(lambda over: taken_apart(call, over).of("sum", summed))
    result = f"CAST({total} AS {spell_type(kind)})" if call.adds_up else quotient(kind, total, count)
    return f"CASE WHEN {count} > 0 THEN {result} END"


class _Growing:
    """The two frames that only grow: up to the end of a frame, and up to what comes before its start."""

    def __init__(self, window: exp.Window, start: timedelta) -> None:
        growing = window.copy()
        growing.args["spec"].set("start", "UNBOUNDED")
        growing.args["spec"].set("start_side", "PRECEDING")
        self.whole = over_of(growing)
        growing.args["spec"].set("end", interval_of(start + _MICROSECOND))
        growing.args["spec"].set("end_side", "PRECEDING")
        self.before = over_of(growing)

    def difference(self, aggregate: Callable[[str], str]) -> str:
        """A total over the frame, of an aggregate that is spelled for an OVER."""
        return f"(coalesce({aggregate(self.whole)}, 0) - coalesce({aggregate(self.before)}, 0))"
