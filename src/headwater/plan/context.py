"""The context in which a query is lowered: whose query it is, what it may read, and where findings are gathered.

A *finding* never stops the work: whoever meets one reports it and goes on with the best guess, so that a check shows
all of them at once. A relation that is not fully known (`complete` is false) takes any column, so that one unknown
name doesn't make a finding out of every column behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from headwater import model, sql
from headwater.errors import Finding, Origin
from headwater.operators import Stage


@dataclass(frozen=True)
class Relation:
    """Something that a query can read: a stage, and whether all of its columns are known."""

    stage: Stage
    complete: bool = True


def is_refused(view: str, findings: Iterable[Finding]) -> bool:
    """Tells whether there are errors among the findings about a view."""
    return any(finding.severity == "error" and finding.fields.get("view") == view for finding in findings)


@dataclass(frozen=True)
class Context:
    """One query of one view. `relation` finds what a name in FROM stands for; `ctes` come before it.

    `late` finds the rows that come too late for the view of a name, or says why there are none.
    """

    view: model.View
    query: model.SqlQuery
    relation: Callable[[str], Relation | None]
    late: Callable[[str], Relation | str | None]
    names: tuple[str, ...]
    functions: Mapping[str, model.Function]
    findings: list[Finding]
    tree: exp.Query | None = None
    ctes: Mapping[str, Relation] = field(default_factory=dict)

    def refuse(self, kind: type[Finding], what: str, at: exp.Expr | None, **more: Any) -> None:
        """Report that the view `what` (the rest of the sentence), at a node of its query."""
        origin = self.origin(at)
        self.findings.append(kind(f'view "{self.view.name}" {what}', origin=origin, view=self.view.name, **more))

    def origin(self, at: exp.Expr | None) -> Origin | None:
        """The origin of a node in the author's file."""
        return sql.origin_of(at, self.query) if at is not None else self.view.origin

    def output_origin(self, name: str) -> Origin | None:
        """The origin of an output column of the view; that of the query itself, for one that `*` stands for."""
        items = self.tree.selects if self.tree is not None else []
        named = (item for item in items if item.alias_or_name.lower() == name.lower())
        return self.origin(next(named, self.tree))

    def first_source(self) -> str:
        """The name of the first thing that the query reads."""
        tables = self.tree.find_all(exp.Table) if self.tree is not None else ()
        return next((table.name for table in tables if isinstance(table.this, exp.Identifier)), "…")

    def with_cte(self, name: str, relation: Relation) -> Context:
        """The same context with one more common table expression."""
        return replace(self, ctes={**self.ctes, name.lower(): relation})
