"""Totals: groups without an end whose sums are kept: what comes is added to them, what counts no more is taken off."""

from __future__ import annotations

import pyarrow as pa

from headwater.operators.aggregate.panes import is_exact_average
from headwater.operators.aggregate.stage import Aggregate
from headwater.operators.assign.stage import is_plain
from headwater.operators.stage import Stage


def by_totals(stage: Stage) -> Aggregate | None:
    """The aggregate that a stage is, if its groups are endless, made of plain rows, and everything in them adds up."""
    if not isinstance(stage, Aggregate) or not stage.is_endless or not stage.keys or not is_plain(stage.input):
        return None
    return stage if all(call.adds_up or is_exact_average(call) for call in stage.aggregates) else None


def by_sums(stage: Stage) -> Aggregate | None:
    """The aggregate that a stage is, if no window ends its groups and everything in them adds up, whatever is in them.

    Spark takes no rows with a TIME in them.
    """
    if not isinstance(stage, Aggregate) or stage.window is not None:
        return None
    if any(pa.types.is_time(column.type) for column in stage.columns):
        return None
    return stage if all(call.adds_up or is_exact_average(call) for call in stage.aggregates) else None
