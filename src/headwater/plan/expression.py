"""Typed expressions: a bound tree becomes Spark SQL with a type, the columns it reads, and what speaks against it.

Types are derived from the types of the columns of a stage; functions are checked for being known and pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
from sqlglot import exp

from headwater import model, sql
from headwater.findings import ImpureFunction, QueryRefused, TypeMismatch
from headwater.operators import Ancestor, Expression, Field, Stability, Stage
from headwater.operators.project.stage import projected
from headwater.plan.calls import call_of, calls_in, impure_detail, is_aggregate, unwrapped
from headwater.plan.context import Context
from headwater.plan.functions import SOURCE, Kind
from headwater.plan.functions import find as find_function
from headwater.plan.own_function import called
from headwater.plan.positions import WRITTEN, columns_of
from headwater.plan.spark_type import UNKNOWN, SparkType, from_arrow, to_arrow
from headwater.plan.typing.coercion import common, holds, is_orderable
from headwater.plan.typing.environment import Columns
from headwater.plan.typing.expression import Typer

_NEVER_NULL = {"count", "count_if", "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"}
_NEVER_COMPARING = {"count", "collect_list", "array_agg", "listagg", "string_agg"}
_NEVER_COMPARING |= {"first", "first_value", "any_value", "last", "last_value", "nth_value", "lag", "lead"}
"""Aggregates and window functions that take texts as they are."""
Find = Callable[[exp.Column], Field | None]


class _Stages:
    """The environment in which bound expressions are typed: the columns of one stage, or of the two sides of a join."""

    def __init__(self, find: Find) -> None:
        self.find = find

    def column(self, node: exp.Column) -> SparkType | None:
        """The type of a column."""
        field = self.find(node)
        return from_arrow(field.type) if field is not None else None

    def star(self, _node: exp.Expr) -> Columns:
        """Stars are expanded before an expression is typed."""
        return ()

    def query(self, _node: exp.Query) -> Columns:
        """Subqueries are refused before an expression is typed."""
        return ()


def text(node: exp.Expr) -> str:
    """The expression in Spark SQL, in its one spelling."""
    return sql.spell(node)


def expression(context: Context, node: exp.Expr, stage: Stage, clause: str | None = None) -> Expression:
    """A bound expression over a stage. With `clause` (WHERE, ON, …) it is a condition, and must be BOOLEAN."""
    return _typed(context, node, lambda column: stage.column(column.name), clause)


def pair_expression(context: Context, node: exp.Expr, left: Stage, right: Stage) -> Expression:
    """A bound condition over both sides of a join."""
    return _typed(context, node, lambda column: (left if column.table == "l" else right).column(column.name), "ON")


def _typed(context: Context, node: exp.Expr, find: Find, clause: str | None) -> Expression:
    root = exp.Paren(this=node.copy())
    own = called(context.functions)
    typer = Typer(_Stages(find), sql.Headwater, own)
    kind = typer.type(root.this)
    if clause is not None:
        typer.problems.clear()
        typer.condition(root.this, clause)
    for problem in typer.problems:
        summary, detail, hint = (as_named(said, root) for said in (problem.summary, problem.detail, problem.hint))
        hint = hint.replace(SOURCE, context.first_source()) if hint else None
        context.refuse(problem.kind, summary or "", problem.node, detail=detail, hint=hint, **problem.fields)
    check_purity(context, root, clause)
    check_kinds(context, root, clause)
    check_own(context, root, own, clause)
    reads = sorted({f"{column.table}.{column.name}" if column.table else column.name for column in columns_of(root)})
    return Expression.of(root.this, to_arrow(kind), _is_nullable(root.this, find), tuple(reads))


def as_named(said: str | None, bound: exp.Expr) -> str | None:
    """The words about a bound expression, with its columns named as its author names them."""
    names = {
        f"{column.table}.{column.name}" if column.table else column.name: column.meta[WRITTEN]
        for column in columns_of(bound)
        if WRITTEN in column.meta
    }
    if not said or all(name == written for name, written in names.items()):
        return said
    known = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.'])({known})(?![\w('])", lambda found: names[found[1]], said)


_IMPURE_HINTS = {
    "clock": "Use the event time, _arrived_at, or another column of the event.",
    "random": "Use a column of the event: _id AS event_id, or xxhash64(id) for what only has to be spread.",
}
_NO_CLOCK = "Leave the condition out, and compare the event time when you query the view: a view reads no clock."


def check_purity(context: Context, root: exp.Expr, clause: str | None = None) -> None:
    """Report calls whose value depends on when or where they run."""
    for call in calls_in(root):
        impurity = call.info.impurity
        if impurity is not None and not call.is_pure:
            context.refuse(
                ImpureFunction,
                f'calls "{call.info.name}", which is not a pure function',
                call.node,
                detail=impure_detail(call),
                hint=impurity.hint or _pure_hint(impurity.why, clause),
                function=call.info.name,
            )


def _pure_hint(why: str, clause: str | None) -> str:
    """The words to write instead of a call that depends on when or where it runs."""
    if "clock" in why and clause == "WHERE":
        return _NO_CLOCK
    return next((hint for word, hint in _IMPURE_HINTS.items() if word in why), "Use a column of the event.")


def check_own(context: Context, root: exp.Expr, own: Mapping[str, model.Function], clause: str | None) -> None:
    """Report calls of functions in Python where Spark can't call them."""
    for call in root.find_all(exp.Anonymous):
        function = own.get(call.name)
        inside = "a lambda" if call.find_ancestor(exp.Lambda) else "the condition of a join" if clause == "ON" else None
        if function is not None and inside:
            context.refuse(
                QueryRefused,
                f'calls the Python function "{function.name}" in {inside}',
                call,
                hint="Compute it as a column of a subquery in FROM, and use the column here.",
                function=function.name,
            )


_MEANT: dict[Kind, tuple[str, str]] = {
    Kind.AGGREGATE: ("aggregates with", "Aggregate in SELECT, HAVING or QUALIFY, or in a subquery."),
    Kind.WINDOW: ("ranks rows with", "Give it an OVER clause in SELECT, and filter by it in QUALIFY."),
    Kind.TABLE: ("makes a table with", "Spark calls it in FROM, and a view reads streams, tables and views alone."),
    Kind.GENERATOR: ("makes rows with", "Write LATERAL VIEW, or let it be a column of its own in SELECT."),
}


_ALONE = {Kind.WINDOW: "without OVER"}


def check_kinds(context: Context, root: exp.Paren, clause: str | None) -> None:
    """Report calls that look at many rows, or make many, where one row is meant, and `*` where one value is meant."""
    for star in root.find_all(exp.Star):
        unknown = isinstance(star.parent, exp.Anonymous) and find_function(star.parent.name) is None
        if not isinstance(star.parent, exp.Count) and not unknown:
            context.refuse(QueryRefused, "uses * where a value is meant", star, hint="Name the columns.")
    whole = unwrapped(root.this)
    if clause is None and (isinstance(whole, exp.Window) or (call_of(whole) and is_aggregate(whole))):
        return
    for call in calls_in(root):
        alone = clause is None and call.node is whole and call.info.kind is Kind.GENERATOR
        if call.info.kind in _MEANT and not alone:
            what, hint = _MEANT[call.info.kind]
            where = f"in {clause}" if clause else _ALONE.get(call.info.kind, "inside an expression")
            context.refuse(
                QueryRefused, f'{what} "{call.info.name}" {where}', call.node, hint=hint, function=call.info.name
            )


def _is_nullable(node: exp.Expr, find: Find) -> bool:
    node = unwrapped(node.this if isinstance(node, exp.Window) else node).unnest()
    if isinstance(node, exp.Column):
        field = find(node)
        return field is None or field.nullable
    call = call_of(node)
    if call is not None and call.info.name == "coalesce":
        return all(_is_nullable(argument, find) for argument in call.arguments)
    constant = isinstance(node, exp.Literal | exp.Boolean)
    return not constant and not (call is not None and call.info.name in _NEVER_NULL)


def check_key(context: Context, key: Expression, node: exp.Expr, stage: Stage) -> None:
    """Report a term of GROUP BY whose values Spark can't tell apart, or takes for equal though they aren't."""
    kind = from_arrow(key.type)
    if _is_collated(key) or (holds(kind, "string") and _has_collated(stage)):
        _refuse_collated(context, f'groups by "{text(node)}", which is compared by a collation', node)
    if holds(kind, "variant") or holds(kind, "interval"):
        context.refuse(
            TypeMismatch,
            f'groups by "{text(node)}", whose values can\'t be told apart',
            node,
            detail=f"It is {str(kind).upper()}.",
            hint="Cast it, or group by something that it holds.",
        )


def check_equal(context: Context, sides: Sequence[Expression], stages: Sequence[Stage], at: exp.Expr) -> None:
    """Report a join by texts that a collation takes for equal: the two sides of a pair, each over its own stage.

    Joins look for partners by the bytes of a key.
    """
    texts = all(holds(from_arrow(side.type), "string") for side in sides)
    if any(map(_is_collated, sides)) or (texts and any(map(_has_collated, stages))):
        context.refuse(
            QueryRefused,
            "joins by a text that is compared by a collation",
            at,
            detail="Partners are found by the bytes of a text, which differ in texts that it takes for equal.",
            hint="Compare a form that equal texts share, on both sides: lower(…) = lower(…).",
        )


def check_distinct(context: Context, stages: Sequence[Stage], at: exp.Expr) -> None:
    """Report a column of DISTINCT rows whose values Spark can't compare, or takes for equal though they are not.

    The rows are those of one stage, or those of several together.
    """
    if any(map(_has_collated, stages)):
        _refuse_collated(context, "takes DISTINCT rows with a text that is compared by a collation", at)
    for field in stages[0].visible:
        kind = from_arrow(field.type)
        if not is_orderable(kind):
            context.refuse(
                TypeMismatch,
                f'takes DISTINCT rows with a column "{field.name}" whose type has no order',
                at,
                detail=f"It is {str(kind).upper()}.",
                hint="Leave it out, or cast it, like to_json(…).",
                column_name=field.name,
            )


def check_united(context: Context, stages: Sequence[Stage], at: exp.Expr) -> None:
    """Report texts of which only those of some queries of a union have a collation: Spark takes them for two types."""
    if any(map(_has_collated, stages)):
        context.refuse(
            QueryRefused,
            "unites texts of which some are compared by a collation",
            at,
            detail="Spark unites columns of one type, and a collation is a part of it.",
            hint="Leave COLLATE out here, and compare lower(…) where texts are compared.",
        )


def _has_collated(stage: Stage) -> bool:
    """Tells whether one of the columns that a stage is made of is a text with a collation."""
    return any(map(_is_collated, projected(stage)))


def _is_collated(some: Expression) -> bool:
    """Tells whether an expression gives a text that is compared by a collation from then on."""
    return holds(from_arrow(some.type), "string") and _names_collation(some.tree)


def _names_collation(node: exp.Expr) -> bool:
    return node.find(exp.Collate) is not None or any(call.info.name == "collate" for call in calls_in(node))


def _refuse_collated(context: Context, what: str, at: exp.Expr) -> None:
    context.refuse(
        QueryRefused,
        what,
        at,
        detail="Texts that it takes for equal are one group, and which of them is shown would depend on their order.",
        hint="Group by lower(…), or by another form that equal texts share.",
    )


def stability_of(node: exp.Expr, stage: Stage) -> tuple[Stability, str | None]:
    """The effect of re-batching on the value of an aggregate call, and why."""
    call = call_of(node)
    if call is None:
        return Stability.EXACT, None
    typer = Typer(_Stages(lambda column: stage.column(column.name)), sql.Headwater)
    kinds = [typer.type(argument.copy()) for argument in call.arguments if not isinstance(argument, exp.Lambda)]
    return call.info.explain_stability(kinds, call.distinct)


def compares_collated(node: exp.Expr, stage: Stage) -> bool:
    """Tells whether an aggregate call compares texts by a collation, which takes some for equal that aren't."""
    call = call_of(node)
    if call is None or (call.info.name in _NEVER_COMPARING and not call.distinct):
        return False
    typer = Typer(_Stages(lambda column: stage.column(column.name)), sql.Headwater)
    texts = [node for node in call.arguments if holds(typer.type(node.copy()), "string")]
    return any(map(_names_collation, texts)) or (bool(texts) and _has_collated(stage))


def generated_columns(node: exp.Expr, stage: Stage) -> tuple[list[str], list[pa.DataType]]:
    """The columns that a generator gives: the names that Spark has for them, and their types."""
    copy = exp.Paren(this=node.copy()).this
    typer = Typer(_Stages(lambda column: stage.column(column.name)), sql.Headwater)
    kind = typer.type(copy)
    generated = next(iter(typer.generated.values()), None)
    if generated is None:
        return ["col"], [to_arrow(kind)]
    return list(generated.labels), [to_arrow(part) for part in generated.parts]


def ancestors_of(expression: Expression, stage: Stage) -> frozenset[Ancestor]:
    """The columns of topics that an expression over a stage derives from."""
    fields = (stage.column(name) for name in expression.reads)
    return frozenset(ancestor for field in fields if field is not None for ancestor in field.ancestors)


def common_type(kinds: Sequence[pa.DataType]) -> pa.DataType | None:
    """The type that columns of these types have in common, None if they have none."""
    shared = common([from_arrow(kind) for kind in kinds])
    return None if shared is None or shared == UNKNOWN else to_arrow(shared)
