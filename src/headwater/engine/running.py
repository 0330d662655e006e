"""Frames in time as differences of running totals.

Spark adds up the rows of a frame anew for every row: over an hour with a thousand rows that is a thousand steps for
each of them. What adds up exactly is found in two: the total of all rows up to the end of the frame, less the total of
those before its start. Both only grow from row to row, so that Spark carries them on.
"""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
from sqlglot import exp

from headwater.engine.aggregate import taken_apart
from headwater.engine.stamp import spell_interval
from headwater.model import spell_type
from headwater.plan.additive import adds_up
from headwater.plan.calls import is_aggregate
from headwater.plan.panes import is_exact_average
from headwater.plan.stages import Call
from headwater.sql import parse_expression, spell

_MICROSECOND = timedelta(microseconds=1)
_DIGITS = 38


def over(text: str, window: exp.Window) -> str:
    """An expression of aggregates with the same OVER behind each of them."""
    root = exp.Paren(this=parse_expression(text))
    parts = {name: window.args.get(name) for name in ("partition_by", "order", "spec")}
    for found in [node for node in root.walk(prune=is_aggregate) if is_aggregate(node)]:
        copies = {name: _copied(part) for name, part in parts.items()}
        found.replace(exp.Window(this=_unfiltered(found.copy()), over="OVER", **copies))
    return spell(root.this)


def when(condition: exp.Expr, value: exp.Expr) -> exp.Case:
    """The value where a condition is true, else NULL."""
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def adds_up_exactly(call: Call) -> bool:
    """Whether the value of a call over some rows follows from its totals over more rows, and over the rest of them."""
    kind = call.expression.type
    has_room = not pa.types.is_decimal(kind) or kind.precision < _DIGITS
    return has_room and (adds_up(call) or is_exact_average(call))


def between_totals(call: Call, window: exp.Window, start: timedelta) -> str:
    """The value of a call that adds up, over a frame that begins so long before a row."""
    growing = _Growing(window, start)
    if call.function in ("count", "count_if"):
        return growing.difference(call.expression.sql)
    taken, kind = taken_apart(call), call.expression.type
    value = taken.arguments[0]
    summed = value if pa.types.is_decimal(kind) else f"CAST({value} AS DECIMAL({_DIGITS}, 0))"
    count = growing.difference(f"count({value}){taken.condition}")
    total = growing.difference(f"sum({summed}){taken.condition}")
    return f"CASE WHEN {count} > 0 THEN {_value(call, total, count)} END"


def _value(call: Call, total: str, count: str) -> str:
    kind = call.expression.type
    if adds_up(call):
        return f"CAST({total} AS {spell_type(kind)})"
    if pa.types.is_decimal(kind):  # the value of a DECIMAL has four digits more than its argument, the sum ten
        return f"CAST(CAST({total} AS DECIMAL({kind.precision + 6}, {kind.scale - 4})) / {count} AS {spell_type(kind)})"
    return f"CAST({total} AS DOUBLE) / CAST({count} AS DOUBLE)"


class _Growing:
    """The two frames that only grow: up to the end of a frame, and up to what comes before its start."""

    def __init__(self, window: exp.Window, start: timedelta) -> None:
        self.whole, self.before = window.copy(), window.copy()
        for growing in (self.whole, self.before):
            growing.args["spec"].set("start", "UNBOUNDED")
            growing.args["spec"].set("start_side", "PRECEDING")
        self.before.args["spec"].set("end", parse_expression(spell_interval(start + _MICROSECOND)))
        self.before.args["spec"].set("end_side", "PRECEDING")

    def difference(self, aggregate: str) -> str:
        """A total over the frame."""
        return f"(coalesce({over(aggregate, self.whole)}, 0) - coalesce({over(aggregate, self.before)}, 0))"


def _copied(part: exp.Expr | list[exp.Expr] | None) -> exp.Expr | list[exp.Expr] | None:
    return [found.copy() for found in part] if isinstance(part, list) else part.copy() if part else None


def _unfiltered(node: exp.Expr) -> exp.Expr:
    """Spark takes no FILTER with OVER: what the condition keeps out is NULL instead, which aggregates leave out."""
    if not isinstance(node, exp.Filter):
        return node
    call: exp.Expr = node.this
    condition = node.expression.this
    name = "expression" if isinstance(call, exp.ArgMax | exp.ArgMin) else "this"
    if isinstance(call, exp.Anonymous):
        call.expressions[0].replace(when(condition, call.expressions[0]))
    else:
        argument = exp.Literal.number(1) if isinstance(call.args[name], exp.Star) else call.args[name]
        call.set(name, when(condition, argument))
    return call
