"""Subqueries that stand for a value: an aggregate of the rows of the same window, or of all time.

`amount > (SELECT avg(i.amount) FROM … AS i WHERE i.window_end = o.window_end)` is a left join with the aggregate,
grouped by what the subquery compares with the row around it. One of these must be a window, so that both are there when
it is over; but not in a view that holds every row for ever. There it may also be a column of the one row that a key
finds. A count of no rows is 0; any other aggregate of no rows is NULL.

A subquery that is asked for rows inside an expression (`x OR EXISTS (SELECT …)`) stands for whether their count is
more than 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

import pyarrow as pa
from sqlglot import exp

from headwater import sql
from headwater.findings import NotSupportedYet, QueryRefused, UnboundedJoin
from headwater.operators import Expression, Named, Project, Stage
from headwater.plan.bind import bind, bind_pair
from headwater.plan.calls import call_of, is_aggregate
from headwater.plan.context import Context, Relation
from headwater.plan.expression import expression
from headwater.plan.join import conjuncts_of, pair
from headwater.plan.positions import VALUE_OF, columns_of, locate, own_nodes
from headwater.plan.scope import Scope
from headwater.plan.source import NOTHING, source
from headwater.plan.spark_type import from_arrow, to_arrow
from headwater.plan.typing.coercion import wider

Lower = Callable[[Context, exp.Query], Relation]
_NOWHERE = Scope(NOTHING.stage, (), {})
_KEY, _VALUE = "__key", "value"
_COUNTS = {"count", "count_if", "approx_count_distinct", "regr_count"}
_PLAIN = {"expressions", "from_", "where", "kind", "hint", "operation_modifiers"}


def with_values(
    context: Context, node: exp.Expr, scope: Scope, lower: Lower, *, is_condition: bool = False
) -> tuple[exp.Expr, Scope]:
    """The expression with a column instead of each subquery that stands for a value, and the scope that has it."""
    root = exp.Paren(this=node.copy())
    for asked in list(_memberships(root)):
        if (counted := _counted(asked, scope, is_condition)) is not None:
            asked.replace(locate(counted, asked))
    for compared in list(root.find_all(exp.All, exp.Any)):
        if isinstance(compared.this.unnest(), exp.Query):
            _refuse_quantified(context, compared)
    if not any(_values(root)):
        return (root.this if root.this != node else node), scope
    for query in list(_values(root)):
        name = f"{VALUE_OF}{len(scope.sources)}"
        select = query.unnest()
        if not isinstance(select, exp.Select) or len(select.expressions) != 1:
            refuse_value(context, query)
            query.replace(locate(exp.Null(), query))
            continue
        item = exp.Alias(this=select.expressions[0].unalias().copy(), alias=exp.to_identifier(_VALUE))
        joined = aggregated(context, select, [item], scope, name, lower)
        column = exp.column(_VALUE, table=name) if joined is not None else exp.Null()
        scope = _unseen(joined) if joined is not None else scope
        query.replace(locate(column, query))
    return root.this, scope


def _unseen(scope: Scope) -> Scope:
    """The scope, its last source out of the sight of `*`."""
    return Scope(scope.stage, (*scope.sources[:-1], replace(scope.sources[-1], visible=())), scope.merged)


def _values(node: exp.Expr) -> Iterator[exp.Subquery]:
    """The outermost subqueries of an expression that stand for a value."""
    for inner in own_nodes(node):
        if isinstance(inner, exp.Subquery) and not isinstance(inner.parent, exp.In | exp.Exists):
            yield inner


def _memberships(node: exp.Expr) -> Iterator[exp.Exists | exp.In]:
    """The questions in an expression whether a subquery has rows."""
    for inner in own_nodes(node):
        if isinstance(inner, exp.Exists) or (isinstance(inner, exp.In) and inner.args.get("query")):
            yield inner


def _counted(asked: exp.Exists | exp.In, scope: Scope, is_condition: bool) -> exp.Expr | None:
    """The answer whether a subquery has rows, as a count; None where that would not be the same.

    IN may be unknown instead of false, which is all the same in a condition, but not below a NOT.
    """
    select = (asked.this if isinstance(asked, exp.Exists) else asked.args["query"].unnest()).copy()
    if not isinstance(select, exp.Select) or {name for name, value in select.args.items() if value} - _PLAIN:
        return None
    if isinstance(asked, exp.In):
        values = asked.this.expressions if isinstance(asked.this, exp.Tuple) else [asked.this]
        above = [parent for parent in _above(asked) if not isinstance(parent, exp.Paren | exp.And | exp.Or)]
        if above or not is_condition or len(values) != len(select.expressions):
            return None
        for value, item in zip(values, select.expressions, strict=True):
            if (outer := _qualified(value, scope, select)) is None:
                return None
            select = select.where(exp.EQ(this=item.unalias().copy(), expression=outer), copy=False)
    select.set("expressions", [exp.Count(this=exp.Star())])
    return exp.Paren(this=exp.GT(this=exp.Subquery(this=select), expression=exp.Literal.number(0)))


def _qualified(value: exp.Expr, scope: Scope, select: exp.Select) -> exp.Expr | None:
    """A value that means the same inside a subquery, whose columns may have the same names; None if none can."""
    root = exp.Paren(this=value.copy())
    own = {part.alias_or_name.lower() for part in select.find_all(exp.Table, exp.Subquery)}
    for column in columns_of(root):
        named = column.table.lower()
        having = [item.name for item in scope.sources if column.name.lower() in item.columns]
        of = named or next(iter(having), "").lower()
        if not of or of in own:
            return None
        column.set("table", exp.to_identifier(of))
    return cast(exp.Expr, root.this)


def _refuse_quantified(context: Context, compared: exp.Expr) -> None:
    """Report a comparison with all, or any, of the rows of a subquery; nothing else is said of it."""
    what = f"compares with {compared.key.upper()} (SELECT …), which is not supported yet"
    hint = (
        "Compare with one aggregate, like x >= (SELECT max(i.amount) FROM … AS i WHERE i.window_end = o.window_end); "
    )
    context.refuse(NotSupportedYet, what, compared, hint=f"{hint}write = ANY as IN, and <> ALL as NOT IN.")
    whole = compared.parent if isinstance(compared.parent, exp.Binary) else compared
    whole.replace(locate(exp.Null(), compared))


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
    if not {part for part, value in select.args.items() if value} <= _PLAIN:
        refuse_value(context, select)
        return None
    own = Scope.of(*source(replace(context, findings=[]), select.args["from_"].this, lower))
    inner, equal, other = split(select, own)
    if not all(_is_aggregate(item.this) for item in items):
        if not _is_of_one_row(context, own, [node for node, _ in equal]):
            refuse_value(context, select)
            return None
        items = [exp.Alias(this=exp.First(this=item.this.copy()), alias=item.args["alias"].copy()) for item in items]
    if other:
        hint = "Compare with = only; a bound in time stands in the ON of a join, or in EXISTS."
        what = "compares the rows of a subquery that stands for a value by more than equality"
        context.refuse(QueryRefused, what, other[0], hint=hint)
        return None
    if own.complete and not context.view.is_forever and not any(_is_window(node, own) for node, _ in equal):
        _refuse_unbounded(context, select)
        return None
    keys = [_as_compared(context, node, own, outer, scope) for node, outer in equal]
    grouped = _grouped(select, inner, keys, items)
    relation = lower(context, locate(grouped, select))  # type: ignore[arg-type]
    conditions: list[exp.Expr] = [
        exp.EQ(this=bind_pair(context, node, scope, _NOWHERE), expression=exp.column(f"{_KEY}{number}", table="r"))
        for number, (_, node) in enumerate(equal)
    ]
    joined = pair(context, scope, Scope.of(name, relation), "left", conditions, select)
    counts = [item.alias for item in items if _counts(item.this)]
    last = replace(joined.sources[-1], visible=tuple(item.alias for item in items))
    shown = Scope(joined.stage, (*joined.sources[:-1], last), joined.merged)
    return shown.on(_with_zeros(shown.stage, [last.columns[count.lower()] for count in counts])) if counts else shown


def _as_compared(context: Context, node: exp.Expr, own: Scope, outer: exp.Expr, scope: Scope) -> exp.Expr:
    """The expression to group by, of the type in which it is compared: '1' and '01' are two texts, and one number."""
    quiet = replace(context, findings=[])
    inside = from_arrow(expression(quiet, bind(quiet, node, own), own.stage).type)
    around = from_arrow(expression(quiet, bind(quiet, outer, scope), scope.stage).type)
    both = wider(inside, around)
    if quiet.findings or both is None or not both.is_known or both == inside:
        return node
    return sql.cast(node.copy(), to_arrow(both))


def _is_aggregate(node: exp.Expr) -> bool:
    """Tells whether an expression has a value for no rows too: one count, or aggregates that are NULL then."""
    calls = [inner for inner in node.walk(prune=is_aggregate) if is_aggregate(inner)]
    names = {call.info.name for inner in calls if (call := call_of(inner)) is not None}
    return bool(calls) and (not names & _COUNTS or calls == [node])


def _is_of_one_row(context: Context, own: Scope, compared: list[exp.Expr]) -> bool:
    """Tells whether a subquery has one row at most: what tells its rows apart is compared, and no row is replaced."""
    if not context.view.is_forever or own.stage.identity is None:
        return False
    fields = [field for node in compared if isinstance(node, exp.Column) for field in own.find(node.name, node.table)]
    known = {field.name for field in fields}
    return all(part.column in known for part in own.stage.identity)


def _counts(node: exp.Expr) -> bool:
    call = call_of(node)
    return call is not None and call.info.name in _COUNTS


def split(select: exp.Select, own: Scope) -> tuple[list[exp.Expr], list[tuple[exp.Expr, exp.Expr]], list[exp.Expr]]:
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
    fields = own.find(node.name, node.table or None) if isinstance(node, exp.Column) else []
    return any(field.role is not None and field.role.bounds_window for field in fields)


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
    grouped = exp.Select(expressions=[*named, *items], group=exp.Group(expressions=[key.copy() for key in keys]))
    grouped.set("from_", select.args["from_"].copy())
    if inner:
        grouped.set("where", exp.Where(this=exp.and_(*(part.copy() for part in inner))))
    return grouped


def _with_zeros(stage: Stage, counts: list[str]) -> Stage:
    """The stage with 0 instead of NULL in some columns."""
    named = []
    for column in stage.columns:
        zero = sql.cast(exp.Literal.number(0), pa.int64())
        known = exp.Coalesce(this=exp.column(column.name), expressions=[zero])
        counted = Expression.of(known, column.type, column.nullable, (column.name,))
        named.append(Named(column.name, counted if column.name in counts else column.expression))
    return Project(stage.columns, stage, tuple(named), origin=stage.origin)
