"""Which columns of a view add up: the value of a group is the sum of the values of its parts.

Counts and sums do, where they are exact: integers and decimals. The difference between two values of such a column is
what the rows in between have brought, so it can be sent in place of a new total (*discard*, as Beam calls it).
"""

from __future__ import annotations

from functools import singledispatch

import pyarrow as pa
from sqlglot import exp

from headwater import sql
from headwater.plan.planned import PlannedView
from headwater.plan.stages import Aggregate, Call, Filter, Project, Stage

_FUNCTIONS = frozenset({"sum", "count", "count_if"})


def not_additive(view: PlannedView) -> str | None:
    """The first column, beside the key, that doesn't add up; None if all do."""
    names = additive(view.root)
    others = (column.name for column in view.columns if column.name not in view.identity)
    return next((name for name in others if name not in names), None)


@singledispatch
def additive(_stage: Stage) -> frozenset[str]:
    """The columns of a stage that add up."""
    return frozenset()


@additive.register
def _(stage: Aggregate) -> frozenset[str]:
    return frozenset(call.name for call in stage.aggregates if adds_up(call))


@additive.register
def _(stage: Filter) -> frozenset[str]:
    return additive(stage.input)


@additive.register
def _(stage: Project) -> frozenset[str]:
    below = additive(stage.input)
    named = ((found.name, sql.parse_expression(found.expression.sql)) for found in stage.expressions)
    return frozenset(name for name, tree in named if isinstance(tree, exp.Column) and tree.name in below)


def adds_up(call: Call) -> bool:
    """Whether the value of a call over some rows is the sum of its values over parts of them, exactly."""
    kind = call.expression.type
    exact = pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    return call.function in _FUNCTIONS and exact and not sql.parse_expression(call.expression.sql).find(exp.Distinct)
