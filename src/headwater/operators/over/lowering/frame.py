"""Frames that count rows in a partition without an end: the rows of the frame that are within the horizon.

The rows of such a frame are gathered in a list, each with its place in the partition, its time and its value. Those
farther away than the horizon are left out, and what remains is folded: the frame of a row is the same whatever else of
the partition an execution has read.
"""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
from sqlglot import exp

from headwater.model import spell_type
from headwater.operators import Frame, OverCall
from headwater.operators.aggregate.lowering.stable import folded
from headwater.operators.lowering.columns import partition_by
from headwater.operators.lowering.stamp import POSITION, spell_interval
from headwater.sql import spell
from headwater.sql.spelling import spell_name

_ELEMENTS = {"first": "1", "first_value": "1", "any_value": "1", "last": "-1", "last_value": "-1"}


def cut(call: OverCall, row_number: str, time: str, horizon: timedelta) -> str:
    """The value of a call over the rows of its ROWS frame that are at most the horizon away, in Spark SQL."""
    assert call.frame is not None
    tree = call.expression.tree
    assert isinstance(tree, exp.Window)
    function, condition, ignores = _taken_apart(tree.this)
    argument = _argument(function)
    value = f"CASE WHEN {condition} THEN {argument or 1} END" if condition else argument or "1"
    rows = _rows(call, value, row_number, spell_name(time), horizon)
    if argument is None or call.function == "count_if":
        kept = "s.v" if call.function == "count_if" else "s.v IS NOT NULL"
        return f"CAST(size(filter({rows}, s -> coalesce({kept}, false))) AS BIGINT)"
    if call.function in _ELEMENTS or call.function == "nth_value":
        number = _ELEMENTS.get(call.function) or spell(function.args["offset"])
        chosen = f"filter({rows}, s -> s.v IS NOT NULL)" if ignores else rows
        return f"try_element_at({chosen}, {number}).v"
    values = f"transform(filter({rows}, s -> s.v IS NOT NULL), s -> s.v)"
    return _folded(call, f"array_distinct({values})" if function.find(exp.Distinct) else values)


def _taken_apart(node: exp.Expr) -> tuple[exp.Expr, str | None, bool]:
    """The call itself, the condition of its FILTER, and whether it ignores NULLs."""
    condition = spell(node.expression.this) if isinstance(node, exp.Filter) else None
    node = node.this if isinstance(node, exp.Filter) else node
    ignores = isinstance(node, exp.IgnoreNulls)
    return (node.this if isinstance(node, exp.IgnoreNulls | exp.RespectNulls) else node), condition, ignores


def _argument(function: exp.Expr) -> str | None:
    """The argument that a call aggregates, None if rows."""
    aggregated = function.expressions[0] if isinstance(function, exp.Anonymous) else function.this
    if not isinstance(aggregated, exp.Distinct):
        return None if isinstance(aggregated, exp.Star) else spell(aggregated)
    texts = [spell(part) for part in aggregated.expressions]
    known = " AND ".join(f"{text} IS NOT NULL" for text in texts)
    return texts[0] if len(texts) == 1 else f"CASE WHEN {known} THEN struct({', '.join(texts)}) END"


def _rows(call: OverCall, value: str, row_number: str, time: str, horizon: timedelta) -> str:
    """The rows of the frame, in its order, as an array of structs."""
    assert call.frame is not None
    by = partition_by(call.partition)
    rows = f"collect_list(struct({row_number} AS p, {time} AS t, {value} AS v))"
    micros = horizon // timedelta(microseconds=1)
    near = f"abs(unix_micros(s.t) - unix_micros({time})) <= {micros}"
    start, end = call.frame.start, call.frame.end
    if isinstance(start, int) and isinstance(end, int):
        order = ", ".join([*(str(term) for term in call.order), POSITION])
        return f"filter({rows} OVER ({by}ORDER BY {order} {_spelled(call.frame)}), s -> {near})"
    reach = spell_interval(horizon)
    descending = " DESC" if call.order[0].descending else ""
    whole = f"{by}ORDER BY {time}{descending} RANGE BETWEEN {reach} PRECEDING AND {reach} FOLLOWING"
    limits = [f"s.p >= {row_number} + {start}"] if isinstance(start, int) else []
    limits += [f"s.p <= {row_number} + {end}"] if isinstance(end, int) else []
    return f"filter(array_sort({rows} OVER ({whole})), s -> {' AND '.join([near, *limits])})"


def _spelled(frame: Frame) -> str:
    return f"ROWS BETWEEN {_bound(frame.start)} AND {_bound(frame.end)}"


def _bound(bound: timedelta | int | None) -> str:
    assert isinstance(bound, int)
    return "CURRENT ROW" if bound == 0 else f"{abs(bound)} {'PRECEDING' if bound < 0 else 'FOLLOWING'}"


def _folded(call: OverCall, values: str) -> str:
    """An aggregate of the values in an array, of which none is NULL."""
    kind = call.expression.type
    match call.function:
        case "count":
            return f"CAST(size({values}) AS BIGINT)"
        case "sum":
            return folded(values, spell_type(kind))
        case "avg" | "mean":
            total = pa.decimal128(min(38, kind.precision + 6), kind.scale - 4) if pa.types.is_decimal(kind) else kind
            quotient = f"{folded(values, spell_type(total))} / size({values})"
            return f"(CASE WHEN size({values}) > 0 THEN CAST({quotient} AS {spell_type(kind)}) END)"
        case "min" | "max":
            return f"array_{call.function}({values})"
        case "bool_and" | "every":
            return f"(CASE WHEN size({values}) > 0 THEN forall({values}, x -> x) END)"
        case "bool_or" | "some" | "any":
            return f"(CASE WHEN size({values}) > 0 THEN exists({values}, x -> x) END)"
        case "collect_set":
            return f"array_sort(array_distinct({values}))"
    return values
