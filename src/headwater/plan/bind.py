"""Binding: every column that an expression names is replaced by the column of a stage that it stands for.

A bound expression names columns of one stage, unqualified; in the condition of a join it names `l.column` and
`r.column`. Calls of the project's own functions are replaced by their bodies. Places are kept, so that a finding about
a bound expression still points at what the author wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from sqlglot import exp

from headwater.findings import AmbiguousColumn, NotSupportedYet, OrderDependent
from headwater.operators import Field
from headwater.plan.context import Context
from headwater.plan.inline import inline_functions, with_fields
from headwater.plan.positions import WRITTEN, columns_of, locate, move, own_nodes
from headwater.plan.scope import Scope
from headwater.plan.unknown_column import refuse_unknown_column

Aliases = Mapping[str, exp.Expr]
"""Bound expressions by the names that the SELECT gives them, in lower case: a column of the same name comes first."""


@dataclass(frozen=True)
class _Names:
    """The meanings of names: columns of the scopes, by the qualifier that a bound column gets, else an alias.

    With `nearest`, the first scope that has a name hides the others, as a subquery's own columns hide those around it.
    """

    scopes: Mapping[str, Scope]
    aliases: Aliases = field(default_factory=dict)
    nearest: bool = False

    def sources(self, name: str) -> list[str]:
        """The inputs that have a column of that name."""
        every = [source for scope in self.scopes.values() for source in scope.sources]
        return [source.name for source in every if name.lower() in source.columns]

    def find(self, parts: list[str]) -> tuple[list[tuple[str, Field]], list[str]]:
        """The columns that a dotted name can stand for, each with its qualifier, and the struct's fields behind it."""
        readings = [(parts[1], parts[0], parts[2:])] if len(parts) > 1 else []
        for name, source, fields in (*readings, (parts[0], None, parts[1:])):
            meanings = [(side, field) for side, scope in self.scopes.items() for field in scope.find(name, source)]
            if meanings:
                sides = {meanings[0][0]} if self.nearest else {side for side, _ in meanings}
                return [(side, field) for side, field in meanings if side in sides], fields
        return [], []


def bind(context: Context, node: exp.Expr, scope: Scope, aliases: Aliases | None = None) -> exp.Expr:
    """A copy of an expression with its columns bound to the stage of the scope."""
    return _bind(context, node, _Names({"": scope}, aliases or {}))


def bind_pair(context: Context, node: exp.Expr, left: Scope, right: Scope, subquery: bool = False) -> exp.Expr:
    """A copy of a condition with its columns bound to the stages of the two sides of a join.

    In the condition of a `subquery`, the right side, a name that both sides have is its own.
    """
    names = _Names({"r": right, "l": left}, nearest=True) if subquery else _Names({"l": left, "r": right})
    return _bind(context, node, names)


def _bind(context: Context, node: exp.Expr, names: _Names) -> exp.Expr:
    root = exp.Paren(this=inline_functions(context, node.copy()))
    for query in list(_outermost_queries(root)):
        refuse_subquery(context, query)
        asked = query.parent if isinstance(query.parent, exp.Exists | exp.In) else query
        asked.replace(move(exp.Null(), query))
    for column in list(columns_of(root)):
        column.replace(_bound(context, column, names))
    return cast(exp.Expr, root.this)


def _outermost_queries(root: exp.Expr) -> Iterator[exp.Query]:
    for node in own_nodes(root):
        if isinstance(node, exp.Query):
            yield node


def refuse_subquery(context: Context, query: exp.Expr) -> None:
    """Report a subquery whose rows are asked for in the middle of an expression."""
    context.refuse(
        NotSupportedYet,
        "asks for the rows of a subquery inside an expression, which is not supported yet",
        query,
        hint="Let IN or NOT IN be a condition of WHERE on its own, write EXISTS, or join with ON.",
    )


def _bound(context: Context, column: exp.Column, names: _Names) -> exp.Expr:
    parts = [part.name for part in column.parts]
    meanings, fields = names.find(parts)
    if meanings:
        _check(context, column, names, [field for _, field in meanings])
        side, chosen = meanings[0]
        bound = locate(exp.column(exp.to_identifier(chosen.name), table=side or None), column)
        bound.meta[WRITTEN] = ".".join(parts[: len(parts) - len(fields)])
        return with_fields(bound, fields)
    if parts[0].lower() in names.aliases:
        return with_fields(names.aliases[parts[0].lower()].copy(), parts[1:])
    _refuse_unknown(context, column, names)
    return move(exp.Null(), column)


def _check(context: Context, column: exp.Column, names: _Names, fields: list[Field]) -> None:
    name = column.name
    if len(fields) > 1:
        context.refuse(
            AmbiguousColumn,
            f'names a column "{name}" that more than one of its inputs has',
            column,
            hint=f"Write {' or '.join(f'{source}.{name}' for source in names.sources(name))}.",
            column_name=name,
        )
    elif fields[0].varies:
        refuse_varying(context, fields[0].name, column)


def refuse_varying(context: Context, name: str, at: exp.Expr) -> None:
    """Report the use of a column whose value depends on which copy of an event survives."""
    context.refuse(
        OrderDependent,
        f'reads "{name}" of a stream whose duplicates are removed',
        at,
        detail="Copies of an event differ in position, stamp and time of arrival, and which copy is kept is arbitrary.",
        hint="Use the event time, or _id, which all copies share.",
        column_name=name,
    )


def _refuse_unknown(context: Context, column: exp.Column, names: _Names) -> None:
    if not all(scope.complete for scope in names.scopes.values()):
        return
    parts = [part.name for part in column.parts]
    refuse_unknown_column(context, column, parts, list(names.scopes.values()))
