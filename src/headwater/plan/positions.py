"""Trees of expressions: the columns they name, and the places in the author's text that their nodes stand for."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

_PLACE = ("line", "col", "start", "end")


def columns_of(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns that an expression names, without those of subqueries and without the parameters of lambdas."""
    for found in node.walk(prune=lambda inner: isinstance(inner, exp.Query)):
        if isinstance(found, exp.Column) and not isinstance(found.this, exp.Star) and not _is_parameter(found):
            yield found


def _is_parameter(column: exp.Column) -> bool:
    name = column.parts[0].name.lower()
    parent = column.parent
    while parent is not None:
        if isinstance(parent, exp.Lambda) and name in {found.name.lower() for found in parent.expressions}:
            return True
        parent = parent.parent
    return False


def place(new: exp.Expr, old: exp.Expr) -> exp.Expr:
    """The new node, standing where the old one stood in the author's text; its parts keep their own places."""
    holder = old.parts[0] if isinstance(old, exp.Column) else old
    found = {key: value for key, value in holder.meta.items() if key in _PLACE}
    new.meta.update(found)
    if isinstance(new, exp.Column):
        new.this.meta.update(found)
    return new


def move(new: exp.Expr, old: exp.Expr) -> exp.Expr:
    """The new node and all its parts, standing where the old one stood: their own places are of another text."""
    for part in new.walk():
        for key in _PLACE:
            part.meta.pop(key, None)
    return place(new, old)
