"""Trees of expressions: the columns they name, and the spots in the author's text that their nodes stand for."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

_POSITION = ("line", "col", "start", "end")
VALUE_OF = "__value"
"""The beginning of the name of a subquery that stands for a value."""
WRITTEN = "written"
"""The note on a bound column that says how its author names it."""
_UNIT_FIRST = ("dateadd", "date_add", "datediff", "date_diff", "timestampadd", "timestampdiff")
"""With three arguments, the first is a word like DAY."""


def own_nodes(root: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression; a subquery is one of them, and what is inside it is not."""
    return root.walk(prune=lambda node: isinstance(node, exp.Query))


def columns_of(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns that an expression names, without those of subqueries, parameters of lambdas and units of time."""
    for inner in own_nodes(node):
        is_name = isinstance(inner, exp.Column) and not isinstance(inner.this, exp.Star)
        if isinstance(inner, exp.Column) and is_name and not _is_parameter(inner) and not _is_unit(inner):
            yield inner


def takes_unit(function: str, arguments: int) -> bool:
    """Tells whether the first of so many arguments is a unit of time: a word, as in dateadd(DAY, 1, at)."""
    return arguments == 3 and function.lower() in _UNIT_FIRST


def _is_unit(column: exp.Column) -> bool:
    call = column.parent
    if not isinstance(call, exp.Anonymous) or not takes_unit(call.name, len(call.expressions)):
        return False
    return call.expressions[0] is column


def _is_parameter(column: exp.Column) -> bool:
    name = column.parts[0].name.lower()
    parent = column.parent
    while parent is not None:
        if isinstance(parent, exp.Lambda) and name in {parameter.name.lower() for parameter in parent.expressions}:
            return True
        parent = parent.parent
    return False


def locate(new: exp.Expr, old: exp.Expr) -> exp.Expr:
    """The new node, standing where the old one stood in the author's text; its parts stay where they are."""
    holder = old.parts[0] if isinstance(old, exp.Column) else old
    position = {key: value for key, value in holder.meta.items() if key in _POSITION}
    new.meta.update(position)
    if isinstance(new, exp.Column):
        new.this.meta.update(position)
    return new


def move(new: exp.Expr, old: exp.Expr) -> exp.Expr:
    """The new node and all its parts, standing where the old one stood: their own positions are of another text."""
    for part in new.walk():
        for key in _POSITION:
            part.meta.pop(key, None)
    return locate(new, old)
