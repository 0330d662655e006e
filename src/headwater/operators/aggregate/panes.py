"""Panes: windows that overlap, aggregated once per slide instead of once per window.

A row of a HOP of an hour by minutes is in 60 windows. A *pane* is the stretch of time between two ends of windows: all
of its rows that came in time are in the same windows. So rows are aggregated by pane, and each window is combined from
the panes in it. That needs aggregates whose values can be merged, and nothing that looks at a row's windows before.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

import pyarrow as pa
from sqlglot import exp

from headwater.operators.aggregate.stage import Aggregate, Call, Stability
from headwater.operators.stage import Stage
from headwater.operators.window_bounds import passes_bounds, reads_bounds

MANY = 5
"""From so many windows of a row on, panes pay for reading a slice of the log instead of keeping every window."""
EXACT_DIGITS = 16
"""Up to so many digits of its value, a DECIMAL average is the quotient of a sum and a count, rounded once."""


class Merge(Enum):
    """The way in which values of an aggregate over panes become its value over a window."""

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


def merge_of(call: Call) -> Merge | None:
    """The merge of the values of a call over panes; None if none gives the same value."""
    merge = _MERGE_OF.get(call.function.lower())
    if merge is None or call.expression.tree.find(exp.Distinct, exp.Order):
        return None
    kind = call.expression.type
    if merge is Merge.AVERAGE and not pa.types.is_float64(kind):
        return merge if pa.types.is_decimal(kind) and kind.precision <= EXACT_DIGITS else None
    return merge


def is_exact_average(call: Call) -> bool:
    """Tells whether a call is the quotient of an exact sum and a count: of whole numbers, or of short DECIMAL."""
    whole = call.stability is Stability.REWRITTEN or pa.types.is_decimal(call.expression.type)
    return merge_of(call) is Merge.AVERAGE and whole


def by_panes(stage: Stage | None) -> Aggregate | None:
    """The same aggregate with `Panes` in place of its Assign; None if it isn't one of overlapping windows."""
    if not isinstance(stage, Aggregate):
        return None
    calls = [call.expression for call in stage.aggregates]
    if not passes_bounds(stage.group_keys, stage.input) or reads_bounds(calls, stage.input):
        return None
    if not all(merge_of(call) for call in stage.aggregates):
        return None
    below = stage.input.with_panes()
    return replace(stage, input=below) if below is not None else None


def pane_aggregate(root: Stage) -> Aggregate | None:
    """The aggregate of a view that can be computed by panes, and keeps the only state of the view."""
    stateful = [stage for stage in root.walk() if stage.keeps_state]
    return by_panes(stateful[0] if len(stateful) == 1 else None)
