"""Stability: what it does to an aggregate call that executions see the rows of a group in different orders."""

from __future__ import annotations

from sqlglot import exp

from headwater import sql
from headwater.findings import ApproximateValue, OrderDependent
from headwater.operators import Stability, Stage
from headwater.operators.tolerance import Tolerance
from headwater.plan.calls import call_of
from headwater.plan.context import Context
from headwater.plan.expression import compares_collated, stability_of
from headwater.plan.functions import find

SIGMAS = 3
_HLL, _THETA = 1.04, 1.0
"""The standard error of a sketch of 2^k entries is this, divided by the root of 2^k."""
_USUAL_SIZE = 12
_ERRORS = {"hll": _HLL, "theta": _THETA, "tuple": _THETA}


def check_stability(context: Context, node: exp.Expr, stage: Stage, name: str) -> Stability:
    """The stability of a call of the aggregate `name`; reported where its value is not the same in every execution."""
    stability, reason = stability_of(node, stage)
    if compares_collated(node, stage):
        context.refuse(
            OrderDependent,
            f'aggregates with "{name}" a text that is compared by a collation',
            node,
            detail="Of texts that it takes for equal, the one that is kept would depend on the order of the rows.",
            hint="Compare a form that equal texts share: max_by(name, lower(name)), or count(DISTINCT lower(name)).",
            function=name,
        )
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
"""The calls that give an exact value instead of an estimate."""


def _exact(name: str, node: exp.Expr) -> str:
    """The call to write for a value that is the same in every execution."""
    call = call_of(node)
    arguments = [sql.spell(argument) for argument in call.arguments] if call is not None else []
    if name not in _EXACT or ("{1}" in _EXACT[name] and len(arguments) < 2):
        return "Keep it if an estimate is enough."
    return f"Keep it if an estimate is enough, or write {_EXACT[name].format(*arguments, '…')}, which is exact."


def tolerance_of(name: str, stability: Stability, node: exp.Expr) -> Tolerance | None:
    """The distance that two executions of a call of the aggregate `name` may have; None if of last digits at most."""
    info = find(name) if stability is Stability.APPROXIMATE else None
    if info is None or "last digits" in (info.reason or "last digits"):
        return None
    error = _ERRORS.get(name.lower().partition("_")[0])
    if error is None:
        return Tolerance(None)
    return Tolerance(2 * SIGMAS * error / 2 ** (_size(node) / 2))  # two estimates, each off on its own side


def _size(node: exp.Expr) -> int:
    """The size that a call gives its sketch, as the logarithm of the number of its entries."""
    call = call_of(node)
    numbers = (
        [int(part.name) for part in call.arguments if isinstance(part, exp.Literal) and part.is_int]
        if call is not None
        else []
    )
    return numbers[-1] if numbers and 4 <= numbers[-1] <= 26 else _USUAL_SIZE
