"""The form of an aggregate call: what may stand beside its arguments, and where that means something.

`DISTINCT`, `IGNORE NULLS`, `ORDER BY` and `WITHIN GROUP` are read for every call, and mean something for few. An order
matters to a list, to a text joined of many, and to the first or last of several values; equal rows follow the log. Of
distinct values only their own order can be asked for: which of several rows a value comes from isn't known.
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from headwater.findings import NotSupportedYet, QueryRefused
from headwater.plan.calls import call_of, unwrapped
from headwater.plan.context import Context
from headwater.plan.expression import text

LISTS = {"collect_list", "array_agg"}
JOINED = {"listagg", "string_agg"}
CHOSEN = {"first", "first_value", "any_value", "last", "last_value"}
"""Aggregates that give the value of one row of several."""
_ORDERED = LISTS | JOINED | CHOSEN
_WITHIN_GROUP = JOINED | {"mode", "percentile_cont", "percentile_disc"}
_IGNORING = CHOSEN | {"nth_value", "lag", "lead"}
_DISTINCT = {"count", "sum", "avg", "mean", "collect_set", *LISTS, *JOINED}
_DISTINCT |= {"min", "max", "bool_and", "bool_or", "every", "some", "any", "bit_and", "bit_or"}
_WHOLE = {"median", "percentile", "percentile_cont", "percentile_disc"}
"""Aggregates that Spark computes over a partition, and not over the rows of a frame."""
_OF_SETS = {"grouping", "grouping_id"}


def check_form(context: Context, node: exp.Expr, kind: pa.DataType, window: exp.Window | None = None) -> None:
    """Report what stands beside the arguments of an aggregate call, of this type, and means nothing there."""
    call = call_of(node)
    if call is None:
        return
    name, order = call.info.name, node.find(exp.Order)
    if name in _OF_SETS and (window is not None or isinstance(node, exp.Filter)):
        hint = "Leave FILTER and OVER out."
        context.refuse(QueryRefused, f'asks "{name}" about rows, but it speaks of a group', node, hint=hint)
    ignoring = node.find(exp.IgnoreNulls, exp.RespectNulls)
    if ignoring is not None and name not in _IGNORING:
        hint = "Leave the words out, or filter with FILTER (WHERE … IS NOT NULL)."
        context.refuse(QueryRefused, f'tells "{name}" what to do with NULLs, which it has a rule for', node, hint=hint)
    if order is not None:
        _check_order(context, name, order, window)
    if window is not None and name in _WHOLE and (window.args.get("order") or window.args.get("spec")):
        hint = "Leave ORDER BY and the frame out of OVER, or aggregate in a subquery."
        context.refuse(QueryRefused, f'gives "{name}" a frame, but it looks at a whole partition', node, hint=hint)
    _check_distinct(context, node, name, kind, order)


def _check_order(context: Context, name: str, order: exp.Order, window: exp.Window | None) -> None:
    is_within = isinstance(order.parent, exp.WithinGroup)
    if is_within and name not in _WITHIN_GROUP:
        hint = "Leave WITHIN GROUP out, or write ORDER BY among the arguments of a list."
        context.refuse(QueryRefused, f'gives "{name}" a WITHIN GROUP, which it hasn\'t', order, hint=hint)
    elif not is_within and name not in _ORDERED:
        hint = "Leave ORDER BY out; min_by(value, order) and max_by give the value of the first and the last row."
        context.refuse(QueryRefused, f'orders the rows of "{name}", which takes them in any order', order, hint=hint)
    elif window is not None and not (is_within and name not in JOINED):
        hint = "Write ORDER BY in OVER, and no other."
        context.refuse(QueryRefused, f'orders the rows of "{name}" in it and in OVER', order, hint=hint)


def _check_distinct(context: Context, node: exp.Expr, name: str, kind: pa.DataType, order: exp.Order | None) -> None:
    distinct = next((part for part in unwrapped(node).find_all(exp.Distinct)), None)
    if distinct is None:
        return
    if name not in _DISTINCT or (name in ("avg", "mean") and not pa.types.is_float64(kind)):
        of = " of DECIMAL" if name in _DISTINCT else ""
        what = f"uses {name}(DISTINCT …){of}, which has no executor in this version"
        hint = "count, sum, avg of numbers that are not DECIMAL, min, max, lists and listagg can be DISTINCT."
        context.refuse(NotSupportedYet, what, node, hint=hint)
    elif order is not None:
        terms = [text(term.this) for term in order.expressions]
        if terms != [text(distinct.expressions[0])]:
            hint = f"Order by {text(distinct.expressions[0])} alone, or leave DISTINCT or ORDER BY out."
            context.refuse(QueryRefused, "orders distinct values by something else than themselves", order, hint=hint)
