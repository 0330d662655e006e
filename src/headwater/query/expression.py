"""Expressions in DuckDB's SQL. A node becomes a text whose type in DuckDB is the one that the node has in Spark.

Whatever has no rule is refused: nothing that stands in a statement is left out of what is asked of DuckDB. The rules
are in `leaves`, `operators`, `calls` and `window`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlglot import exp

from headwater import sql
from headwater.plan.spark_type import BOOLEAN, INT, SparkType
from headwater.plan.typing import type_of
from headwater.plan.typing.coercion import common
from headwater.query import arithmetic
from headwater.query.casts import converted, read_text
from headwater.query.refusal import refused
from headwater.query.spelling import is_opaque

Rule = Callable[[Any, Any], str]
"""A node in DuckDB's SQL: `rule(writer, node)`."""


def check_parts(node: exp.Expr, *known: str) -> None:
    """Refuse a node that has a part which nobody writes."""
    for part, value in node.args.items():
        if value not in (None, False, []) and part not in known:
            raise refused(f"A query has no {part.rstrip('_').replace('_', ' ').upper()} here: {spell(node)}.")


def spell(node: exp.Expr) -> str:
    """A node as a message has it."""
    text = sql.spell(node)
    return text if len(text) <= 80 else f"{text[:77]}…"


class Expressions(ABC):
    """Writes expressions. `now` is the instant that the statement began at, `names` are those that columns have."""

    rules: Mapping[type, Rule]
    """The rule that writes a node of a kind."""

    def __init__(self, now: datetime, names: Collection[str]) -> None:
        self.now = now
        self.names = names
        self.grouped: list[exp.Expr] = []
        """Floating-point numbers that rows are grouped by: 0.0 and −0.0 are one group, and shown as 0.0."""

    @abstractmethod
    def query(self, node: exp.Expr) -> str:
        """A query inside an expression."""

    def write(self, node: exp.Expr) -> str:
        """An expression that is computed with."""
        kind = type_of(node)
        if is_opaque(kind) and kind.name != "void":
            raise refused(f"A query can only show {str(kind).upper()}, and this computes with it: {spell(node)}.")
        return self.show(node)

    def show(self, node: exp.Expr) -> str:
        """An expression that is shown, counted or tested for NULL: of any type."""
        rule = next((self.rules[kind] for kind in type(node).__mro__ if kind in self.rules), None)
        if rule is None:
            raise refused(f"A query has no {type(node).__name__} here: {spell(node)}.")
        text = rule(self, node)
        return f"({text} + 0)" if any(_same_value(node, key) for key in self.grouped) else text

    def write_as(self, node: exp.Expr, kind: SparkType) -> str:
        """An expression as a value of a type: cast as Spark does without being asked."""
        plain = node.unnest()
        if isinstance(plain, exp.Literal) and plain.is_string:
            value = read_text(plain.name, kind)
            if value is not None:
                return value
        return converted(self.write(node), type_of(node), kind)

    def condition(self, node: exp.Expr) -> str:
        """An expression that is true or not."""
        return self.write_as(node, BOOLEAN)

    def typed(self, node: exp.Expr) -> arithmetic.Typed:
        """An expression and its type; a whole number that meets a decimal has as many digits as it has."""
        return self.write(node), type_of(node)

    def meeting(self, kinds: Iterable[SparkType], node: exp.Expr) -> SparkType:
        """The type in which values are compared."""
        shared = common(kinds)
        if shared is None or (is_opaque(shared) and shared.name != "void") or shared.name == "map":
            raise refused(f"A query can't compare what stands here: {spell(node)}.")
        if shared.parts and len(set(kinds)) > 1:
            raise refused(f"A query compares values of one type, and these have two: {spell(node)}.")
        return INT if shared.name == "void" else shared

    @abstractmethod
    def in_query(self, node: exp.In, query: exp.Expr) -> str:
        """`x IN (SELECT …)`."""


def _same_value(node: exp.Expr, key: exp.Expr) -> bool:
    if isinstance(node, exp.Column) and isinstance(key, exp.Column):
        return (node.name.lower() == key.name.lower() and "" in (node.table, key.table)) or node == key
    return node == key
