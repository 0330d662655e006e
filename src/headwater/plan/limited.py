"""LIMIT: ORDER BY with a number of rows keeps the first rows of all, and either one alone has no meaning in a view.

`ORDER BY amount DESC LIMIT 10 OFFSET 5` are the rows of rank 6 to 15, and `FETCH FIRST 10 ROWS WITH TIES` those of
rank 10 and better, where rows that are equal in the order have one rank. The rank is a hidden column: a store finds
rows by it that nothing else tells apart. So are those that rows are ordered by and that the query doesn't show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from headwater.findings import QueryRefused
from headwater.model.column import HIDDEN_KEY, RESERVED_PREFIX
from headwater.operators import Field, Filter, Stage, TopN
from headwater.plan.bind import bind
from headwater.plan.calls import is_aggregate
from headwater.plan.context import Context, Relation
from headwater.plan.distinct_on import is_of_each
from headwater.plan.expression import expression
from headwater.plan.over import ordering
from headwater.plan.positions import columns_of, locate, own_nodes
from headwater.plan.scope import Scope

RANK = f"{HIDDEN_KEY}rank"
_ORDER = f"{RESERVED_PREFIX}order_"


def with_order(context: Context, select: exp.Select, lowered: Callable[[Context, exp.Select], Relation]) -> exp.Select:
    """The SELECT with what it is ordered by among its columns, where its own columns don't have that."""
    order = select.args.get("order")
    if order is None or select.args.get("limit") is None or select.args.get("distinct"):
        return select
    relation = lowered(replace(context, findings=[]), select)
    shown = {field.name.lower() for field in relation.stage.visible}
    others = [term for term in order.expressions if not _is_of(term.this, shown)]
    if not relation.complete or not others:
        return select
    copy = select.copy()
    terms = copy.args["order"].expressions
    for number, term in enumerate(order.expressions):
        if term in others:
            name = f"{_ORDER}{number}"
            copy.append("expressions", exp.alias_(terms[number].this.copy(), name))
            terms[number].set("this", locate(exp.column(name), term.this))
    return copy


def _is_of(term: exp.Expr, shown: set[str]) -> bool:
    """Tells whether an order can be computed from the columns that a query shows."""
    own = all(column.name.lower() in shown and not column.table for column in columns_of(term))
    return own and not any(is_aggregate(node) for node in own_nodes(term))


def limited(context: Context, query: exp.Query, relation: Relation) -> Relation:
    """The first rows of a query, where it asks for them."""
    order, limit, offset = (query.args.get(part) for part in ("order", "limit", "offset"))
    if offset is not None and limit is None:
        hint = "Say how many rows follow, with LIMIT; or leave it out: whoever queries the view can page through it."
        context.refuse(QueryRefused, "skips rows with OFFSET and keeps all others", offset, hint=hint)
        return relation
    if (order is None and limit is None) or is_of_each(query):
        return relation
    count, skipped = _number(limit), _number(offset) if offset is not None else 0
    if order is None or count is None or skipped is None:
        _refuse_half(context, order, limit)
        return relation
    return replace(relation, stage=_ranked(context, query, relation, count, skipped))


def _ranked(context: Context, query: exp.Query, relation: Relation, count: int, skipped: int) -> Stage:
    order, limit = _with_positions(context, query.args["order"], relation.stage), query.args["limit"]
    bound = bind(context, order, Scope.of("", relation))
    stage, origin = _with_order_hidden(relation.stage), context.origin(order)
    terms = ordering(context, bound, stage)  # type: ignore[arg-type]
    options = limit.args.get("limit_options")
    with_ties = options is not None and bool(options.args.get("with_ties"))
    if with_ties and skipped:
        hint = "Write QUALIFY rank() OVER (ORDER BY …) BETWEEN 6 AND 15."
        context.refuse(QueryRefused, "skips rows with OFFSET and keeps others WITH TIES", limit, hint=hint)
    columns = (*stage.columns, Field(RANK, pa.int32(), False, hidden=True))
    ranking = "rank" if with_ties else "row_number"
    first = TopN(columns, stage, (), count + skipped, ranking, order=terms, rank=RANK, origin=origin)  # type: ignore[arg-type]
    if not skipped:
        return first
    behind = exp.GT(this=exp.column(RANK), expression=exp.Literal.number(skipped))
    return Filter(columns, first, expression(context, behind, first), origin=origin)


def _with_positions(context: Context, order: exp.Order, stage: Stage) -> exp.Order:
    """The order with columns in place of their numbers: `ORDER BY 2 DESC, 1`."""
    named = order.copy()
    for term, written in zip(named.expressions, order.expressions, strict=True):
        number = term.this
        if not isinstance(number, exp.Literal) or not number.is_int:
            continue
        if not 1 <= int(number.name) <= len(stage.visible):
            what = f"is ordered by column {number.name}, and has {len(stage.visible)}"
            context.refuse(
                QueryRefused, what, written, hint=f"Write a number from 1 to {len(stage.visible)}, or a name."
            )
            continue
        term.set("this", locate(exp.column(exp.to_identifier(stage.visible[int(number.name) - 1].name)), number))
    return named


def _with_order_hidden(stage: Stage) -> Stage:
    columns = tuple(replace(field, hidden=field.hidden or field.name.startswith(_ORDER)) for field in stage.columns)
    return stage if columns == stage.columns else replace(stage, columns=columns)


def _number(clause: exp.Expr | None) -> int | None:
    """The constant of a LIMIT or an OFFSET."""
    count = clause.args.get("expression") if clause is not None else None
    return int(count.name) if isinstance(count, exp.Literal) and count.is_int else None


def _refuse_half(context: Context, order: exp.Expr | None, limit: exp.Expr | None) -> None:
    if order is not None and limit is None:
        context.refuse(
            QueryRefused,
            "is ordered, but the rows of a view have no order",
            order,
            hint="Leave ORDER BY out and order when you query the view, or add LIMIT for the first rows.",
        )
    else:
        context.refuse(
            QueryRefused,
            "keeps a number of rows without saying which",
            limit,
            hint="Add ORDER BY before LIMIT, with a constant number of rows.",
        )
