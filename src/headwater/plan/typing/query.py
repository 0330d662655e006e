"""The types of queries: what every FROM offers, what every SELECT gives.

A *source* is one item of FROM: a name and its columns. A *scope* is the sources that the expressions of one SELECT
can name, within the scope of the query around it. A relation whose columns aren't known (`None` instead of columns)
takes any column and gives it the type UNKNOWN, so that one unknown name doesn't make a problem of every column behind
it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from headwater.errors import AmbiguousColumn, QueryRefused, TypeMismatch, UnknownColumn
from headwater.model import Function
from headwater.plan.functions import find
from headwater.plan.spark_type import UNKNOWN, SparkType
from headwater.plan.typing.coercion import common, holds, is_orderable
from headwater.plan.typing.expression import Columns, Typer
from headwater.plan.typing.problem import Problem

Relations = Callable[[exp.Expr], Columns | None]
"""What a node of FROM that isn't a query offers: a table by its name, a window table function. None: it isn't known."""


@dataclass
class Source:
    """One item of FROM; `columns` None where they aren't known. `hidden` are those that `*` doesn't give."""

    name: str
    columns: list[tuple[str, SparkType]] | None
    hidden: frozenset[str] = frozenset()

    def find(self, name: str) -> list[SparkType]:
        """The types of the columns of that name."""
        lowered = name.lower()
        if self.columns is None:
            return [UNKNOWN]
        return [kind for known, kind in self.columns if known.lower() == lowered]


@dataclass
class Scope:
    """The sources of one SELECT. `merged` are the columns that USING made one, `made` those that a window in GROUP BY
    made, `aliases` the SELECT's own columns, which later expressions may name.
    """

    queries: Queries
    outer: Scope | None = None
    sources: list[Source] = field(default_factory=list)
    merged: dict[str, SparkType] = field(default_factory=dict)
    made: dict[str, SparkType] = field(default_factory=dict)
    aliases: dict[str, SparkType] = field(default_factory=dict)
    aliases_first: bool = False

    def column(self, node: exp.Column) -> SparkType | None:
        """The type of a column, with fields of structs behind it; a problem is reported where there is none."""
        parts = [part.name for part in node.parts]
        scope: Scope | None = self
        while scope is not None:
            found = scope._own(node, parts)
            if found is not None:
                return found
            scope = scope.outer
        if (
            len(parts) == 1
            and (info := find(parts[0]))
            and info.signature.least == 0
            and not node.this.args.get("quoted")
        ):
            return None
        self._report_unknown(node, parts)
        return None

    def _own(self, node: exp.Column, parts: list[str]) -> SparkType | None:
        typer = self.queries.typer(self)
        alias = self.aliases.get(parts[0].lower(), self.made.get(parts[0].lower()))
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
            if found := [kind for source in named for kind in source.find(parts[1])]:
                yield found, parts[2:]
        if parts[0].lower() in self.merged:
            yield [self.merged[parts[0].lower()]], parts[1:]
        known = [source for source in self.sources if source.columns is not None]
        if found := [kind for source in known for kind in source.find(parts[0])]:
            yield found, parts[1:]
        if len(known) < len(self.sources):
            yield [UNKNOWN], []

    def _report_unknown(self, node: exp.Column, parts: list[str]) -> None:
        known = [name for source in self.sources for name, _ in source.columns or ()]
        near = difflib.get_close_matches(parts[-1].lower(), known, n=1, cutoff=0.6)
        self.queries.problems.append(
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
        self.queries.problems.append(
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
        found: list[tuple[str, SparkType]] = []
        if not name:
            found += [(column, kind) for column, kind in self._merged_columns()]
        for source in self.sources:
            if not name or source.name.lower() == name.lower():
                shown = source.columns or []
                found += [pair for pair in shown if name or pair[0].lower() not in self.merged]
        return [pair for pair in found if not self._is_hidden(pair[0], name)]

    def _merged_columns(self) -> Iterator[tuple[str, SparkType]]:
        spelled = {known.lower(): known for source in self.sources for known, _ in source.columns or ()}
        return ((spelled.get(name, name), kind) for name, kind in self.merged.items())

    def _is_hidden(self, column: str, name: str) -> bool:
        return any(column.lower() in source.hidden for source in self.sources if not name or source.name == name)

    def query(self, node: exp.Query) -> Columns:
        """The columns of a subquery inside an expression; it may name columns of this scope."""
        return self.queries.columns(node, self)


@dataclass
class Queries:
    """Types whole queries. `relations` says what tables offer; `ctes` are the WITH queries in sight."""

    relations: Relations
    dialect: type[Dialect]
    functions: Mapping[str, Function] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    ctes: dict[str, list[tuple[str, SparkType]]] = field(default_factory=dict)

    def typer(self, scope: Scope) -> Typer:
        """A typer of expressions in a scope."""
        return Typer(scope, self.dialect, self.functions, self.problems)

    def columns(self, query: exp.Expr, outer: Scope | None = None) -> list[tuple[str, SparkType]]:
        """The columns that a query gives."""
        held = dict(self.ctes)
        self._bind_ctes(query, outer)
        try:
            return self._columns(query, outer)
        finally:
            self.ctes = held

    def _bind_ctes(self, query: exp.Expr, outer: Scope | None) -> None:
        clause = query.args.get("with_")
        if clause is None:
            return
        for cte in clause.expressions:
            names = cte.args["alias"].columns
            if clause.args.get("recursive") and isinstance(cte.this, exp.SetOperation):
                anchor = self.columns(cte.this.this, outer)
                self.ctes[cte.alias.lower()] = _renamed(anchor, names)
            self.ctes[cte.alias.lower()] = _renamed(self.columns(cte.this, outer), names)

    def _columns(self, query: exp.Expr, outer: Scope | None) -> list[tuple[str, SparkType]]:
        if isinstance(query, (exp.Subquery, exp.Paren)):
            alias = query.args.get("alias")
            return _renamed(self.columns(query.this, outer), alias.columns if alias else ())
        if isinstance(query, exp.SetOperation):
            return self._union(query, outer)
        if isinstance(query, exp.Values):
            return self._values(query, outer)
        if isinstance(query, exp.Select):
            return self._select(query, outer)
        if isinstance(query, exp.Table):
            return list(self._source(query, Scope(self, outer)).columns or ())
        return []

    def _union(self, query: exp.SetOperation, outer: Scope | None) -> list[tuple[str, SparkType]]:
        left, right = self.columns(query.this, outer), self.columns(query.expression, outer)
        if len(left) != len(right):
            self._problem(
                query,
                QueryRefused,
                f"combines queries of {len(left)} and {len(right)} columns",
                detail="Both sides of UNION, EXCEPT and INTERSECT have the same columns.",
            )
            return left
        return [
            (name, self._merged(query, name, kind, other)) for (name, kind), (_, other) in zip(left, right, strict=True)
        ]

    def _merged(self, node: exp.Expr, name: str, left: SparkType, right: SparkType) -> SparkType:
        found = common([left, right])
        if found is None:
            self._problem(
                node,
                TypeMismatch,
                f'combines a column "{name}" of two types that have none in common',
                detail=f"It is {str(left).upper()} on one side and {str(right).upper()} on the other.",
                hint="Cast one of them, like CAST(… AS type).",
            )
            return UNKNOWN
        return found

    def _values(self, query: exp.Values, outer: Scope | None) -> list[tuple[str, SparkType]]:
        typer = self.typer(Scope(self, outer))
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in query.expressions]
        kinds = [[typer.type(value) for value in row] for row in rows]
        columns = [common(column) or UNKNOWN for column in zip(*kinds, strict=False)]
        alias = query.args.get("alias")
        named = [(f"col{position}", kind) for position, kind in enumerate(columns, start=1)]
        return _renamed(named, alias.columns if alias else ())

    def _problem(self, node: exp.Expr, kind: type, summary: str, **more: str) -> None:
        self.problems.append(Problem(node, kind, summary, **more))  # type: ignore[arg-type]

    # SELECT

    def _select(self, query: exp.Select, outer: Scope | None) -> list[tuple[str, SparkType]]:
        scope = Scope(self, outer)
        self._read_sources(query, scope)
        typer = self.typer(scope)
        if (where := query.args.get("where")) is not None:
            typer.condition(where.this, "WHERE")
        self._add_windows(query, scope, typer)
        columns = self._projections(query, scope, typer)
        scope.aliases = {name.lower(): kind for name, kind in columns}
        self._read_groups(query, typer)
        self._read_clauses(query, scope, columns)
        return columns

    def _add_windows(self, query: exp.Select, scope: Scope, typer: Typer) -> None:
        """GROUP BY window(at, '1 hour') makes a column of that name; so does session_window."""
        group = query.args.get("group")
        for term in group.expressions if group is not None else ():
            if isinstance(term, exp.Anonymous) and term.name.lower() in ("window", "session_window"):
                scope.made[term.name.lower()] = typer.type(term)

    def _read_sources(self, query: exp.Select, scope: Scope) -> None:
        source = query.args.get("from_")
        if source is not None:
            self._add(source.this, scope)
        for lateral in query.args.get("laterals") or ():
            self._add(lateral, scope)
        for join in query.args.get("joins") or ():
            self._join(join, scope)

    def _add(self, node: exp.Expr, scope: Scope) -> None:
        scope.sources.append(self._source(node, scope))
        for lateral in node.args.get("laterals") or ():
            self._add(lateral, scope)
        for join in node.args.get("joins") or ():
            self._join(join, scope)

    def _join(self, join: exp.Join, scope: Scope) -> None:
        before = len(scope.sources)
        self._add(join.this, scope)
        kind = join.text("kind").upper()
        names = [name.name for name in join.args.get("using") or ()]
        if join.text("method").upper() == "NATURAL":
            names = self._natural(scope, before)
        for name in names:
            self._merge(join, name, scope, before)
        if (condition := join.args.get("on")) is not None:
            self.typer(scope).condition(condition, "ON")
        if kind in ("SEMI", "ANTI"):
            del scope.sources[before:]

    def _natural(self, scope: Scope, before: int) -> list[str]:
        left = {name.lower() for source in scope.sources[:before] for name, _ in source.columns or ()}
        return [name for source in scope.sources[before:] for name, _ in source.columns or () if name.lower() in left]

    def _merge(self, join: exp.Join, name: str, scope: Scope, before: int) -> None:
        sides = [
            [kind for source in side for kind in source.find(name)]
            for side in (scope.sources[:before], scope.sources[before:])
        ]
        if not all(sides):
            self._problem(join, UnknownColumn, f'joins USING a column "{name}" that not both of its inputs have')
            return
        already = scope.merged.get(name.lower())
        scope.merged[name.lower()] = self._merged(join, name, already or sides[0][0], sides[1][0])

    # FROM

    def _source(self, node: exp.Expr, scope: Scope) -> Source:
        alias = node.args.get("alias")
        names = alias.columns if isinstance(alias, exp.TableAlias) else ()
        name = node.alias_or_name
        found: list[tuple[str, SparkType]] | None
        if isinstance(node, exp.Lateral):
            return self._lateral(node, scope)
        if isinstance(node, exp.Unnest):
            found = self._unnest(node, scope)
        elif isinstance(node, exp.Table):
            found = self._table(node, scope)
        else:
            found = self.columns(node.this if isinstance(node, exp.Subquery) else node, scope.outer)
        if found is not None and not isinstance(node, exp.Values):
            found = _renamed(found, names)
        return Source(name, found)

    def _table(self, node: exp.Table, scope: Scope) -> list[tuple[str, SparkType]] | None:
        if isinstance(node.this, exp.Identifier) and not node.args.get("db") and node.name.lower() in self.ctes:
            return self.ctes[node.name.lower()]
        if isinstance(node.this, exp.Func):
            return self._table_function(node.this, scope)
        found = self.relations(node)
        return None if found is None else list(found)

    def _table_function(self, node: exp.Func, scope: Scope) -> list[tuple[str, SparkType]] | None:
        typer = self.typer(scope)
        kind = typer.type(node)
        rows = typer.generated.get(id(node), kind)
        return list(zip(rows.labels, rows.parts, strict=True)) if rows.name == "struct" else None

    def _unnest(self, node: exp.Unnest, scope: Scope) -> list[tuple[str, SparkType]]:
        kinds = [self.typer(scope).type(part) for part in node.expressions]
        return [("col", kind.element) for kind in kinds]

    def _lateral(self, node: exp.Lateral, scope: Scope) -> Source:
        alias = node.args.get("alias")
        names = alias.columns if isinstance(alias, exp.TableAlias) else ()
        if isinstance(node.this, (exp.Subquery, exp.Query)):
            inner = self.columns(node.this.this if isinstance(node.this, exp.Subquery) else node.this, scope)
            return Source(node.alias_or_name, _renamed(inner, names))
        found = self._table_function(node.this, scope)
        return Source(node.alias_or_name, None if found is None else _renamed(found, names))

    # Output

    def _projections(self, query: exp.Select, scope: Scope, typer: Typer) -> list[tuple[str, SparkType]]:
        columns: list[tuple[str, SparkType]] = []
        for node in query.expressions:
            columns += self._projection(node, scope, typer)
            scope.aliases = {name.lower(): kind for name, kind in columns}
        return columns

    def _projection(self, node: exp.Expr, scope: Scope, typer: Typer) -> list[tuple[str, SparkType]]:
        if node.is_star:
            return self._starred(node, scope)
        kind = typer.type(node)
        inner = node.this if isinstance(node, (exp.Alias, exp.Aliases)) else node
        rows = typer.generated.get(id(inner))
        if rows is None:
            return [(node.alias_or_name or node.output_name or self._text(node), kind)]
        names = node.args.get("expressions") if isinstance(node, exp.Aliases) else None
        if isinstance(node, exp.Alias):
            names = [node.args["alias"]]
        return _renamed(list(zip(rows.labels, rows.parts, strict=True)), names or ())

    def _starred(self, node: exp.Expr, scope: Scope) -> list[tuple[str, SparkType]]:
        star = node if isinstance(node, exp.Star) else node.this
        parts = [part.name for part in node.parts][:-1] if isinstance(node, exp.Column) else []
        columns = list(scope.star(node))
        if parts and not any(source.name.lower() == parts[0].lower() for source in scope.sources):
            kind = scope.column(exp.column(*reversed(parts)))
            columns = (
                list(zip(kind.labels, kind.parts, strict=True)) if kind is not None and kind.name == "struct" else []
            )
        dropped = {part.name.lower() for part in star.args.get("except_") or ()}
        return [pair for pair in columns if pair[0].lower() not in dropped]

    def _text(self, node: exp.Expr) -> str:
        return node.sql(dialect=self.dialect, comments=False)

    # Clauses

    def _read_groups(self, query: exp.Select, typer: Typer) -> None:
        group = query.args.get("group")
        if group is None:
            return
        terms = list(group.expressions)
        for key in ("rollup", "cube", "grouping_sets"):
            terms += [part for found in group.args.get(key) or () if isinstance(found, exp.Expr) for part in [found]]
        for term in terms:
            self._group_term(term, typer)

    def _group_term(self, term: exp.Expr, typer: Typer) -> None:
        if isinstance(term, (exp.Tuple, exp.Rollup, exp.Cube, exp.GroupingSets)):
            for part in term.expressions:
                self._group_term(part, typer)
            return
        kind = typer.type(term)
        if holds(kind, "variant") or holds(kind, "interval"):
            self._problem(
                term,
                TypeMismatch,
                f'groups by "{self._text(term)}", whose values can\'t be told apart',
                detail=f"It is {str(kind).upper()}.",
                hint="Cast it, or group by something that it holds.",
            )

    def _read_clauses(self, query: exp.Select, scope: Scope, columns: Columns) -> None:
        typer = self.typer(scope)
        for clause in ("having", "qualify"):
            if (condition := query.args.get(clause)) is not None:
                typer.condition(condition.this, clause.upper())
        if query.args.get("distinct") is not None:
            self._check_distinct(query, columns)
        for window in query.args.get("windows") or ():
            typer.window_parts(window)
        scope.aliases_first = True
        if (order := query.args.get("order")) is not None:
            for term in order.expressions:
                typer.ordered(term.this if isinstance(term, exp.Ordered) else term, "ORDER BY")

    def _check_distinct(self, query: exp.Select, columns: Columns) -> None:
        for name, kind in columns:
            if not is_orderable(kind):
                self._problem(
                    query,
                    TypeMismatch,
                    f'takes DISTINCT rows with a column "{name}" whose type has no order',
                    detail=f"It is {str(kind).upper()}.",
                )


def _renamed(columns: Columns, names: Any) -> list[tuple[str, SparkType]]:
    spelled = [name.name for name in names]
    if len(spelled) != len(columns):
        return list(columns)
    return [(name, kind) for name, (_, kind) in zip(spelled, columns, strict=True)]
