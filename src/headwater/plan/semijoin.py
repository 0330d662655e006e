"""Membership: EXISTS, NOT EXISTS and IN (SELECT …) in WHERE are semi joins and anti joins."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from headwater.errors import QueryRefused
from headwater.plan.bind import bind_pair, refuse_subquery
from headwater.plan.context import Context, Relation
from headwater.plan.join import conjuncts_of, pair
from headwater.plan.scope import Scope
from headwater.plan.source import NOTHING, source

Lower = Callable[[Context, exp.Query], Relation]
_PLAIN = {"expressions", "from_", "where", "kind", "hint", "operation_modifiers"}


def is_membership(condition: exp.Expr) -> bool:
    """Whether a condition has a subquery in it."""
    return condition.find(exp.Query) is not None


def membership(context: Context, condition: exp.Expr, scope: Scope, lower: Lower) -> Scope:
    """The scope behind a condition with a subquery."""
    negated = isinstance(condition, exp.Not)
    inner = condition.this.unnest() if isinstance(condition, exp.Not) else condition
    if isinstance(inner, exp.Exists) and isinstance(inner.this, exp.Select) and _is_plain(inner.this):
        return _exists(context, inner.this, scope, lower, negated)
    if isinstance(inner, exp.In) and inner.args.get("query") and not negated:
        return _in(context, inner, scope, lower)
    if isinstance(inner, exp.In) and negated:
        hint = "Write NOT EXISTS (SELECT … WHERE …): NOT IN is true of nothing once the subquery gives a NULL."
        context.refuse(QueryRefused, "uses NOT IN with a subquery", inner, hint=hint)
        return scope
    refuse_subquery(context, condition.find(exp.Query) or condition)
    return scope


def _is_plain(select: exp.Select) -> bool:
    """Whether a SELECT is FROM and WHERE alone, so that its rows are pairs."""
    return {name for name, value in select.args.items() if value} <= _PLAIN


def _exists(context: Context, select: exp.Select, scope: Scope, lower: Lower, negated: bool) -> Scope:
    clause = select.args.get("from_")
    found = source(context, clause.this, lower) if clause else ("", NOTHING)
    right = Scope.of(*found)
    where = select.args.get("where")
    conditions = [
        bind_pair(context, node, scope, right, subquery=True) for node in conjuncts_of(where.this if where else None)
    ]
    return pair(context, scope, right, "anti" if negated else "semi", conditions, select)


def _in(context: Context, node: exp.In, scope: Scope, lower: Lower) -> Scope:
    query = node.args["query"].unnest()
    table = query.find(exp.Table)
    right = Scope.of(table.alias_or_name if table is not None else "", lower(context, query))
    values = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    columns = right.stage.visible
    if len(values) != len(columns):
        if right.complete:
            detail = f"One side has {len(values)} values, the subquery {len(columns)} columns."
            context.refuse(QueryRefused, "compares IN with another number of columns", node, detail=detail)
        return scope
    empty = Scope(right.stage, (), {})
    left = [bind_pair(context, value, scope, empty) for value in values]
    conditions: list[exp.Expr] = [
        exp.EQ(this=value, expression=exp.column(exp.to_identifier(field.name), table="r"))
        for value, field in zip(left, columns, strict=True)
    ]
    return pair(context, scope, right, "semi", conditions, node)
