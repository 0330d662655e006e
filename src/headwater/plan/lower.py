"""Lowering: a query becomes stages.

One SELECT is lowered in the order in which SQL gives it meaning: FROM and JOIN, WHERE, GROUP BY and HAVING, window
functions, QUALIFY, the output columns, DISTINCT. Common table expressions and subqueries are lowered where they are
read.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from headwater import sql
from headwater.errors import Origin
from headwater.findings import NotSupportedYet, QueryRefused, UnnamedColumn
from headwater.operators import Deduplicate, Filter, Named, Project, Stage
from headwater.plan.aggregate import group, is_grouped, passed
from headwater.plan.bind import bind
from headwater.plan.calls import call_of, is_generator
from headwater.plan.context import Context, Relation
from headwater.plan.distinct_on import first_of_each
from headwater.plan.expression import check_distinct, expression
from headwater.plan.having import with_groups_apart
from headwater.plan.item import Item, unique_name
from headwater.plan.join import conjuncts_of, join
from headwater.plan.lateral import is_lateral, lateral
from headwater.plan.limited import limited, with_order
from headwater.plan.over import over, with_named_windows
from headwater.plan.pattern import recognized
from headwater.plan.pivot import pivoted
from headwater.plan.positions import columns_of
from headwater.plan.ranking import first_rows, up_to_rows
from headwater.plan.scope import Scope
from headwater.plan.semijoin import is_membership, membership
from headwater.plan.source import NOTHING, expand, expand_item, refuse_decorations, source
from headwater.plan.subquery import with_values
from headwater.plan.union import union
from headwater.plan.unknown_column import refuse_unknown_column
from headwater.sql.refusal import did_you_mean


def lower(context: Context, query: exp.Expr) -> Relation:
    """The stages of a query."""
    for cte in query.args["with_"].expressions if query.args.get("with_") else ():
        context = context.with_cte(cte.alias, _cte(context, cte))
    if isinstance(query, exp.Subquery):
        if isinstance(query.parent, exp.Query):
            refuse_decorations(context, query)
        return limited(context, query, lower(context, query.this))
    if isinstance(query, exp.SetOperation):
        branches = [lower(context, branch) for branch in (query.this, query.expression)]
        return limited(context, query, union(context, query, branches))
    if isinstance(query, exp.Select):
        query = with_order(context, query, _select)
        return limited(context, query, _select(context, query))
    hint = "Write SELECT … FROM …."
    context.refuse(QueryRefused, "is not a query over streams, tables or views", query, hint=hint)
    return NOTHING


def _cte(context: Context, cte: exp.CTE) -> Relation:
    if isinstance(cte.parent, exp.With) and cte.parent.args.get("recursive"):
        hint = "Write one view for each step, each reading the one before it."
        context.refuse(NotSupportedYet, "uses WITH RECURSIVE, which is not supported yet", cte, hint=hint)
        return NOTHING
    relation = lower(context, cte.this)
    names = [column.name for column in cte.args["alias"].columns] if cte.args.get("alias") else []
    return rename(context, cte, relation, names) if names else relation


def rename(context: Context, at: exp.Expr, relation: Relation, names: list[str]) -> Relation:
    """The relation with other names for its columns, in order."""
    fields = relation.stage.visible
    if not relation.complete:
        return relation
    if len(names) != len(fields):
        hint = f"Name as many as there are: ({', '.join(field.name for field in fields)})."
        context.refuse(QueryRefused, f"names {len(names)} of {len(fields)} columns in an alias", at, hint=hint)
        return replace(relation, complete=False)
    named = tuple(Named(name, field.expression) for name, field in zip(names, fields, strict=True))
    columns = tuple(replace(field, name=name) for name, field in zip(names, fields, strict=True))
    return replace(relation, stage=Project(columns, relation.stage, named))


def _select(context: Context, select: exp.Select) -> Relation:
    select = with_groups_apart(with_named_windows(context, first_of_each(context, select)))
    scope = _from(context, select)
    if scope is None:
        return NOTHING
    select, scope = _with_values(context, select, scope)
    items = _items(context, select, scope)
    qualify = _qualify(context, select, scope, items)
    scope, items = _expanded(context, scope, items)
    stage = scope.stage
    if select.args.get("having") and not is_grouped(select, items):
        hint = "Write WHERE in place of HAVING."
        context.refuse(QueryRefused, "has HAVING without a group", select.args["having"], hint=hint)
    if is_grouped(select, items):
        grouped = group(context, select, scope, items, qualify)
        stage, items, qualify = grouped.stage, grouped.items, grouped.qualify
    stage, items, qualify = over(context, stage, items, qualify)
    stage = filtered(context, stage, conjuncts_of(qualify))
    stage = _project(context, select, stage, items)
    if select.args.get("distinct"):
        check_distinct(context, [stage], select)
        stage = distinct(stage, context.origin(select))
    return Relation(stage, scope.complete or not any(_is_star(node) for node in select.expressions))


def _with_values(context: Context, select: exp.Select, scope: Scope) -> tuple[exp.Select, Scope]:
    """The SELECT with columns instead of its subqueries that stand for values."""
    nodes = []
    for node in select.expressions:
        lifted, scope = with_values(context, node, scope, lower)
        nodes.append(lifted)
    if all(one is other for one, other in zip(nodes, select.expressions, strict=True)):
        return select, scope
    copy = select.copy()
    copy.set("expressions", nodes)
    return copy, scope


# FROM, JOIN, WHERE


def _from(context: Context, select: exp.Select) -> Scope | None:
    clause = select.args.get("from_")
    if clause is None:
        hint = "Add FROM with a stream, a table or a view."
        context.refuse(QueryRefused, "reads nothing", select, hint=hint)
        return None
    if (as_of := sql.as_of(clause.this)) is not None and sql.known_at(clause.this) is None:
        hint = "Leave it out, and say which instant is meant when you query the view's changes."
        detail = "A view is kept as time goes on: none shows what was at one instant."
        what = "reads a table as of an instant without joining it"
        context.refuse(QueryRefused, what, as_of, detail=detail, hint=hint)
    scope = Scope.of(*_item(context, clause.this))
    if (match := select.args.get("match")) is not None:
        scope = Scope.of(match.alias or scope.sources[0].name, recognized(context, match, scope))
    where = conjuncts_of(select.args["where"].this) if select.args.get("where") else []
    for node in select.args.get("joins") or ():
        scope, where = _join(context, node, scope, where)
    for generator in select.args.get("laterals") or ():
        scope = expand(context, scope, generator)
    for condition in [node for node in where if is_membership(node)]:
        scope = membership(context, condition, scope, lower)
    plain = []
    for condition in [node for node in where if not is_membership(node)]:
        condition, scope = with_values(context, condition, scope, lower, is_condition=True)
        plain.append(condition)
    return scope.on(filtered(context, scope.stage, [bind(context, node, scope) for node in plain]))


def _item(context: Context, node: exp.Expr) -> tuple[str, Relation]:
    name, relation = source(context, node, lower)
    alias = node.args.get("alias")
    for pivot in node.args.get("pivots") or ():
        relation = pivoted(context, pivot, name, relation, lower)
        name, alias = pivot.alias or name, pivot.args.get("alias") or alias
    names = [column.name for column in alias.columns] if alias else []
    return name, rename(context, node, relation, names) if names else relation


def _join(context: Context, node: exp.Join, scope: Scope, where: list[exp.Expr]) -> tuple[Scope, list[exp.Expr]]:
    if is_lateral(node):
        return lateral(context, node, scope, lower), where
    name, relation = _item(context, node.this)
    right = Scope.of(name, relation)
    more = [condition for condition in where if _spans(condition, scope, right)] if _is_inner(node) else []
    joined = join(context, node, scope, name, relation, more)
    return joined, [condition for condition in where if condition not in more]


def _is_inner(node: exp.Join) -> bool:
    return not node.side and node.kind.upper() in ("", "INNER", "CROSS")


def _spans(condition: exp.Expr, left: Scope, right: Scope) -> bool:
    """Tells whether a condition in WHERE speaks of both sides of a join and of nothing else."""
    if condition.find(exp.Query) is not None:
        return False
    sides = [
        {"l" for _ in left.find(column.name, column.table or None)}
        | {"r" for _ in right.find(column.name, column.table or None)}
        for column in columns_of(condition)
    ]
    return all(len(side) == 1 for side in sides) and set().union(*sides) == {"l", "r"}


def filtered(context: Context, stage: Stage, conditions: list[exp.Expr]) -> Stage:
    """The stage with a Filter on it, and with a ranking that a condition limits turned into the stage it means."""
    rest = []
    for condition in conditions:
        ranked = first_rows(stage, condition)
        if ranked is None:
            rest.append(condition)
            ranked = up_to_rows(stage, condition) if context.view.is_forever else None
        stage = ranked or stage
    if not rest:
        return stage
    whole = exp.and_(*(part.copy() for part in rest)) if len(rest) > 1 else rest[0]
    return Filter(
        stage.columns, stage, expression(context, whole, stage, clause="WHERE"), origin=context.origin(rest[0])
    )


# The output columns


def _items(context: Context, select: exp.Select, scope: Scope) -> list[Item]:
    items: list[Item] = []
    for node in select.expressions:
        items += _star(context, node, scope) if _is_star(node) else [_one(context, node, scope, items)]
    return _told_apart(items) if _is_named_elsewhere(select) else items


def _is_named_elsewhere(query: exp.Expr) -> bool:
    """Tells whether the names of a query's columns show nowhere: a union has those of its first, an alias lists all."""
    while isinstance(parent := query.parent, exp.Subquery | exp.SetOperation | exp.CTE):
        if isinstance(parent, exp.SetOperation) and query is parent.expression and not parent.args.get("by_name"):
            return True
        if (alias := parent.args.get("alias")) is not None:
            return bool(alias.columns)
        query = parent
    return isinstance(query.parent, exp.In)


def _told_apart(items: list[Item]) -> list[Item]:
    names: list[str] = []
    for item in items:
        names.append(unique_name(item.name, names))
    return [replace(item, name=name) for item, name in zip(items, names, strict=True)]


def _expanded(context: Context, scope: Scope, items: list[Item]) -> tuple[Scope, list[Item]]:
    """A generator among the items gives a row per element: it becomes a stage, and the item its column."""
    expanded: list[Item] = []
    for item in items:
        if is_generator(item.node):
            scope, name = expand_item(context, scope, item)
            item = replace(item, node=exp.column(exp.to_identifier(name)))
        expanded.append(item)
    return scope, expanded


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def _star(context: Context, node: exp.Expr, scope: Scope) -> list[Item]:
    star = node.this if isinstance(node, exp.Column) else node
    owner = node.table if isinstance(node, exp.Column) else ""
    if owner and scope.source(owner) is None:
        known = [source.name for source in scope.sources]
        hint = did_you_mean(owner, known) or f"Write {' or '.join(f'{name}.*' for name in known if name) or '*'}."
        context.refuse(QueryRefused, f'reads "{owner}.*", but no input has that name', node, hint=hint)
    left_out = {column.name.lower() for column in star.args.get("except_") or ()}
    for column in star.args.get("except_") or ():
        if scope.complete and not scope.find(column.name, owner or None):
            refuse_unknown_column(context, column, [column.name], [scope])
    return [
        Item(name, exp.column(exp.to_identifier(field.name)), node)
        for name, field in scope.star(owner or None)
        if name.lower() not in left_out
    ]


def _one(context: Context, node: exp.Expr, scope: Scope, before: list[Item]) -> Item:
    aliases = {item.name.lower(): item.node for item in before}
    inner = node.this if isinstance(node, exp.Alias) else node
    name = node.alias or (inner.name if isinstance(inner, exp.Column | exp.Dot) else "")
    if not name and not _is_named_elsewhere(node.find_ancestor(exp.Select) or node):
        context.refuse(
            UnnamedColumn,
            "has an output column without a name",
            node,
            detail=f"The column is {inner.sql(dialect=sql.Headwater, comments=False)}.",
            hint=_name_for(inner, scope),
        )
    return Item(name or f"column_{len(before) + 1}", bind(context, inner, scope, aliases), node)


def _name_for(inner: exp.Expr, scope: Scope) -> str:
    """The words that give an output column a name."""
    if isinstance(inner, exp.Literal) and inner.is_string and scope.find(inner.name):
        return f"Write `{inner.name}`, or leave the quotes out: what stands in double quotes is a text."
    call = call_of(inner)
    return f"Give it a name with AS: {sql.spell(inner)} AS {call.info.name if call else 'name'}."


def _qualify(context: Context, select: exp.Select, scope: Scope, items: list[Item]) -> exp.Expr | None:
    clause = select.args.get("qualify")
    if clause is None:
        return None
    return bind(context, clause.this, scope, {item.name.lower(): item.node for item in items})


def _project(context: Context, select: exp.Select, stage: Stage, items: list[Item]) -> Stage:
    named: list[Named] = []
    twice: dict[int, list[Item]] = {}
    for item in items:
        if item.name.lower() in {shown.name.lower() for shown in named}:
            twice.setdefault(id(item.written), []).append(item)
            continue
        named.append(Named(item.name, expression(context, item.node, stage)))
    for several in twice.values():
        _refuse_twice(context, several)
    return Project(tuple(passed(column, stage) for column in named), stage, tuple(named), origin=context.origin(select))


def _refuse_twice(context: Context, items: list[Item]) -> None:
    """Report output columns whose names are taken; those of one `*` at once."""
    written, names = items[0].written, [item.name for item in items]
    shown = " and ".join(f'"{name}"' for name in names)
    hint = "Give one of them another name with AS."
    if _is_star(written):
        hint = f"Write {sql.spell(written)} EXCEPT ({', '.join(names)}), and those you need with names of their own."
    context.refuse(QueryRefused, f"has two output columns named {shown}", written, hint=hint)


def distinct(stage: Stage, origin: Origin | None) -> Stage:
    """One row per value of all columns."""
    return Deduplicate(stage.columns, stage, tuple(field.expression for field in stage.columns), origin=origin)
