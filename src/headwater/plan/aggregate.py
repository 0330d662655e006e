"""Aggregation: GROUP BY, aggregate calls and HAVING become the stage Aggregate and expressions over its columns.

Every aggregate call and every grouping expression is *lifted* out of the SELECT into a column of the Aggregate;
`sum(amount) / count(*) AS mean` becomes two calls and the quotient of their columns. What remains must not name a
column of the input: such a column has many values in one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from sqlglot import exp

from headwater import model
from headwater.findings import NotSupportedYet, QueryRefused, UngroupedColumn, WindowRefused
from headwater.operators import Aggregate, Call, Field, Named, Role, Stage
from headwater.plan.bind import Aliases, bind
from headwater.plan.calls import call_of, is_aggregate, unwrapped
from headwater.plan.context import Context
from headwater.plan.expression import ancestors_of, check_key, expression, text
from headwater.plan.form import check_form
from headwater.plan.functions import find
from headwater.plan.item import Item, unique_name
from headwater.plan.own_function import called
from headwater.plan.positions import VALUE_OF, WRITTEN, columns_of, locate, move, own_nodes
from headwater.plan.scope import Scope
from headwater.plan.sets import Copied, Grouping, Sets, copied, grouping_of
from headwater.plan.stability import check_stability, tolerance_of


@dataclass
class _Lifting:
    """The columns that an Aggregate will have, gathered while expressions are lifted. `keys` are by their SQL text."""

    context: Context
    stage: Stage
    keys: dict[str, Named] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    sets: Sets | None = None

    def lift(self, node: exp.Expr, name: str | None = None) -> exp.Expr:
        """A copy of a bound expression that names only columns of the Aggregate; `name` is what a lone call becomes."""
        root = exp.Paren(this=node.copy())
        self._lift(root.this, name)
        return cast(exp.Expr, root.this)

    def _lift(self, node: exp.Expr, name: str | None) -> None:
        key = None if isinstance(node, exp.Ordered) else self.keys.get(text(node))  # a term is spelled as its column
        if key is not None:
            node.replace(locate(exp.column(exp.to_identifier(key.name)), node))
        elif isinstance(node, exp.Grouping | exp.GroupingId):
            node.replace(move(self._set_of(node), node))
        elif is_aggregate(node):
            node.replace(locate(exp.column(exp.to_identifier(self._call(node, name).name)), node))
        elif self._is_unknown(node):
            expression(self.context, node, self.stage)  # which says so, in the author's words
            node.replace(locate(exp.Null(), node))
        elif isinstance(node, exp.Column) and node in list(columns_of(node.root())):
            self._refuse_ungrouped(node)
            node.replace(locate(exp.Null(), node))
        else:
            for child in list(node.iter_expressions()):
                self._lift(child, None)

    def _is_unknown(self, node: exp.Expr) -> bool:
        """Tells whether a node calls a function that neither Spark nor the project has: perhaps an aggregate."""
        known = isinstance(node, exp.Anonymous) and (find(node.name) or node.name in called(self.context.functions))
        return isinstance(node, exp.Anonymous) and not known

    def _call(self, node: exp.Expr, name: str | None) -> Call:
        spelled = text(node)
        if spelled not in self.calls:
            function = call_of(node)
            name_of_call = function.info.name if function else "call"
            self._check_nesting(node)
            stability = check_stability(self.context, node, self.stage, name_of_call)
            taken = {named.name for named in self.keys.values()} | {call.name for call in self.calls.values()}
            chosen = unique_name(name or name_of_call, taken)
            typed = expression(self.context, node, self.stage)
            check_form(self.context, node, typed.type)
            tolerance = tolerance_of(name_of_call, stability, node)
            self.calls[spelled] = Call(chosen, name_of_call, typed, stability, tolerance)
        return self.calls[spelled]

    def _set_of(self, node: exp.Grouping | exp.GroupingId) -> exp.Expr:
        """The value of `grouping(…)` and `grouping_id(…)` for the set that a group belongs to."""
        single = isinstance(node, exp.Grouping)
        name = "grouping" if single else "grouping_id"
        if self.sets is None:
            hint = "Group by GROUPING SETS (…), ROLLUP (…) or CUBE (…)."
            self.context.refuse(QueryRefused, f'calls "{name}" without sets of columns', node, hint=hint)
            return exp.Null()
        value = self.sets.flag(node.expressions[0]) if single else self.sets.number_of(node.expressions)
        if value is None:
            hint = "Name columns of GROUP BY."
            self.context.refuse(QueryRefused, f'asks "{name}" for something that it isn\'t grouped by', node, hint=hint)
        return value or exp.Null()

    def _check_nesting(self, node: exp.Expr) -> None:
        own = unwrapped(node)
        inner = next((inside for inside in own.walk() if inside is not own and is_aggregate(inside)), None)
        if inner is not None:
            self.context.refuse(
                QueryRefused,
                "aggregates an aggregate",
                inner,
                hint="Aggregate in a subquery or a view of its own, and aggregate its rows.",
            )

    def _refuse_ungrouped(self, node: exp.Column) -> None:
        if node.meta.get(WRITTEN, "").startswith(VALUE_OF):
            what = "uses a subquery as a value beside groups, which is not supported yet"
            hint = "Group in a subquery of its own: SELECT g.*, (SELECT …) AS … FROM (SELECT … GROUP BY …) AS g."
            self.context.refuse(NotSupportedYet, what, node, hint=hint)
            return
        self.context.refuse(
            UngroupedColumn,
            f'reads a column "{node.name}" that is neither grouped nor aggregated',
            node,
            hint=f"Add it to GROUP BY, or say which value of the group is meant, like max({node.name}).",
            column_name=node.name,
        )


@dataclass(frozen=True)
class Groups:
    """An Aggregate and the expressions over its columns."""

    stage: Aggregate
    items: list[Item]
    qualify: exp.Expr | None


def is_grouped(select: exp.Select, items: Sequence[Item]) -> bool:
    """Tells whether a SELECT aggregates."""
    nodes = [item.node for item in items] + [having for having in [select.args.get("having")] if having]
    return bool(select.args.get("group")) or any(_has_aggregate(node) for node in nodes)


def _has_aggregate(node: exp.Expr) -> bool:
    return any(is_aggregate(inside) and not isinstance(inside.parent, exp.Window) for inside in own_nodes(node))


def group(context: Context, select: exp.Select, scope: Scope, items: list[Item], qualify: exp.Expr | None) -> Groups:
    """The Aggregate of a SELECT, its items and its QUALIFY lifted, its HAVING bound to the output."""
    aliases: Aliases = {item.name.lower(): item.node for item in items}
    grouping = _grouping(context, select, scope, items, aliases)
    copies = copied(context, grouping, scope.stage, select.args.get("group") or select)
    lifting = _Lifting(context, copies.stage)
    for node in grouping.nodes:
        _add_key(lifting, node, items, copies)
    if grouping.sets:
        lifting.sets = Sets(grouping, {spelled: key.name for spelled, key in lifting.keys.items()}, copies.number)
        _add_number(lifting, copies)
    lifted = [replace(item, node=lifting.lift(item.node, item.name)) for item in items]
    having = _having(lifting, select, scope, aliases)
    shown = lifting.lift(qualify) if qualify is not None else None
    stage = _stage(lifting, select.args.get("group") or select)
    if having is not None:
        stage = replace(stage, having=expression(context, having, stage, clause="HAVING"))
    _check_window(context, select, stage)
    return Groups(stage, lifted, shown)


def _grouping(context: Context, select: exp.Select, scope: Scope, items: list[Item], aliases: Aliases) -> Grouping:
    clause = select.args.get("group")
    if clause is None:
        return Grouping([])
    if clause.args.get("all"):
        return Grouping([item.node for item in items if not _has_aggregate(item.node)])
    return grouping_of(context, clause, lambda node: _group_node(context, node, scope, items, aliases))


def _group_node(context: Context, node: exp.Expr, scope: Scope, items: list[Item], aliases: Aliases) -> exp.Expr:
    if isinstance(node, exp.Literal) and node.is_int:
        position = int(node.name)
        if 1 <= position <= len(items):
            return items[position - 1].node
        context.refuse(
            QueryRefused,
            f"groups by position {position}, but selects {len(items)} columns",
            node,
            hint="Write the column's name.",
        )
        return exp.Null()
    return bind(context, node, scope, aliases)


def _add_key(lifting: _Lifting, node: exp.Expr, items: list[Item], copies: Copied) -> None:
    spelled = text(node)
    if spelled in lifting.keys or isinstance(node, exp.Null):
        return
    if _has_aggregate(node):
        hint = "Group by columns, or by expressions over columns."
        lifting.context.refuse(QueryRefused, "groups by an aggregate", node, hint=hint)
        return
    same = next((item.name for item in items if text(item.node) == spelled), None)
    wanted = node.name if isinstance(node, exp.Column) else same or "key"
    taken = {named.name for named in lifting.keys.values()}
    name = unique_name(wanted, taken)
    copy = copies.columns.get(spelled)
    grouped = exp.column(exp.to_identifier(copy)) if copy is not None else node
    key = lifting.keys[spelled] = Named(name, expression(lifting.context, grouped, lifting.stage))
    check_key(lifting.context, key.expression, node, lifting.stage)


def _add_number(lifting: _Lifting, copies: Copied) -> None:
    """The number of the set, where it tells groups apart."""
    if copies.number is not None:
        number = exp.column(exp.to_identifier(copies.number))
        lifting.keys[text(number)] = Named(copies.number, expression(lifting.context, number, lifting.stage))


def _having(lifting: _Lifting, select: exp.Select, scope: Scope, aliases: Aliases) -> exp.Expr | None:
    clause = select.args.get("having")
    if clause is None:
        return None
    return lifting.lift(bind(lifting.context, clause.this, scope, aliases))


def _stage(lifting: _Lifting, at: exp.Expr) -> Aggregate:
    source = lifting.stage
    keys, calls = tuple(lifting.keys.values()), tuple(lifting.calls.values())
    key_fields = tuple(passed(named, source) for named in keys)
    call_fields = tuple(
        Field(call.name, call.expression.type, call.expression.nullable, ancestors_of(call.expression, source))
        for call in calls
    )
    window = next((field.window for field in key_fields if field.is_window_bound and not field.nullable), None)
    return Aggregate((*key_fields, *call_fields), source, keys, calls, None, window, origin=lifting.context.origin(at))


def passed(named: Named, source: Stage) -> Field:
    """The field that a named expression becomes: with the role of the column, if the expression is a column."""
    reads = named.expression.reads
    column = source.column(reads[0]) if len(reads) == 1 else None
    if column is not None and text(exp.column(exp.to_identifier(column.name))) == named.expression.sql:
        return replace(column, name=named.name, hidden=False)
    typed = named.expression
    return Field(named.name, typed.type, typed.nullable, ancestors_of(typed, source))


def _check_window(context: Context, select: exp.Select, stage: Aggregate) -> None:
    roles = {field.role for field in stage.columns if field.window == stage.window}
    if isinstance(stage.window, model.Cumulate | model.Session) and Role.WINDOW_END not in roles:
        kind = type(stage.window).__name__.upper()
        context.refuse(
            WindowRefused,
            f"groups by the start of a {kind} window without its end",
            select.args.get("group") or select,
            detail="Several windows share a start, and would be counted as one.",
            hint="Group by window_start and window_end.",
        )
    if isinstance(stage.window, model.Session):
        _check_session(context, select, stage, stage.window)


def _check_session(context: Context, select: exp.Select, stage: Aggregate, window: model.Session) -> None:
    source_columns = {named.expression.sql.lower() for named in stage.keys}
    bounds = {field.name.lower() for field in stage.input.columns if field.role and field.role.bounds_window}
    grouped, partitioned = source_columns - bounds, {name.lower() for name in window.keys}
    if grouped != partitioned:
        keys = ", ".join(sorted(grouped)) or "nothing"
        parted = ", ".join(window.keys) or "nothing"
        context.refuse(
            WindowRefused,
            "groups sessions by other columns than those they are made of",
            select.args.get("group") or select,
            detail=f"The sessions are partitioned by {parted}, and grouped by {keys}.",
            hint="Name the same columns in PARTITION BY and in GROUP BY.",
        )
