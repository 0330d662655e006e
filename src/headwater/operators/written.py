"""Expressions as their author has them: the plan has names of its own for what nobody has named.

A call without an alias is a column that is named after its function (`sum`, `count_2`), and a column of the right side
of a join that the left side has too is named after both (`b_amount`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import singledispatch

from headwater.operators.expression import Expression
from headwater.operators.stage import Stage


@singledispatch
def given_names(_stage: Stage) -> Iterator[tuple[str, str]]:
    """The names that a stage has given to what its author has not named, and what the query has in their place."""
    return iter(())


def name_of_call(name: str, function: str, call: Expression) -> Iterator[tuple[str, str]]:
    """The name of a call, if its author has not named it, and the call."""
    if re.fullmatch(rf"{re.escape(function.lower())}(_\d+)?", name):
        yield name, call.sql


def as_written(expression: str, stages: Iterable[Stage]) -> str:
    """The expression with the calls and columns that a query has in place of the names that its plan has for them.

    A name that stands for several things stays.
    """
    known: dict[str, set[str]] = {}
    for stage in stages:
        for name, written in given_names(stage):
            known.setdefault(name, set()).add(written)
    meant = {name: written.pop() for name, written in known.items() if len(written) == 1}
    if not meant:
        return expression
    names = "|".join(map(re.escape, meant))
    return re.sub(rf"(?<![\w.'`])({names})(?![\w(.'`])", lambda found: meant[found[1]], expression)
