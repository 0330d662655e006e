"""Operators: the way in which each stage of a view is carried out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from headwater.operators import Stage
from headwater.operators.aggregate.panes import by_panes
from headwater.plan.physical.execution import Execution


class Way(Enum):
    """A way in which a stage is carried out."""

    BY_ROW = "row by row"
    ON_ENTRY = "as rows enter"
    IN_STATE = "in Spark's state"
    ANEW = "anew in each step"
    BY_PANES = "by panes"
    BY_TOTALS = "by totals"
    BY_PARTS = "by parts"
    BY_SUMS = "by sums"
    BY_KEYS = "by the keys of new rows"


@dataclass(frozen=True)
class Operator:
    """A stage, and the way in which it is carried out; by panes it is done over the `panes` of its windows."""

    stage: Stage
    way: Way
    panes: Stage | None = None


def operators_of(
    root: Stage,
    execution: Execution,
    totals: Stage | None,
    parts: Stage | None,
    sums: Stage | None = None,
    *,
    traced: bool = False,
) -> tuple[Operator, ...]:
    """The operators of a view, inputs first; none if it isn't carried out by itself.

    Of an aggregate the `totals`, the `parts` or the `sums` may be kept. Where a view is `traced`, the others see what
    new rows lead to.
    """
    if execution.kind == "inline":
        return ()
    found = tuple(_operator(stage, execution, totals, parts) for stage in root.walk())
    if not traced:
        return found
    ways = {Way.ANEW: Way.BY_KEYS}
    return tuple(
        replace(each, way=Way.BY_SUMS if each.stage is sums else ways.get(each.way, each.way)) for each in found
    )


def _operator(stage: Stage, execution: Execution, totals: Stage | None, parts: Stage | None) -> Operator:
    if not stage.keeps_state:
        return Operator(stage, Way.BY_ROW)
    if stage.is_by_identity:
        return Operator(stage, Way.ON_ENTRY)
    if execution.kind == "live":
        return Operator(stage, Way.IN_STATE)
    if stage is totals:
        return Operator(stage, Way.BY_TOTALS)
    if stage is parts:
        return Operator(stage, Way.BY_PARTS)
    panes = by_panes(stage) if execution.kind == "settle" else None
    return Operator(stage, Way.BY_PANES, panes) if panes is not None else Operator(stage, Way.ANEW)
