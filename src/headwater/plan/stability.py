"""Stability: what it does to an aggregate call that executions see the rows of a group in different orders."""

from __future__ import annotations

from sqlglot import exp

from headwater.errors import ApproximateValue, OrderDependent
from headwater.plan.context import Context
from headwater.plan.expression import stability_of
from headwater.plan.functions import Stability
from headwater.plan.stages import Stage


def check_stability(context: Context, node: exp.Expr, stage: Stage, name: str) -> Stability:
    """The stability of a call of the aggregate `name`; reported where its value is not the same in every execution."""
    stability, reason = stability_of(node, stage)
    if stability is Stability.REFUSED:
        context.refuse(
            OrderDependent,
            f'aggregates with "{name}", whose value depends on the order of the rows',
            node,
            detail=f"Executions see the rows of a group in different orders: {reason}.",
            hint="Use an aggregate whose value follows from the rows, like max_by(value, at).",
            function=name,
        )
    elif stability is Stability.APPROXIMATE:
        context.refuse(
            ApproximateValue,
            f'aggregates with "{name}", whose value may differ between executions',
            node,
            detail=f"What may differ: {reason}." if reason else None,
            hint="Keep it if an estimate is enough, or cast to DECIMAL for an exact sum.",
            function=name,
        )
    return stability
