"""Membership: EXISTS, NOT EXISTS, IN (SELECT …) and NOT IN (SELECT …) in WHERE are semi joins and anti joins.

`x NOT IN (SELECT y …)` is true unless a row of the subquery has that value, or no value: NULL might be any.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from headwater.findings import QueryRefused
from headwater.plan.bind import bind_pair, refuse_subquery
from headwater.plan.context import Context, Relation
from headwater.plan.join import conjuncts_of, pair
from headwater.plan.scope import Scope
from headwater.plan.source import NOTHING, source

Lower = Callable[[Context, exp.Query], Relation]
_PLAIN = {"expressions", "from_", "where", "kind", "hint", "operation_modifiers"}


def is_membership(condition: exp.Expr) -> bool:
    """Tells whether a condition asks if a subquery has a row."""
    inner = condition.this.unnest() if isinstance(condition, exp.Not) else condition
    return isinstance(inner, exp.Exists) or (isinstance(inner, exp.In) and bool(inner.args.get("query")))


def membership(context: Context, condition: exp.Expr, scope: Scope, lower: Lower) -> Scope:
    """The scope behind a condition with a subquery."""
    negated = isinstance(condition, exp.Not)
    inner = condition.this.unnest() if isinstance(condition, exp.Not) else condition
    if isinstance(inner, exp.Exists) and isinstance(inner.this, exp.Select) and _is_plain(inner.this):
        return _exists(context, inner.this, scope, lower, negated)
    if isinstance(inner, exp.In) and inner.args.get("query"):
        return _in(context, inner, scope, lower, negated)
    refuse_subquery(context, condition.find(exp.Query) or condition)
    return scope


def _is_plain(select: exp.Select) -> bool:
    """Tells whether a SELECT is FROM and WHERE alone, so that its rows are pairs."""
    return {name for name, value in select.args.items() if value} <= _PLAIN


def _exists(context: Context, select: exp.Select, scope: Scope, lower: Lower, negated: bool) -> Scope:
    right, conditions = _correlated(context, select, scope, lower)
    return pair(context, scope, right, "anti" if negated else "semi", conditions, select)


def _correlated(context: Context, select: exp.Select, scope: Scope, lower: Lower) -> tuple[Scope, list[exp.Expr]]:
    """The source of a plain SELECT, and its conditions, which may speak of the rows around it."""
    clause = select.args.get("from_")
    item = source(context, clause.this, lower) if clause else ("", NOTHING)
    right = Scope.of(*item)
    where = select.args.get("where")
    conditions = conjuncts_of(where.this if where else None)
    return right, [bind_pair(context, node, scope, right, subquery=True) for node in conditions]


def _in(context: Context, node: exp.In, scope: Scope, lower: Lower, negated: bool) -> Scope:
    query = node.args["query"].unnest()
    right, chosen, conditions = _columns(context, query, scope, lower)
    values = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    if len(values) != len(chosen):
        if right.complete:
            detail = f"One side has {len(values)} values, the subquery {len(chosen)} columns."
            columns = "one column" if len(values) == 1 else f"{len(values)} columns"
            hint = f"Select {columns} in the subquery."
            context.refuse(QueryRefused, "compares IN with another number of columns", node, detail=detail, hint=hint)
        return scope
    empty = Scope(right.stage, (), {})
    left = [bind_pair(context, value, scope, empty) for value in values]
    for value, column in zip(left, chosen, strict=True):
        equal = exp.EQ(this=value, expression=column)
        bounds = isinstance(column, exp.Column) and _bounds(right, column) and _bounds(scope, value)
        conditions.append(_may_be_equal(equal) if negated and not bounds else equal)
    return pair(context, scope, right, "anti" if negated else "semi", conditions, node)


def _columns(
    context: Context, query: exp.Query, scope: Scope, lower: Lower
) -> tuple[Scope, list[exp.Expr], list[exp.Expr]]:
    """A subquery's source, columns and conditions: those of a plain one may speak of the rows around it."""
    stars = [item for item in query.selects if isinstance(item, exp.Star)]
    if isinstance(query, exp.Select) and _is_plain(query) and not stars:
        right, conditions = _correlated(context, query, scope, lower)
        shown = [item.unalias() for item in query.expressions]
        return right, [bind_pair(context, item, scope, right, subquery=True) for item in shown], conditions
    table = query.find(exp.Table)
    right = Scope.of(table.alias_or_name if table is not None else "", lower(context, query))
    return right, [exp.column(exp.to_identifier(field.name), table="r") for field in right.stage.visible], []


def _bounds(scope: Scope, column: exp.Expr) -> bool:
    """Tells whether a bound column is a time that every row has."""
    field = scope.stage.column(column.name) if isinstance(column, exp.Column) else None
    return field is not None and field.role is not None and not field.nullable


def _may_be_equal(equal: exp.EQ) -> exp.Expr:
    """That two values are equal, or that one of them is unknown."""
    unknown = [exp.Is(this=side.copy(), expression=exp.Null()) for side in (equal.this, equal.expression)]
    return exp.Paren(this=exp.or_(equal, *unknown))
