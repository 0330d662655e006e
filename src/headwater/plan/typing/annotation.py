"""The two ways in: a query over a schema, an expression over columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import pyarrow as pa
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.spark import Spark

from headwater.model import Column, Function
from headwater.plan.functions import FunctionInfo, find
from headwater.plan.spark_type import SparkType, from_arrow, from_sqlglot, to_arrow
from headwater.plan.typing.expression import Columns, plain_arguments
from headwater.plan.typing.problem import Problem
from headwater.plan.typing.query import Queries, Scope, Source
from headwater.plan.typing.spelling import OPERAND, read

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
    dialect: type[Dialect] = Spark,
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
    dialect: type[Dialect] = Spark,
) -> TypedExpression:
    """Type an expression in place, over columns by their names, or over sources of columns (`l.price`).

    >>> import sqlglot
    >>> node = sqlglot.parse_one("l.price * r.rate", dialect="spark")
    >>> columns = {"l": {"price": pa.decimal128(12, 2)}, "r": {"rate": pa.decimal128(6, 4)}}
    >>> str(annotate_expression(node, columns).kind)
    'decimal(19,6)'
    """
    queries = Queries(lambda node: None, dialect, functions or {})
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


@dataclass(frozen=True)
class CalledFunction:
    """The function that a node calls, with its arguments and whether it says DISTINCT."""

    info: FunctionInfo
    arguments: tuple[exp.Expr, ...]
    distinct: bool


def call_of(
    node: exp.Expr, functions: Mapping[str, Function] | None = None, dialect: type[Dialect] = Spark
) -> CalledFunction | None:
    """What a node calls, by the name that Spark will read; None for a node that is no call, or of an unknown function.

    OVER, FILTER, WITHIN GROUP and IGNORE NULLS around a call are looked through.

    >>> import sqlglot
    >>> found = call_of(sqlglot.parse_one("count(DISTINCT card) FILTER (WHERE paid)", dialect="spark"))
    >>> found.info.name, found.distinct, [argument.sql() for argument in found.arguments]
    ('count', True, ['card'])
    """
    while isinstance(node, (exp.Window, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.Paren)):
        node = node.this
    if not isinstance(node, exp.Func):
        return None
    operands: tuple[exp.Expr, ...] = ()
    call: exp.Expr = node
    if not isinstance(node, exp.Anonymous):
        reading = read(node, dialect)
        if reading is None or not isinstance(reading.tree, exp.Anonymous):
            return None
        call, operands = reading.tree, reading.operands
    info = find(call.name, functions)
    if info is None:
        return None
    distinct = any(isinstance(argument, exp.Distinct) for argument in call.expressions)
    arguments = tuple(_resolved(argument, operands) for argument in plain_arguments(call.expressions))
    return CalledFunction(info, arguments, distinct)


def _resolved(argument: exp.Expr, operands: tuple[exp.Expr, ...]) -> exp.Expr:
    if operands and isinstance(argument, exp.Column) and argument.name.startswith(OPERAND):
        return operands[int(argument.name[len(OPERAND) :])]
    return argument
