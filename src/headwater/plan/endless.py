"""Window functions over endless partitions: which of them a horizon gives a meaning, and the verdict on the others.

A partition that no window ends has rows for ever. A view that states its `horizon` looks at those around a row that are
at most so far away in time: a running total is one of the horizon, ROW_NUMBER counts from the first row in it, LAG
finds no row beyond it. That needs rows in the order of event time, and functions that can do without the rest.
"""

from __future__ import annotations

from datetime import timedelta

from headwater.errors import UnboundedState
from headwater.plan.context import Context
from headwater.plan.stages import Over, OverCall, Stage
from headwater.plan.state import ends, order_time, reach_of

RANKS = {"row_number", "rank", "dense_rank"}
STEPS = {"lag", "lead"}
_WHOLE = {"percent_rank", "cume_dist", "ntile"}
"""Functions whose value depends on every row of the partition."""

CUTTABLE = {"count", "count_if", "sum", "avg", "mean", "min", "max", "bool_and", "every", "bool_or", "some", "any"}
CUTTABLE |= {"first", "first_value", "any_value", "last", "last_value", "nth_value"}
CUTTABLE |= {"collect_list", "array_agg", "collect_set"}
"""Functions of a frame that counts rows, of which some may be beyond the horizon."""


def judge_endless(context: Context, root: Stage, stated: timedelta | None) -> None:
    """Report the window functions that the stated horizon of a view gives no meaning, if nothing else was found."""
    if any(found.fields.get("view") == context.view.name and found.severity == "error" for found in context.findings):
        return
    for stage in root.walk():
        if stated is None or not isinstance(stage, Over):
            continue
        for call in stage.functions:
            refused = _refused(call, stage.input)
            if refused is not None:
                _report(context, stage, call, *refused)


def _report(context: Context, stage: Over, call: OverCall, detail: str, hint: str) -> None:
    view = context.view
    context.findings.append(
        UnboundedState(
            f'view "{view.name}" calls "{call.function}" over a partition without an end',
            detail=detail,
            hint=hint,
            origin=stage.origin or view.origin,
            view=view.name,
            function=call.function,
        )
    )


def _refused(call: OverCall, below: Stage) -> tuple[str, str] | None:
    """Why a call has no meaning within a horizon, and what to do; None if it has."""
    if ends(call.partition, below) or reach_of(call, below) is not None:
        return None
    if call.function in _WHOLE:
        return "Its value depends on every row of the partition.", "Partition by a window."
    if order_time(call, below) is None:
        detail = "Which rows are within the horizon is decided by event time, and it doesn't order these."
        return detail, "Order by the event time first, or partition by a window."
    if call.frame is None:
        return None
    if call.frame.unit == "ROWS":
        hint = "Write a frame in time (RANGE BETWEEN INTERVAL … PRECEDING AND CURRENT ROW), or partition by a window."
        return None if call.function in CUTTABLE else ("It can't be cut to the rows within the horizon.", hint)
    if len(call.order) > 1:
        detail = "A frame in time is ordered by one column."
        return detail, "Order by the event time alone, or write a ROWS frame."
    return None
