"""Which columns of a view may differ between executions, and by how much.

Most aggregates give the same value however the rows are cut into batches. Sketches don't: two executions give two
estimates of one truth. A column that derives from one has a *tolerance*: by which share of the value two executions may
differ, or none that could be stated of a value, because the sketch's bound is one of rank (a quantile) or of membership
(the most frequent). The last digits of floating-point values are not meant: they are compared to fewer digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import singledispatch

from sqlglot import exp

from headwater import sql
from headwater.plan.functions import Stability, find
from headwater.plan.stages import (
    Aggregate,
    Apply,
    Call,
    Expand,
    Expression,
    Join,
    Named,
    Over,
    OverCall,
    Project,
    Scan,
    Stage,
    Unary,
    Union,
)

SIGMAS = 3
_HLL, _THETA = 1.04, 1.0
"""The standard error of a sketch of 2^k entries is this, divided by the root of 2^k."""
_USUAL_SIZE = 12
_ERRORS = {"hll": _HLL, "theta": _THETA, "tuple": _THETA}


@dataclass(frozen=True)
class Tolerance:
    """How far two executions may be apart, as a share of the value; None if it can't be said of the value."""

    share: float | None


Tolerances = Mapping[str, Tolerance]


@singledispatch
def tolerances(stage: Stage) -> Tolerances:
    """The columns of a stage that may differ between executions."""
    return tolerances(stage.input) if isinstance(stage, Unary) else {}


@tolerances.register
def _(_stage: Scan) -> Tolerances:
    return {}


@tolerances.register
def _(stage: Project) -> Tolerances:
    return _of_named(stage.expressions, tolerances(stage.input))


@tolerances.register
def _(stage: Aggregate) -> Tolerances:
    below = tolerances(stage.input)
    calls = {call.name: _of_call(call, below) for call in stage.aggregates}
    return {**_of_named(stage.keys, below), **{name: found for name, found in calls.items() if found}}


@tolerances.register
def _(stage: Over) -> Tolerances:
    below = tolerances(stage.input)
    calls = {call.name: _of_over(call, below) for call in stage.functions}
    return {**below, **{name: found for name, found in calls.items() if found}}


@tolerances.register
def _(stage: Expand) -> Tolerances:
    below = tolerances(stage.input)
    found = _widest(stage.generator, below)
    return {**below, **(dict.fromkeys(stage.outputs, found) if found else {})}


@tolerances.register
def _(stage: Join) -> Tolerances:
    sides = {"left": tolerances(stage.left), "right": tolerances(stage.right)}
    pairs = zip(stage.columns, stage.renames, strict=True)
    return {field.name: sides[side][name] for field, (side, name) in pairs if name in sides[side]}


@tolerances.register
def _(stage: Union) -> Tolerances:
    found: dict[str, Tolerance] = {}
    for branch in stage.branches:
        below = tolerances(branch)
        for field, own in zip(stage.columns, branch.columns, strict=True):
            if own.name in below:
                found[field.name] = _wider([below[own.name], *([found[field.name]] if field.name in found else [])])
    return found


@tolerances.register
def _(stage: Apply) -> Tolerances:
    below = [found for branch in stage.branches for found in tolerances(branch).values()]
    return {field.name: _wider(below) for field in stage.columns} if below else {}


def _of_named(expressions: Iterable[Named], below: Tolerances) -> Tolerances:
    found = {named.name: _widest(named.expression, below) for named in expressions}
    return {name: tolerance for name, tolerance in found.items() if tolerance is not None}


def _of_call(call: Call, below: Tolerances) -> Tolerance | None:
    own = _of_function(call.function, call.expression) if call.stability is Stability.APPROXIMATE else None
    return own or _widest(call.expression, below)


def _of_over(call: OverCall, below: Tolerances) -> Tolerance | None:
    info = find(call.function)
    approximate = info is not None and info.fixed_stability is Stability.APPROXIMATE
    return (_of_function(call.function, call.expression) if approximate else None) or _widest(call.expression, below)


def _widest(expression: Expression, below: Tolerances) -> Tolerance | None:
    found = [below[name] for name in expression.reads if name in below]
    return _wider(found) if found else None


def _wider(found: list[Tolerance]) -> Tolerance:
    shares = [tolerance.share for tolerance in found]
    return Tolerance(None if None in shares else max(share for share in shares if share is not None))


def _of_function(name: str, expression: Expression) -> Tolerance | None:
    """The tolerance of an approximate aggregate; None if only the last digits of its value differ."""
    info = find(name)
    if info is None or "last digits" in (info.reason or "last digits"):
        return None
    error = _ERRORS.get(name.lower().partition("_")[0])
    if error is None:
        return Tolerance(None)
    return Tolerance(2 * SIGMAS * error / 2 ** (_size(expression) / 2))  # two estimates, each off on its own side


def _size(expression: Expression) -> int:
    """The size that a call gives its sketch, as the logarithm of the number of its entries."""
    call = sql.parse_expression(expression.sql)
    numbers = [int(part.name) for part in call.find_all(exp.Literal) if part.is_int and part.parent is call.unnest()]
    return numbers[-1] if numbers and 4 <= numbers[-1] <= 26 else _USUAL_SIZE
