"""Endless partitions: the window functions over them that a horizon gives a meaning, and why others have none.

A partition that no window ends has rows for ever. A view that states its `horizon` looks at those around a row that are
at most so far away in time: a running total is one of the horizon, ROW_NUMBER counts from the first row in it, LAG
finds no row beyond it. That needs rows in the order of event time, and functions that can do without the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from headwater.operators.over.stage import Over, OverCall
from headwater.operators.stage import Stage

_WHOLE = {"percent_rank", "cume_dist", "ntile"}
"""Functions whose value depends on every row of the partition."""

CUTTABLE = {"count", "count_if", "sum", "avg", "mean", "min", "max", "bool_and", "every", "bool_or", "some", "any"}
CUTTABLE |= {"first", "first_value", "any_value", "last", "last_value", "nth_value"}
CUTTABLE |= {"collect_list", "array_agg", "collect_set"}
"""Functions of a frame that counts rows, of which some may be beyond the horizon."""


class Refused(NamedTuple):
    """A window function that has no meaning within a horizon: why, and what to do."""

    function: str
    detail: str
    hint: str


def refused_calls(stage: Stage) -> Iterator[Refused]:
    """The window functions of a stage that a horizon gives no meaning."""
    for call in stage.functions if isinstance(stage, Over) else ():
        refused = _refused(call, stage.inputs[0])
        if refused is not None:
            yield Refused(call.function, *refused)


def _refused(call: OverCall, below: Stage) -> tuple[str, str] | None:
    """Tells why a call has no meaning within a horizon, and what to do; None if it has."""
    if call.reach_over(below) is not None:
        return None
    if call.function in _WHOLE:
        return "Its value depends on every row of the partition.", "Partition by a window."
    if call.order_time(below) is None:
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
