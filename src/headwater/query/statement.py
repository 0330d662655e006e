"""Statements: a text becomes a tree whose nodes have the types that Spark would give them.

Calls stay what is written: a name and arguments. The tree is read by the parser of views, so a query reads what a view
reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from headwater import sql
from headwater.errors import DeclarationError
from headwater.plan.spark_type import UNKNOWN, from_arrow, to_sqlglot
from headwater.plan.typing import type_of
from headwater.query.refusal import refused
from headwater.query.scope import PLAIN, Scope
from headwater.query.typed import Typed
from headwater.sql import Headwater, read_query, spell

_FIRST_WORD = re.compile(r"[\s(]*([A-Za-z]+)")
_READING = ("SELECT", "WITH", "FROM")
_NOWHERE = Scope(lambda _node, _scope: [], [])
"""Where constants are typed."""


@dataclass(frozen=True)
class Past:
    """A table as it was: its name as it is written, and the instants of `FOR SYSTEM_TIME AS OF` and `AS KNOWN AT`."""

    table: str
    as_of: exp.Expr | None
    known_at: exp.Expr | None


@dataclass(frozen=True)
class Statement:
    """A statement that reads: its text and its tree.

    A table as it was has a name of its own in the tree; `past` says what each of them, in lower case, stands for.
    """

    sql: str
    tree: exp.Query
    past: Mapping[str, Past] = field(default_factory=dict)

    def relations(self) -> dict[str, str]:
        """The names of the views that it reads as they are written, by their names in the tree in lower case."""
        names = {table.name.lower(): table.name for table in self.tables()}
        return names | {name: past.table for name, past in self.past.items()}

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
        told = (error.detail or "").removesuffix(".")
        detail = f"{error.summary[:1].upper()}{error.summary[1:]}{f': {told}' if told else ''}."
        raise refused(detail, error.hint or "Write one SELECT over the views of the project.", text) from None
    if any(limit.args.get("limit_options") for limit in tree.find_all(exp.Limit)):
        raise refused("A query has no rows WITH TIES.", "Write QUALIFY rank() OVER (ORDER BY …) <= n.", text)
    past: dict[str, Past] = {}
    for table in relations_in(tree):
        table.meta["view"] = True
        if (version := table.args.get("version")) is not None:
            past |= _name_apart(table, version)
    return Statement(text, tree, past)


def _name_apart(table: exp.Table, version: exp.Version) -> dict[str, Past]:
    """Give a table as it was a name of its own, so that the statement can read it as it is, too."""
    past = Past(table.name, sql.as_of(table), sql.known_at(table))
    name = f"{past.table} {spell(version)}"
    table.set("version", None)
    if not table.alias:
        table.set("alias", exp.TableAlias(this=table.this.copy()))
    table.set("this", exp.to_identifier(name, quoted=True))
    return {name.lower(): past}


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
    names: list[str] = []
    inside: exp.Expr = node
    around = node.parent
    while around is not None:
        clause = around.args.get("with_") if isinstance(around, exp.Query) else None
        if clause is not None and inside is not clause:
            names += [cte.alias.lower() for cte in clause.expressions]
        if isinstance(around, exp.With):
            before = around.expressions[: around.expressions.index(inside)]
            names += [cte.alias.lower() for cte in before]
        inside, around = around, around.parent
    return names


def annotate(statement: Statement, schemas: Mapping[str, pa.Schema]) -> Typed:
    """Give every node its type. `schemas` are the columns of the views, by their names in lower case."""
    known = {view: [(column.name, from_arrow(column.type)) for column in schema] for view, schema in schemas.items()}
    typed = Typed(lambda name: known.get(name.lower()))
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
            node._type = to_sqlglot(_NOWHERE.typer().type(node.copy()))
