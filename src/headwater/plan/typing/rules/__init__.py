"""Rules: result types that depend on more than a pattern can say. `@name` in the catalogue is the function `name` here.

A rule takes a `Call` and gives its type, None where Spark's analyzer refuses these types, or raises `Refused` to say
why.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from headwater.plan.spark_type import SparkType
from headwater.plan.typing.call import Call
from headwater.plan.typing.rules import nested, operators, rows, values

Rule = Callable[[Call], SparkType | None]


@cache
def find_rule(name: str) -> Rule:
    """The rule that the catalogue names."""
    for module in (operators, values, nested, rows):
        rule: Rule | None = getattr(module, name, None)
        if rule is not None and rule.__module__ == module.__name__:
            return rule
    raise LookupError(f"the catalogue names a rule {name!r} that there isn't")
