"""DISTINCT ON, as PostgreSQL has it: the first row of each group of rows in an order, which is a ranking.

`SELECT DISTINCT ON (k) k, v FROM t ORDER BY k, v DESC` is read as
`SELECT k, v FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) = 1`.
"""

from __future__ import annotations

from sqlglot import exp

from headwater import sql
from headwater.findings import QueryRefused
from headwater.plan.context import Context
from headwater.plan.positions import locate


def is_of_each(query: exp.Expr) -> bool:
    """Tells whether a query is a DISTINCT ON, whose ORDER BY says which rows are the first."""
    distinct = query.args.get("distinct")
    return isinstance(distinct, exp.Distinct) and bool(distinct.args.get("on"))


def first_of_each(context: Context, select: exp.Select) -> exp.Select:
    """The SELECT with a ranking instead of its DISTINCT ON; as it is if it has none."""
    if not is_of_each(select):
        return select
    clause = select.args["distinct"]
    on = clause.args["on"].unnest()
    keys = list(on.expressions) if isinstance(on, exp.Tuple) else [on]
    order = select.args.get("order")
    spelled = {sql.spell(key) for key in keys}
    terms = [term for term in (order.expressions if order else ()) if sql.spell(term.this) not in spelled]
    refused = _refused(select, keys, terms)
    if refused is not None:
        context.refuse(QueryRefused, refused[0], clause, hint=refused[1])
    ranked = select.copy()
    ranked.set("distinct", None)
    ranked.set("order", None)
    ranked.set("limit", None)
    by = exp.Order(expressions=[term.copy() for term in terms or [exp.Ordered(this=key) for key in keys]])
    first = exp.Window(this=exp.RowNumber(), partition_by=[key.copy() for key in keys], order=by)
    condition: exp.Expr = exp.EQ(this=first, expression=exp.Literal.number(1))
    ranked.set("qualify", locate(exp.Qualify(this=locate(condition, clause)), clause))
    return ranked


def _refused(select: exp.Select, keys: list[exp.Expr], terms: list[exp.Expr]) -> tuple[str, str] | None:
    """The fault of a DISTINCT ON, and what to do; None if it has none."""
    named = ", ".join(sql.spell(key) for key in keys)
    if not terms:
        hint = f"Add ORDER BY {named}, and what comes first, like at DESC."
        return "keeps one row of each without saying which, with DISTINCT ON", hint
    if select.args.get("qualify"):
        return "has both DISTINCT ON and QUALIFY", "Let one of them be a condition of a subquery."
    if select.args.get("limit"):
        return "has both DISTINCT ON and LIMIT", "Let a view of its own, or a subquery, have the first row of each."
    return None
