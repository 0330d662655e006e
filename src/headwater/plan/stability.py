"""Stability: what it does to an aggregate call that executions see the rows of a group in different orders."""

from __future__ import annotations

from sqlglot import exp

from headwater import sql
from headwater.errors import ApproximateValue, OrderDependent
from headwater.plan.calls import call_of
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
            hint=_exact(name, node),
            function=name,
        )
    return stability


_EXACT = {
    "approx_count_distinct": "count(DISTINCT {0})",
    "approx_percentile": "percentile({0}, {1})",
    "percentile_approx": "percentile({0}, {1})",
    "sum": "sum(CAST({0} AS DECIMAL(18, 6)))",
    "try_sum": "sum(CAST({0} AS DECIMAL(18, 6)))",
    "avg": "avg(CAST({0} AS DECIMAL(18, 6)))",
    "mean": "avg(CAST({0} AS DECIMAL(18, 6)))",
    "try_avg": "avg(CAST({0} AS DECIMAL(18, 6)))",
}
"""What gives an exact value in place of an estimate."""


def _exact(name: str, node: exp.Expr) -> str:
    """What to write for a value that is the same in every execution."""
    call = call_of(node)
    arguments = [sql.spell(argument) for argument in call.arguments] if call is not None else []
    if name not in _EXACT or ("{1}" in _EXACT[name] and len(arguments) < 2):
        return "Keep it if an estimate is enough."
    return f"Keep it if an estimate is enough, or write {_EXACT[name].format(*arguments, '…')}, which is exact."
