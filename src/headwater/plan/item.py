"""Items: the output columns of a SELECT, each with its name and its bound expression."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True)
class Item:
    """One output column: its name, its bound expression, and the node that the author wrote."""

    name: str
    node: exp.Expr
    written: exp.Expr


def unique_name(wanted: str, taken: Collection[str]) -> str:
    """The wanted name, or with a number behind it if it is taken; names are compared without regard to case.

    >>> unique_name("sum", ["sum", "n"])
    'sum_2'
    """
    lower = {name.lower() for name in taken}
    candidates = (wanted if number == 1 else f"{wanted}_{number}" for number in range(1, len(lower) + 2))
    return next(name for name in candidates if name.lower() not in lower)
