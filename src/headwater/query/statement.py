"""Statements: a text becomes a tree whose nodes have the types that Spark would give them.

Calls stay what is written: a name and arguments. The tree is read by the parser of views, so a query reads what a view
reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from sqlglot import exp

from headwater.errors import DeclarationError
from headwater.plan.spark_type import UNKNOWN, SparkType, from_arrow, to_sqlglot
from headwater.plan.typing import annotate_expression, type_of
from headwater.plan.typing.query import Queries, Scope
from headwater.plan.typing.spelling import plain
from headwater.query.refusal import refused
from headwater.sql import Headwater, read_query

PLAIN = plain(Headwater)
_FIRST_WORD = re.compile(r"[\s(]*([A-Za-z]+)")
_READING = ("SELECT", "WITH", "FROM")
Columns = list[tuple[str, SparkType]]


@dataclass(frozen=True)
class Statement:
    """A statement that reads: its text and its tree."""

    sql: str
    tree: exp.Query

    def relations(self) -> dict[str, str]:
        """The names of the views that it reads as they are written, by the same in lower case."""
        return {table.name.lower(): table.name for table in self.tables()}

    def tables(self) -> list[exp.Table]:
        """Where it reads a view."""
        return [table for table in self.tree.find_all(exp.Table) if table.meta.get("view")]


def parse(text: str) -> Statement:
    """A statement from its text; `StatementRefused` unless it is one query."""
    first = _FIRST_WORD.match(text)
    if first is not None and first[1].upper() not in _READING:
        raise refused("A query can only read.", "Write one SELECT over the views of the project.", text)
    try:
        tree = read_query(text, PLAIN)
    except DeclarationError as error:
        told = error.detail or ""
        detail = f"{error.summary[:1].upper()}{error.summary[1:]}{f': {told}' if told else ''}."
        raise refused(detail, error.hint or "Write one SELECT over the views of the project.", text) from None
    for table in relations_in(tree):
        table.meta["view"] = True
    return Statement(text, tree)


def relations_in(tree: exp.Expr) -> list[exp.Table]:
    """The tables of a tree that are no queries of a WITH."""
    return [table for table in tree.find_all(exp.Table) if _is_relation(table)]


def _is_relation(table: exp.Table) -> bool:
    if not isinstance(table.this, exp.Identifier):
        raise refused(f"A query reads views, and this is none: {table.sql(dialect=Headwater)[:80]}.")
    if table.args.get("db") or table.args.get("catalog"):
        raise refused(f'"{table.sql(dialect=Headwater)}" is no view.', "Write the name of a view alone.")
    return not any(table.name.lower() == name for name in _ctes_in_sight(table))


def _ctes_in_sight(node: exp.Expr) -> list[str]:
    """The names of the WITH queries that a node can read: those before it, and of every query around it."""
    found: list[str] = []
    inside: exp.Expr = node
    around = node.parent
    while around is not None:
        clause = around.args.get("with_") if isinstance(around, exp.Query) else None
        if clause is not None and inside is not clause:
            found += [cte.alias.lower() for cte in clause.expressions]
        if isinstance(around, exp.With):
            place = around.expressions.index(inside)
            found += [cte.alias.lower() for cte in around.expressions[:place]]
        inside, around = around, around.parent
    return found


@dataclass
class Typed(Queries):
    """Types a statement, and keeps what each query in it gives."""

    given: dict[int, Columns] = field(default_factory=dict)

    def columns(self, query: exp.Expr, outer: Scope | None = None) -> Columns:
        """The columns that a query gives."""
        found = super().columns(query, outer)
        self.given[id(query)] = found
        return found

    def _merge(self, join: exp.Join, name: str, scope: Scope, before: int) -> None:
        sides = [
            {kind for source in side for kind in source.find(name)}
            for side in (scope.sources[:before], scope.sources[before:])
        ]
        if all(sides) and sides[0] != sides[1]:
            raise refused(
                f'A query joins USING columns of one type, and "{name}" has two.', f"Write ON l.{name} = r.{name}."
            )
        super()._merge(join, name, scope, before)


def annotate(statement: Statement, schemas: Mapping[str, pa.Schema]) -> Typed:
    """Give every node its type. `schemas` are the columns of the views, by their names in lower case."""
    known: dict[str, Any] = {
        view: [(column.name, from_arrow(column.type)) for column in schema] for view, schema in schemas.items()
    }
    typed = Typed(lambda node: known.get(node.name.lower()), PLAIN)
    typed.columns(statement.tree)
    if typed.problems:
        problem = typed.problems[0]
        detail = f"It {problem.summary}.{f' {problem.detail}' if problem.detail else ''}"
        raise refused(detail, problem.hint or "Correct the statement.", statement.sql)
    _type_constants(statement.tree)
    return typed


def _type_constants(tree: exp.Expr) -> None:
    """Give constants their types where they are a part of a call's spelling, as in SUBSTRING(name FROM 1)."""
    for node in tree.find_all(exp.Literal, exp.Neg):
        if type_of(node) == UNKNOWN and (isinstance(node, exp.Literal) or isinstance(node.this, exp.Literal)):
            node._type = to_sqlglot(annotate_expression(node.copy(), {}, dialect=PLAIN).kind)
