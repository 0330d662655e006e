"""LATERAL with LIMIT: the first rows of another input for each row, which is a join with a ranking.

`FROM shops s, LATERAL (SELECT id FROM stock i WHERE i.shop = s.shop ORDER BY pieces DESC LIMIT 3) t` pairs each shop
with the rows of rank 1 to 3 among those that have its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from headwater.findings import NotSupportedYet
from headwater.plan.bind import bind_pair
from headwater.plan.context import Context, Relation
from headwater.plan.join import pair
from headwater.plan.positions import locate
from headwater.plan.scope import Scope
from headwater.plan.source import NOTHING, source
from headwater.plan.subquery import split

Lower = Callable[[Context, exp.Query], Relation]
_NOWHERE = Scope(NOTHING.stage, (), {})
_KEY = "__key"


def is_limited(select: exp.Select) -> bool:
    """Tells whether a LATERAL subquery asks for its first rows, and for nothing else that isn't understood here."""
    parts = {name for name, value in select.args.items() if value}
    return {"order", "limit"} <= parts <= {"expressions", "from_", "where", "order", "limit", "kind"}


def with_first_rows(
    context: Context, select: exp.Select, items: list[exp.Alias], scope: Scope, name: str, lower: Lower, *, left: bool
) -> Scope | None:
    """The scope with the first rows of a LATERAL subquery beside each row; None where it was refused."""
    own = Scope.of(*source(replace(context, findings=[]), select.args["from_"].this, lower))
    inner, equal, other = split(select, own)
    count = select.args["limit"].expression
    if other or not equal or not (isinstance(count, exp.Literal) and count.is_int):
        what = "has LIMIT in a LATERAL subquery that isn't tied to its row by equality"
        hint = "Compare a column of it with one of the row in its WHERE, with =, and give LIMIT a number."
        context.refuse(NotSupportedYet, what, other[0] if other else select, hint=hint)
        return None
    keys = [node for node, _ in equal]
    named = [exp.alias_(key.copy(), f"{_KEY}{number}") for number, key in enumerate(keys)]
    ranked = exp.Select(expressions=[*named, *items])
    ranked.set("from_", select.args["from_"].copy())
    if inner:
        ranked.set("where", exp.Where(this=exp.and_(*(part.copy() for part in inner))))
    rank = exp.Window(
        this=exp.RowNumber(), partition_by=[key.copy() for key in keys], order=select.args["order"].copy()
    )
    first = exp.Qualify(this=exp.LTE(this=rank, expression=count.copy()))
    ranked.set("qualify", locate(first, select.args["limit"]))
    relation = lower(context, locate(ranked, select))  # type: ignore[arg-type]
    conditions: list[exp.Expr] = [
        exp.EQ(this=bind_pair(context, node, scope, _NOWHERE), expression=exp.column(f"{_KEY}{number}", table="r"))
        for number, (_, node) in enumerate(equal)
    ]
    joined = pair(context, scope, Scope.of(name, relation), "left" if left else "inner", conditions, select)
    last = replace(joined.sources[-1], visible=tuple(item.alias for item in items))
    return Scope(joined.stage, (*joined.sources[:-1], last), joined.merged)
