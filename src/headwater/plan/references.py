"""References: which relations a query names, so that views can be put in order before any is lowered."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from headwater import sql


def references(query: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes at which a query names a relation that isn't one of its own common table expressions."""
    for table in query.find_all(exp.Table):
        if (view := sql.late_view(table)) is not None:
            yield view
        if isinstance(table.this, exp.Identifier) and table.name.lower() not in _ctes_around(table):
            yield table


def _ctes_around(node: exp.Expr) -> set[str]:
    """The names of the common table expressions that a node can see: inside one, those before it."""
    seen: set[str] = set()
    below: exp.Expr = node
    while (parent := below.parent) is not None:
        if isinstance(parent, exp.With):
            before = parent.expressions[: parent.expressions.index(below)]
            seen |= {cte.alias.lower() for cte in before}
        elif (clause := parent.args.get("with_")) is not None and clause is not below:
            seen |= {cte.alias.lower() for cte in clause.expressions}
        below = parent
    return seen
