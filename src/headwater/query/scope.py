"""Scopes: what the names in one SELECT of a statement stand for.

A *source* is one item of FROM: a name and its columns. A *scope* is the sources that the expressions of one SELECT
can name, within the scope of the query around it. A relation whose columns aren't known (`None` instead of columns)
takes any column and gives it the type UNKNOWN, so that one unknown name doesn't make a problem of every column behind
it.

Statements read views and give rows once; a view reads streams, and its names are bound to stages by `plan.scope`. What
the two share is how an expression is typed: `plan.typing`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from headwater.findings import AmbiguousColumn, UnknownColumn
from headwater.plan.functions import find
from headwater.plan.spark_type import UNKNOWN, SparkType
from headwater.plan.typing.expression import Typer
from headwater.plan.typing.problem import Problem
from headwater.plan.typing.spelling import plain
from headwater.sql import Headwater

PLAIN = plain(Headwater)
"""The SQL of views, in which calls stay what is written: a name and arguments."""
Columns = list[tuple[str, SparkType]]
"""Names and types, in their order."""


@dataclass
class Source:
    """One item of FROM; `columns` None where they aren't known."""

    name: str
    columns: Columns | None

    def find(self, name: str) -> list[SparkType]:
        """The types of the columns of that name."""
        lowered = name.lower()
        if self.columns is None:
            return [UNKNOWN]
        return [kind for known, kind in self.columns if known.lower() == lowered]


@dataclass
class Scope:
    """The sources of one SELECT. `merged` are the columns that USING made one, `aliases` the SELECT's own columns,
    which later expressions may name. `gives` tells what a query inside an expression gives, in this scope.
    """

    gives: Callable[[exp.Expr, Scope], Columns]
    problems: list[Problem]
    outer: Scope | None = None
    sources: list[Source] = field(default_factory=list)
    merged: dict[str, SparkType] = field(default_factory=dict)
    aliases: dict[str, SparkType] = field(default_factory=dict)
    aliases_first: bool = False

    def column(self, node: exp.Column) -> SparkType | None:
        """The type of a column, with fields of structs behind it; a problem is reported where there is none."""
        parts = [part.name for part in node.parts]
        scope: Scope | None = self
        while scope is not None:
            kind = scope._own(node, parts)
            if kind is not None:
                return kind
            scope = scope.outer
        function = find(parts[0]) if len(parts) == 1 and not node.this.args.get("quoted") else None
        if function is None or function.signature.least > 0:
            self._report_unknown(node, parts)
        return None

    def _own(self, node: exp.Column, parts: list[str]) -> SparkType | None:
        typer = self.typer()
        alias = self.aliases.get(parts[0].lower())
        if self.aliases_first and alias is not None and len(parts) == 1:
            return alias
        for kinds, rest in self._candidates(parts):
            if len(kinds) > 1 and UNKNOWN not in kinds:
                self._report_ambiguous(node, parts)
                return UNKNOWN
            return typer.fields(node, kinds[0], rest)
        return None if alias is None else typer.fields(node, alias, parts[1:])

    def _candidates(self, parts: list[str]) -> Iterator[tuple[list[SparkType], list[str]]]:
        if len(parts) > 1:
            named = [source for source in self.sources if source.name.lower() == parts[0].lower()]
            if kinds := [kind for source in named for kind in source.find(parts[1])]:
                yield kinds, parts[2:]
        if parts[0].lower() in self.merged:
            yield [self.merged[parts[0].lower()]], parts[1:]
        known = [source for source in self.sources if source.columns is not None]
        if kinds := [kind for source in known for kind in source.find(parts[0])]:
            yield kinds, parts[1:]
        if len(known) < len(self.sources):
            yield [UNKNOWN], []

    def _report_unknown(self, node: exp.Column, parts: list[str]) -> None:
        known = [name for source in self.sources for name, _ in source.columns or ()]
        near = difflib.get_close_matches(parts[-1].lower(), known, n=1, cutoff=0.6)
        self.problems.append(
            Problem(
                node,
                UnknownColumn,
                f'reads an unknown column "{".".join(parts)}"',
                detail=f"Its inputs have the columns {', '.join(dict.fromkeys(known))}." if known else None,
                hint=f'Did you mean "{near[0]}"?' if near else None,
            )
        )

    def _report_ambiguous(self, node: exp.Column, parts: list[str]) -> None:
        holders = [source.name for source in self.sources if source.columns is not None and source.find(parts[0])]
        self.problems.append(
            Problem(
                node,
                AmbiguousColumn,
                f'names a column "{parts[0]}" that more than one of its inputs has',
                detail=f"It is a column of {' and of '.join(holders)}." if len(holders) > 1 else None,
                hint=f"Write the input before it, like {holders[0] if holders else 'input'}.{parts[0]}.",
            )
        )

    def star(self, node: exp.Expr) -> Columns:
        """The columns of `*` or `t.*`."""
        name = node.table if isinstance(node, exp.Column) else ""
        columns = [] if name else list(self._merged_columns())
        for source in self.sources:
            if not name or source.name.lower() == name.lower():
                columns += [pair for pair in source.columns or () if name or pair[0].lower() not in self.merged]
        return columns

    def _merged_columns(self) -> Iterator[tuple[str, SparkType]]:
        spelled = {known.lower(): known for source in self.sources for known, _ in source.columns or ()}
        return ((spelled.get(name, name), kind) for name, kind in self.merged.items())

    def query(self, node: exp.Query) -> Columns:
        """The columns of a subquery inside an expression; it may name columns of this scope."""
        return self.gives(node, self)

    def typer(self) -> Typer:
        """The typer of expressions in this scope."""
        return Typer(self, PLAIN, problems=self.problems)
