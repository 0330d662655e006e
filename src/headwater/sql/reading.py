"""The reading of any statement: its title, its findings with their origins, its columns and its comment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from headwater import model
from headwater.errors import DeclarationError, Finding, Origin
from headwater.findings import LengthIgnored, SyntaxRefused, UnknownType
from headwater.sql.nodes import ColumnClause
from headwater.sql.parser import first_offset
from headwater.sql.refusal import Refusal
from headwater.sql.source import Source, Statement
from headwater.sql.types import arrow_type, has_length


class Reading:
    """One statement that is being read; collects what is wrong with it. `kind` and `name` are known from its start.

    `describe` tells the columns of a table that leaves them to its database.
    """

    def __init__(self, source: Source, statement: Statement, describe: model.Describe) -> None:
        self.source = source
        self.statement = statement
        self.describe = describe
        self.findings: list[Finding | SyntaxRefused] = []
        self.kind, self.name = _title(statement)

    # Findings

    def find(self, refusal: Refusal) -> None:
        """Keep a refusal as a finding with its origin."""
        finding = refusal.kind(
            refusal.summary, detail=refusal.detail, hint=refusal.hint, origin=self.source.at(refusal.start)
        )
        assert isinstance(finding, (Finding, SyntaxRefused))
        self.findings.append(finding)

    def refuse(self, kind: type[DeclarationError], node: exp.Expr, summary: str, **reason: Any) -> None:
        """Find something wrong with a node."""
        self.find(Refusal(first_offset(node) or 0, summary, kind=kind, **reason))

    @property
    def title(self) -> str:
        """The name of the statement in findings."""
        return f'{self.kind} "{self.name}"' if self.name else f"the {self.kind}"

    def origin(self, node: exp.Expr) -> Origin:
        """The file, line and column of a node."""
        return self.source.at(first_offset(node) or 0)

    @property
    def refused(self) -> bool:
        """Tells whether there is a finding that is more than a caution."""
        return any(not isinstance(finding, Finding) or finding.severity == "error" for finding in self.findings)

    # What statements share

    def column(self, clause: ColumnClause) -> model.Column:
        """The column that a clause declares."""
        return replace(column_of(clause, self.type_of(clause)), origin=self.origin(clause))

    def type_of(self, clause: exp.Expr, key: str = "kind") -> pa.DataType:
        """The type that a clause declares; STRING instead of one that is refused."""
        kind = clause.args[key]
        if has_length(kind):
            summary = f'{self.title} declares "{clause.name}" with a length that isn\'t enforced'
            self.refuse(LengthIgnored, kind, summary, hint="Declare it as STRING.")
        try:
            return arrow_type(kind)
        except UnknownType as problem:
            self.find(Refusal(first_offset(kind) or 0, problem.summary, problem.detail, problem.hint, UnknownType))
            return pa.string()

    def comment(self, tree: exp.Expr) -> str | None:
        """The COMMENT of a statement, else what stands above it."""
        comment = tree.args.get("comment")
        return comment.name or None if comment else self.statement.comment


def column_of(clause: ColumnClause, kind: pa.DataType) -> model.Column:
    """The column of a clause whose type is known."""
    comment, default = clause.args.get("comment"), clause.args.get("default")
    return model.Column(
        clause.name,
        kind,
        nullable=not clause.args.get("required"),
        comment=comment.name or None if comment else None,
        default=None if default is None else default.name,
        aliases=tuple(alias.name for alias in clause.args.get("aliases") or ()),
    )


def _title(statement: Statement) -> tuple[str, str]:
    """Kind and name from the first words, so that a statement that can't be read is named in its finding."""
    words = [token.text for token in statement.tokens[:8]]
    upper = [word.upper() for word in words]
    kinds = ("STREAM", "TABLE", "SOURCE", "VIEW", "FUNCTION", "OUTLET")
    at = next((index for index, word in enumerate(upper[:5]) if word in kinds), None)
    if upper[:1] != ["CREATE"] or at is None:
        return "statement", ""
    kind = "materialized view" if "MATERIALIZED" in upper[:at] else words[at].lower()
    rest = at + (4 if upper[at + 1 : at + 4] == ["IF", "NOT", "EXISTS"] else 1)
    return kind, words[rest] if rest < len(words) and words[rest] != "(" else ""
