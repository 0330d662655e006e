"""The two ways in: a query over a schema, an expression over columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import pyarrow as pa
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from headwater.model import Column, Function
from headwater.plan.spark_type import SparkType, from_arrow, from_sqlglot, to_arrow
from headwater.plan.typing.expression import Columns
from headwater.plan.typing.problem import Problem
from headwater.plan.typing.query import Queries, Scope, Source
from headwater.sql import Headwater

ArrowColumns = Mapping[str, pa.DataType]
"""The columns of a relation by their names, in their order."""


@dataclass(frozen=True)
class TypedQuery:
    """A query whose nodes have types: what it gives, and what is wrong with it."""

    query: exp.Expr
    columns: tuple[Column, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class TypedExpression:
    """An expression whose nodes have types: its own, and what is wrong with it."""

    node: exp.Expr
    kind: SparkType
    problems: tuple[Problem, ...]

    @property
    def type(self) -> pa.DataType:
        """The type as Arrow has it."""
        return to_arrow(self.kind)


def annotate(
    query: exp.Expr,
    schema: Mapping[str, ArrowColumns],
    functions: Mapping[str, Function] | None = None,
    dialect: type[Dialect] = Headwater,
    relation: Callable[[exp.Expr], ArrowColumns | None] | None = None,
) -> TypedQuery:
    """Type a query in place. `schema` has the relations by name; `relation` is asked for what else stands in FROM.

    A relation that neither knows takes any column: who reads an unknown name is for the caller to say.
    """
    known = {name.lower(): _columns(columns) for name, columns in schema.items()}

    def look_up(node: exp.Expr) -> Columns | None:
        if isinstance(node.this, exp.Identifier) and node.name.lower() in known:
            return known[node.name.lower()]
        found = relation(node) if relation is not None else None
        return None if found is None else _columns(found)

    queries = Queries(look_up, dialect, functions or {})
    columns = queries.columns(query)
    return TypedQuery(query, tuple(Column(name, to_arrow(kind)) for name, kind in columns), tuple(queries.problems))


def annotate_expression(
    node: exp.Expr,
    columns: ArrowColumns | Mapping[str, ArrowColumns],
    functions: Mapping[str, Function] | None = None,
    dialect: type[Dialect] = Headwater,
) -> TypedExpression:
    """Type an expression in place, over columns by their names, or over sources of columns (`l.price`).

    >>> import sqlglot
    >>> node = sqlglot.parse_one("l.price * r.rate", dialect="spark")
    >>> columns = {"l": {"price": pa.decimal128(12, 2)}, "r": {"rate": pa.decimal128(6, 4)}}
    >>> str(annotate_expression(node, columns).kind)
    'decimal(19,6)'
    """
    queries = Queries(lambda _node: None, dialect, functions or {})
    scope = Scope(queries, sources=_sources(columns))
    kind = queries.typer(scope).type(node)
    return TypedExpression(node, kind, tuple(queries.problems))


def _sources(columns: ArrowColumns | Mapping[str, ArrowColumns]) -> list[Source]:
    if any(isinstance(found, Mapping) for found in columns.values()):
        return [Source(name, _columns(cast(ArrowColumns, found))) for name, found in columns.items()]
    return [Source("", _columns(cast(ArrowColumns, columns)))]


def _columns(columns: ArrowColumns) -> list[tuple[str, SparkType]]:
    return [(name, from_arrow(kind)) for name, kind in columns.items()]


def type_of(node: exp.Expr) -> SparkType:
    """The type that a node was given.

    >>> str(type_of(exp.Literal.number(1)))
    'unknown'
    """
    return from_sqlglot(node.type)
