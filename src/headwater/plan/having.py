"""HAVING with a subquery: the groups become a subquery of their own, and the condition the WHERE around it.

`GROUP BY r HAVING count(*) > (SELECT avg(n) FROM t)` is read as
`SELECT … FROM (SELECT …, count(*) AS n GROUP BY r) WHERE n > (SELECT avg(n) FROM t)`, so that a subquery is joined with
the groups and not with the rows that they are made of.
"""

from __future__ import annotations

from sqlglot import exp

from headwater.plan.calls import is_aggregate
from headwater.plan.positions import columns_of, locate

_BEHIND = ("distinct", "qualify", "order", "limit", "offset", "windows")
"""Clauses that look at the groups that HAVING has left."""


def with_groups_apart(select: exp.Select) -> exp.Select:
    """The SELECT with the subqueries of its HAVING in a WHERE; as it is where that isn't the same."""
    having = select.args.get("having")
    if having is None or having.find(exp.Query) is None or not _can_be_apart(select):
        return select
    groups = select.copy()
    root = exp.Paren(this=groups.args.pop("having").this)
    shown = {item.alias_or_name.lower() for item in groups.expressions}
    for number, aggregate in enumerate(list(_aggregates(root))):
        name = f"__having{number}"
        groups.append("expressions", exp.alias_(aggregate.copy(), name))
        aggregate.replace(locate(exp.column(name), aggregate))
    for key in columns_of(groups.args.get("group") or root):
        if key.name.lower() not in shown:
            groups.append("expressions", locate(exp.alias_(key.copy(), key.name, quoted=True), key))
            shown.add(key.name.lower())
    name = select.args["from_"].this.alias_or_name
    items = [exp.column(exp.to_identifier(item.alias_or_name, quoted=True)) for item in select.expressions]
    located = [locate(item, original) for item, original in zip(items, select.expressions, strict=True)]
    inner = exp.Subquery(this=groups, alias=exp.TableAlias(this=exp.to_identifier(name)))
    apart = exp.Select(expressions=located, from_=exp.From(this=inner), where=exp.Where(this=root.this))
    return locate(apart, select)  # type: ignore[return-value]


def _can_be_apart(select: exp.Select) -> bool:
    """Tells whether every item has a name, one relation is read, and nothing looks at what HAVING has left."""
    plain = not any(select.args.get(name) for name in (*_BEHIND, "joins", "laterals"))
    items = select.expressions
    named = all(item.alias_or_name and not isinstance(item, exp.Star) for item in items)
    return plain and named and not any(item.find(exp.Window, exp.Query) for item in items)


def _aggregates(root: exp.Expr) -> list[exp.Expr]:
    """The aggregates of a condition, those of its subqueries left out."""
    nodes = root.walk(prune=lambda node: isinstance(node, exp.Query) or is_aggregate(node))
    return [node for node in nodes if not isinstance(node, exp.Query) and is_aggregate(node)]
