"""Subqueries that stand for a value: an aggregate of the rows of the same window.

`amount > (SELECT avg(i.amount) FROM … AS i WHERE i.window_end = o.window_end)` is a left join with the aggregate,
grouped by what the subquery compares with the row around it. One of these must be a window, so that both are there when
it is over. A count of no rows is 0; any other aggregate of no rows is NULL.

A subquery that is asked for rows inside an expression (`x OR EXISTS (SELECT …)`) stands for whether their count is
more than 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from sqlglot import exp

from headwater.errors import NotSupportedYet, QueryRefused, UnboundedJoin
from headwater.plan.bind import bind_pair
from headwater.plan.calls import call_of, is_aggregate
from headwater.plan.context import Context, Relation
from headwater.plan.join import conjuncts_of, pair
from headwater.plan.positions import columns_of, place
from headwater.plan.scope import Scope
from headwater.plan.source import source
from headwater.plan.stages import Expression, Named, Project, Stage
from headwater.sql.spelling import spell_name

Lower = Callable[[Context, exp.Query], Relation]
_KEY, _VALUE = "__key", "value"
_COUNTS = {"count", "count_if", "approx_count_distinct", "regr_count"}
_PLAIN = {"expressions", "from_", "where", "kind", "hint", "operation_modifiers"}


def with_values(
    context: Context, node: exp.Expr, scope: Scope, lower: Lower, *, is_condition: bool = False
) -> tuple[exp.Expr, Scope]:
    """The expression with a column in the place of each subquery that stands for a value, and the scope that has it."""
    root = exp.Paren(this=node.copy())
    for asked in list(_memberships(root)):
        if (counted := _counted(asked, scope, is_condition)) is not None:
            asked.replace(place(counted, asked))
    if not any(_values(root)):
        return node, scope
    for query in list(_values(root)):
        name = f"__value{len(scope.sources)}"
        select = query.unnest()
        if not isinstance(select, exp.Select) or len(select.expressions) != 1:
            refuse_value(context, query)
            query.replace(place(exp.Null(), query))
            continue
        item = exp.Alias(this=select.expressions[0].unalias().copy(), alias=exp.to_identifier(_VALUE))
        found = aggregated(context, select, [item], scope, name, lower)
        column = exp.column(_VALUE, table=name) if found is not None else exp.Null()
        scope = _unseen(found) if found is not None else scope
        query.replace(place(column, query))
    return root.this, scope


def _unseen(scope: Scope) -> Scope:
    """The scope, its last source out of the sight of `*`."""
    return Scope(scope.stage, (*scope.sources[:-1], replace(scope.sources[-1], visible=())), scope.merged)


def _values(node: exp.Expr) -> Iterator[exp.Subquery]:
    """The outermost subqueries of an expression that stand for a value."""
    for found in node.walk(prune=lambda inner: isinstance(inner, exp.Query)):
        if isinstance(found, exp.Subquery) and not isinstance(found.parent, exp.In | exp.Exists):
            yield found


def _memberships(node: exp.Expr) -> Iterator[exp.Exists | exp.In]:
    """Where an expression asks whether a subquery has rows."""
    for found in node.walk(prune=lambda inner: isinstance(inner, exp.Query)):
        if isinstance(found, exp.Exists) or (isinstance(found, exp.In) and found.args.get("query")):
            yield found


def _counted(asked: exp.Exists | exp.In, scope: Scope, is_condition: bool) -> exp.Expr | None:
    """Whether a subquery has rows, as a count; None where that would not be the same.

    IN may be unknown instead of false, which is all the same in a condition, but not below a NOT.
    """
    select = (asked.this if isinstance(asked, exp.Exists) else asked.args["query"].unnest()).copy()
    if not isinstance(select, exp.Select) or {name for name, value in select.args.items() if value} - _PLAIN:
        return None
    if isinstance(asked, exp.In):
        values = asked.this.expressions if isinstance(asked.this, exp.Tuple) else [asked.this]
        above = [found for found in _above(asked) if not isinstance(found, exp.Paren | exp.And | exp.Or)]
        if above or not is_condition or len(values) != len(select.expressions):
            return None
        for value, found in zip(values, select.expressions, strict=True):
            if (outer := _qualified(value, scope, select)) is None:
                return None
            select = select.where(exp.EQ(this=found.unalias().copy(), expression=outer), copy=False)
    select.set("expressions", [exp.Count(this=exp.Star())])
    return exp.Paren(this=exp.GT(this=exp.Subquery(this=select), expression=exp.Literal.number(0)))


def _qualified(value: exp.Expr, scope: Scope, select: exp.Select) -> exp.Expr | None:
    """A value that means the same inside a subquery, whose columns may have the same names; None if none can."""
    root = exp.Paren(this=value.copy())
    own = {found.alias_or_name.lower() for found in select.find_all(exp.Table, exp.Subquery)}
    for column in columns_of(root):
        named = column.table.lower()
        having = [found.name for found in scope.sources if column.name.lower() in found.places]
        of = named or next(iter(having), "").lower()
        if not of or of in own:
            return None
        column.set("table", exp.to_identifier(of))
    return cast(exp.Expr, root.this)


def _above(node: exp.Expr) -> Iterator[exp.Expr]:
    while (parent := node.parent) is not None:
        yield parent
        node = parent


def refuse_value(context: Context, query: exp.Expr) -> None:
    """Report a subquery that may give several values, or one that isn't understood."""
    context.refuse(
        NotSupportedYet,
        "uses a subquery as a value that is not one aggregate",
        query,
        hint="Write one aggregate, like (SELECT max(i.amount) FROM … AS i WHERE i.window_end = o.window_end).",
    )


def aggregated(
    context: Context, select: exp.Select, items: list[exp.Alias], scope: Scope, name: str, lower: Lower
) -> Scope | None:
    """The scope joined with the aggregates of a correlated SELECT under a name; None where it was refused."""
    plain = {part for part, value in select.args.items() if value} <= _PLAIN
    if not plain or not all(_is_aggregate(item.this) for item in items):
        refuse_value(context, select)
        return None
    own = Scope.of(*source(replace(context, findings=[]), select.args["from_"].this, lower))
    inner, equal, other = _split(select, own)
    if other:
        hint = "Compare with = only; a bound in time stands in the ON of a join, or in EXISTS."
        what = "compares the rows of a subquery that stands for a value by more than equality"
        context.refuse(QueryRefused, what, other[0], hint=hint)
        return None
    if own.complete and not any(_is_window(node, own) for node, _ in equal):
        _refuse_unbounded(context, select)
        return None
    grouped = _grouped(select, inner, [node for node, _ in equal], items)
    relation = lower(context, place(grouped, select))  # type: ignore[arg-type]
    nothing = Scope(relation.stage, (), {})
    conditions: list[exp.Expr] = [
        exp.EQ(this=bind_pair(context, node, scope, nothing), expression=exp.column(f"{_KEY}{number}", table="r"))
        for number, (_, node) in enumerate(equal)
    ]
    joined = pair(context, scope, Scope.of(name, relation), "left", conditions, select)
    counts = [item.alias for item in items if _counts(item.this)]
    last = replace(joined.sources[-1], visible=tuple(item.alias for item in items))
    found = Scope(joined.stage, (*joined.sources[:-1], last), joined.merged)
    return found.on(_with_zeros(found.stage, [last.places[count.lower()] for count in counts])) if counts else found


def _is_aggregate(node: exp.Expr) -> bool:
    """Whether an expression has a value for no rows too: one count, or aggregates that are NULL then."""
    calls = [found for found in node.walk(prune=is_aggregate) if is_aggregate(found)]
    names = {call.info.name for found in calls if (call := call_of(found)) is not None}
    return bool(calls) and (not names & _COUNTS or calls == [node])


def _counts(node: exp.Expr) -> bool:
    call = call_of(node)
    return call is not None and call.info.name in _COUNTS


def _split(select: exp.Select, own: Scope) -> tuple[list[exp.Expr], list[tuple[exp.Expr, exp.Expr]], list[exp.Expr]]:
    """The conditions on the subquery's own rows; its pairs of own and outer expressions; everything else."""
    inner, equal, other = [], [], []
    where = select.args.get("where")
    for condition in conjuncts_of(where.this if where else None):
        parts = [condition.this, condition.expression] if isinstance(condition, exp.EQ) else []
        sides = [_sides(part, own) for part in parts]
        if _sides(condition, own) <= {"own"}:
            inner.append(condition)
        elif sides == [{"own"}, {"outer"}]:
            equal.append((condition.this, condition.expression))
        elif sides == [{"outer"}, {"own"}]:
            equal.append((condition.expression, condition.this))
        else:
            other.append(condition)
    return inner, equal, other


def _sides(node: exp.Expr, own: Scope) -> set[str]:
    return {"own" if own.find(column.name, column.table or None) else "outer" for column in columns_of(node)}


def _is_window(node: exp.Expr, own: Scope) -> bool:
    found = own.find(node.name, node.table or None) if isinstance(node, exp.Column) else []
    return any(field.role is not None and field.role.bounds_window for field in found)


def _refuse_unbounded(context: Context, select: exp.Select) -> None:
    context.refuse(
        UnboundedJoin,
        "uses a subquery as a value that looks at rows of all time",
        select,
        detail="Every row would wait for ever for rows that may still change the value.",
        hint="Compare the windows of both in its WHERE, like i.window_end = o.window_end.",
    )


def _grouped(select: exp.Select, inner: list[exp.Expr], keys: list[exp.Expr], items: list[exp.Alias]) -> exp.Select:
    named = [exp.alias_(key.copy(), f"{_KEY}{number}") for number, key in enumerate(keys)]
    found = exp.Select(expressions=[*named, *items], group=exp.Group(expressions=[key.copy() for key in keys]))
    found.set("from_", select.args["from_"].copy())
    if inner:
        found.set("where", exp.Where(this=exp.and_(*(part.copy() for part in inner))))
    return found


def _with_zeros(stage: Stage, counts: list[str]) -> Stage:
    """The stage with 0 in the place of NULL in some columns."""
    named = []
    for found in stage.columns:
        name = spell_name(found.name)
        text = f"COALESCE({name}, CAST(0 AS BIGINT))" if found.name in counts else name
        named.append(Named(found.name, Expression(text, found.type, found.nullable, (found.name,))))
    return Project(stage.columns, stage, tuple(named), origin=stage.origin)
