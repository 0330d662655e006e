"""LATERAL: an item of FROM that is computed for each row of those before it.

A generator (`LATERAL VIEW EXPLODE(…)`, `UNNEST(…)`) gives a row per element, VALUES one for each of its rows that fits.
A subquery without FROM gives the row more columns. One that aggregates gives it the aggregates of the rows of its
window, as a subquery that stands for a value does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from headwater.findings import NotSupportedYet, QueryRefused, UnnamedColumn
from headwater.operators import Named, Project
from headwater.plan.aggregate import passed
from headwater.plan.bind import bind
from headwater.plan.context import Context, Relation
from headwater.plan.expression import expression
from headwater.plan.item import unique_name
from headwater.plan.lateral_limit import is_limited, with_first_rows
from headwater.plan.made_rows import ORDINALITY, of_values, with_ordinality
from headwater.plan.positions import locate
from headwater.plan.scope import Scope, Source
from headwater.plan.source import expand
from headwater.plan.subquery import aggregated

Lower = Callable[[Context, exp.Query], Relation]


def is_lateral(node: exp.Join) -> bool:
    """Tells whether an item of FROM is computed for each row."""
    return isinstance(node.this, exp.Lateral | exp.Unnest | exp.Values)


def lateral(context: Context, node: exp.Join, scope: Scope, lower: Lower) -> Scope:
    """The scope with the columns of a LATERAL item."""
    item = node.this
    if isinstance(item, exp.Values):
        made = of_values(context, node, scope)
        if made is not None:
            return expand(context, scope, made)
        return _unknown(scope, item.alias)
    _check_join(context, node)
    unnest = item.this if isinstance(item, exp.Lateral) else item
    if isinstance(unnest, exp.Unnest):
        item = _unnested(context, unnest, item.args.get("alias"), scope)
    if not isinstance(item.this, exp.Subquery):
        item.set("outer", bool(item.args.get("outer")) or node.side.upper() == "LEFT")
        return expand(context, scope, item)
    select = item.this.unnest()
    clauses = {name for name, value in select.args.items() if value} if isinstance(select, exp.Select) else set()
    if clauses == {"expressions"}:
        return _computed(context, select, item.alias, scope)
    if not isinstance(select, exp.Select) or "from_" not in clauses:
        hint = "Join the subquery with ON, or let it be aggregates of the rows of the same window."
        context.refuse(NotSupportedYet, "uses a LATERAL subquery that is not understood", node, hint=hint)
        return _unknown(scope, item.alias)
    named = [_named(context, item) for item in select.expressions]
    items = [item for item in named if item is not None]
    joined = None
    if len(items) == len(named) and is_limited(select):
        left = node.side.upper() == "LEFT"
        joined = with_first_rows(context, select, items, scope, item.alias, lower, left=left)
    elif len(items) == len(named):
        joined = aggregated(context, select, items, scope, item.alias, lower)
    return joined or _unknown(scope, item.alias)


def _unknown(scope: Scope, name: str) -> Scope:
    """The scope with an item that was refused: whatever is read of it is no finding of its own."""
    return Scope(scope.stage, (*scope.sources, Source(name, (), {}, complete=False)), scope.merged)


def _unnested(context: Context, unnest: exp.Unnest, alias: exp.TableAlias | None, scope: Scope) -> exp.Lateral:
    """The LATERAL item that gives the rows of an UNNEST: elements of an array, or their fields if they are structs.

    WITH ORDINALITY each has its number too, from 1.
    """
    if len(unnest.expressions) != 1:
        hint = "Write UNNEST(arrays_zip(…)), whose elements have a field of each."
        context.refuse(NotSupportedYet, "uses UNNEST with more than one array", unnest, hint=hint)
    array, number = unnest.expressions[0], unnest.args.get("offset")
    quiet = replace(context, findings=[])
    kind = expression(quiet, bind(quiet, array, scope), scope.stage).type
    if number:
        return with_ordinality(array, kind, alias, number.name if isinstance(number, exp.Identifier) else ORDINALITY)
    is_of_rows = pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)
    return exp.Lateral(this=exp.Inline(this=array) if is_of_rows else exp.Explode(this=array), alias=alias)


def _check_join(context: Context, node: exp.Join) -> None:
    """Refuse a condition: a LATERAL item is computed from its row, and nothing is left to pair."""
    condition = node.args.get("on")
    always = isinstance(condition, exp.Boolean) and condition.this is True
    if (condition is not None and not always) or node.args.get("using"):
        hint = "Write ON TRUE, and the condition in WHERE."
        context.refuse(QueryRefused, "has a condition for a LATERAL item of FROM", condition or node, hint=hint)
    words = (node.method, node.side, node.kind)
    if node.method or node.side.upper() not in ("", "LEFT") or node.kind.upper() not in ("", "INNER", "CROSS", "OUTER"):
        what = f"uses {' '.join(word.upper() for word in words if word)} JOIN with a LATERAL item of FROM"
        context.refuse(QueryRefused, what, node, hint="Write CROSS JOIN or LEFT JOIN.")


def _named(context: Context, node: exp.Expr) -> exp.Alias | None:
    if isinstance(node, exp.Alias):
        return node.copy()
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        return locate(exp.alias_(node.copy(), node.name), node)  # type: ignore[return-value]
    hint = "Give it a name with AS."
    context.refuse(UnnamedColumn, "has a column without a name in a LATERAL subquery", node, hint=hint)
    return None


def _computed(context: Context, select: exp.Expr, name: str, scope: Scope) -> Scope:
    """The rows with more columns, each computed from its row."""
    named = [Named(field.name, field.expression) for field in scope.stage.columns]
    fields = list(scope.stage.columns)
    columns: dict[str, str] = {}
    for item in (_named(context, node) for node in select.expressions):
        if item is None:
            continue
        column = unique_name(item.alias, [field.name for field in fields])
        named.append(Named(column, expression(context, bind(context, item.this, scope), scope.stage)))
        fields.append(replace(passed(named[-1], scope.stage), name=column))
        columns[item.alias.lower()] = column
    stage = Project(tuple(fields), scope.stage, tuple(named), origin=context.origin(select))
    visible = tuple(item.alias_or_name for item in select.expressions if item.alias_or_name)
    return Scope(stage, (*scope.sources, Source(name, visible, columns)), scope.merged)
