"""Panes: windows that overlap, aggregated once per slide instead of once per window.

A row of a HOP of an hour by minutes is in 60 windows. A *pane* is the stretch of time between two ends of windows: all
of its rows that came in time are in the same windows. So rows are aggregated by pane, and each window is combined from
the panes in it. That needs aggregates whose values can be merged, and nothing that looks at a row's windows before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from enum import Enum
from typing import TypeGuard

import pyarrow as pa
from sqlglot import exp

from headwater import model, sql
from headwater.plan.functions import Stability
from headwater.plan.stages import STATELESS, Aggregate, Assign, Call, Expression, Filter, Project, Stage

MANY = 5
"""From so many windows of a row on, panes pay for reading a slice of the log instead of keeping every window."""
MOST_WINDOWS = 1_000_000
"""A row can't be in more windows than this: each of them may be a row of the view."""
EXACT_DIGITS = 16
"""Up to so many digits of its value, a DECIMAL average is the quotient of a sum and a count, rounded once."""


class Merge(Enum):
    """How the values of an aggregate over panes become its value over a window."""

    SUM = "sums and counts are added up"
    SAME = "by the same aggregate"
    UNION = "sketches are united"
    AVERAGE = "by sum and count"
    ORDER = "with what decides the order beside it"
    MOMENTS = "by count, mean and sum of squares"
    COMOMENTS = "by count, means, sums of squares and of products"


UNIONS = {
    "hll_sketch_agg": "hll_union_agg",
    "hll_union_agg": "hll_union_agg",
    "theta_sketch_agg": "theta_union_agg",
    "theta_union_agg": "theta_union_agg",
    "bitmap_construct_agg": "bitmap_or_agg",
    "bitmap_or_agg": "bitmap_or_agg",
    **{f"kll_sketch_agg_{kind}": f"kll_merge_agg_{kind}" for kind in ("bigint", "double", "float")},
    **{f"kll_merge_agg_{kind}": f"kll_merge_agg_{kind}" for kind in ("bigint", "double", "float")},
}
"""The aggregates that make or unite sketches, and what unites those that they give."""
_MERGES: dict[Merge, tuple[str, ...]] = {
    Merge.SUM: ("sum", "count", "count_if"),
    Merge.SAME: (
        *("min", "max", "bool_and", "every", "bool_or", "some", "any", "bit_and", "bit_or", "bit_xor"),
        *("bitmap_and_agg",),
    ),
    Merge.UNION: tuple(UNIONS),
    Merge.AVERAGE: ("avg", "mean"),
    Merge.ORDER: ("first", "first_value", "any_value", "min_by", "last", "last_value", "max_by"),
    Merge.MOMENTS: ("stddev", "std", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"),
    Merge.COMOMENTS: ("corr", "covar_pop", "covar_samp"),
}
_MERGE_OF = {name: merge for merge, names in _MERGES.items() for name in names}


@dataclass(frozen=True)
class Panes(Assign):
    """An Assign whose rows stay one each: with the end of their last window and how many of the last admit them."""


def merge_of(call: Call) -> Merge | None:
    """How the values of a call over panes are merged; None if they can't be, to the same value."""
    merge = _MERGE_OF.get(call.function.lower())
    if merge is None or sql.parse_expression(call.expression.sql).find(exp.Distinct, exp.Order):
        return None
    kind = call.expression.type
    if merge is Merge.AVERAGE and not pa.types.is_float64(kind):
        return merge if pa.types.is_decimal(kind) and kind.precision <= EXACT_DIGITS else None
    return merge


def is_exact_average(call: Call) -> bool:
    """Whether a call is the quotient of a sum and a count that are exact: of whole numbers, or of short DECIMAL."""
    whole = call.stability is Stability.REWRITTEN or pa.types.is_decimal(call.expression.type)
    return merge_of(call) is Merge.AVERAGE and whole


def by_panes(stage: Aggregate) -> Aggregate | None:
    """The same aggregate with `Panes` in place of its Assign; None if it isn't one of overlapping windows."""
    keys = [key.expression for key in stage.keys]
    calls = [call.expression for call in stage.aggregates]
    if not _passes_bounds(keys, stage.input) or _reads_bounds(calls, stage.input):
        return None
    if not all(merge_of(call) for call in stage.aggregates):
        return None
    below = _with_panes(stage.input)
    return replace(stage, input=below) if below is not None else None


def pane_aggregate(root: Stage) -> Aggregate | None:
    """The aggregate of a view that can be computed by panes, and keeps the only state of the view."""
    stateful = [stage for stage in root.walk() if not isinstance(stage, STATELESS)]
    only = stateful[0] if len(stateful) == 1 else None
    return by_panes(only) if isinstance(only, Aggregate) else None


def is_overlapping(window: model.Window | None) -> TypeGuard[model.Hop | model.Cumulate]:
    """Whether a row can be in several windows of this kind."""
    return isinstance(window, model.Hop | model.Cumulate)


def pane_of(window: model.Hop | model.Cumulate) -> timedelta:
    """How long a pane is: the distance of two ends of windows."""
    return window.slide if isinstance(window, model.Hop) else window.step


def windows_per_row(window: model.Hop | model.Cumulate) -> int:
    """In how many windows a row can be: as many panes are in the longest window."""
    return window.size // pane_of(window)


def _with_panes(stage: Stage) -> Stage | None:
    match stage:
        case Assign() if is_overlapping(stage.window) and _is_plain(stage.input):
            return Panes(**{part.name: getattr(stage, part.name) for part in fields(stage)})
        case Filter() if not _reads_bounds([stage.condition], stage.input):
            below = _with_panes(stage.input)
        case Project() if _passes_bounds([named.expression for named in stage.expressions], stage.input):
            below = _with_panes(stage.input)
        case _:
            return None
    return replace(stage, input=below) if below is not None else None


def _is_plain(stage: Stage) -> bool:
    """Whether rows are as they come from the log, with nothing kept between them and in no window yet."""
    return all(isinstance(found, STATELESS) and not isinstance(found, Assign) for found in stage.walk())


def _reads_bounds(expressions: Iterable[Expression], below: Stage) -> bool:
    found = [below.column(name) for expression in expressions for name in expression.reads]
    return any(field is not None and field.role is not None and field.role.bounds_window for field in found)


def _passes_bounds(expressions: Iterable[Expression], below: Stage) -> bool:
    """Whether the bounds of windows are at most passed on, unchanged."""
    return not _reads_bounds([expression for expression in expressions if not expression.is_column], below)
