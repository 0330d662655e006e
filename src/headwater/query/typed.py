"""The types of a statement: the columns that each query in it gives, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from headwater.errors import Finding
from headwater.findings import QueryRefused, TypeMismatch, UnknownColumn
from headwater.plan.spark_type import UNKNOWN, SparkType
from headwater.plan.typing.coercion import common, holds, is_orderable
from headwater.plan.typing.expression import Typer
from headwater.plan.typing.problem import Problem
from headwater.query.expression import check_parts
from headwater.query.refusal import refused
from headwater.query.scope import PLAIN, Columns, Scope, Source

_PARTS_OF_A_SELECT = (
    "with_", "expressions", "from_", "joins", "where", "group", "having", "qualify", "windows", "order", "limit",
    "offset", "distinct",
)  # fmt: skip
_PARTS_OF_A_JOIN = ("this", "on", "using", "side", "kind")


@dataclass
class Typed:
    """Types the queries of a statement. `relation` has the columns of a view; `ctes` are the WITH queries in sight.

    `columns_of` has those of each query, by the id of its node. What isn't typed here has no meaning for a statement:
    the writer refuses it.
    """

    relation: Callable[[str], Columns | None]
    problems: list[Problem] = field(default_factory=list)
    ctes: dict[str, Columns] = field(default_factory=dict)
    columns_of: dict[int, Columns] = field(default_factory=dict)

    def columns(self, query: exp.Expr, outer: Scope | None = None) -> Columns:
        """The columns that a query gives."""
        before = dict(self.ctes)
        clause = query.args.get("with_")
        for cte in clause.expressions if clause is not None else ():
            self.ctes[cte.alias.lower()] = _renamed(self.columns(cte.this, outer), cte.args["alias"])
        columns = self.columns_of[id(query)] = self._columns(query, outer)
        self.ctes = before
        return columns

    def _columns(self, query: exp.Expr, outer: Scope | None) -> Columns:
        if isinstance(query, (exp.Subquery, exp.Paren)):
            return _renamed(self.columns(query.this, outer), query.args.get("alias"))
        if isinstance(query, exp.SetOperation):
            return self._combined(query, outer)
        if isinstance(query, exp.Values):
            return self._values(query, outer)
        if isinstance(query, exp.Select):
            return self._select(query, self._scope(outer))
        return []

    def _scope(self, outer: Scope | None) -> Scope:
        return Scope(self.columns, self.problems, outer)

    def _problem(
        self, node: exp.Expr, kind: type[Finding], summary: str, detail: str | None = None, hint: str | None = None
    ) -> None:
        self.problems.append(Problem(node, kind, summary, detail, hint))

    # UNION, EXCEPT and INTERSECT; VALUES

    def _combined(self, query: exp.SetOperation, outer: Scope | None) -> Columns:
        left, right = self.columns(query.this, outer), self.columns(query.expression, outer)
        if len(left) != len(right):
            self._problem(
                query,
                QueryRefused,
                f"combines queries of {len(left)} and {len(right)} columns",
                detail="Both sides of UNION, EXCEPT and INTERSECT have the same columns.",
            )
            return left
        pairs = zip(left, right, strict=True)
        return [(name, self._common(query, name, kind, other)) for (name, kind), (_, other) in pairs]

    def _common(self, node: exp.Expr, name: str, left: SparkType, right: SparkType) -> SparkType:
        kind = common([left, right])
        if kind is None:
            self._problem(
                node,
                TypeMismatch,
                f'combines a column "{name}" of two types that have none in common',
                detail=f"It is {str(left).upper()} on one side and {str(right).upper()} on the other.",
                hint="Cast one of them, like CAST(… AS type).",
            )
        return kind or UNKNOWN

    def _values(self, query: exp.Values, outer: Scope | None) -> Columns:
        typer = self._scope(outer).typer()
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in query.expressions]
        kinds = [[typer.type(value) for value in row] for row in rows]
        columns = [common(column) or UNKNOWN for column in zip(*kinds, strict=False)]
        return _renamed(
            [(f"col{position}", kind) for position, kind in enumerate(columns, start=1)], query.args.get("alias")
        )

    # FROM

    def _read_sources(self, query: exp.Select, scope: Scope) -> None:
        source = query.args.get("from_")
        if source is not None:
            self._add(source.this, scope)
        for join in query.args.get("joins") or ():
            self._join(join, scope)

    def _add(self, node: exp.Expr, scope: Scope) -> None:
        scope.sources.append(self._source(node, scope))
        for join in node.args.get("joins") or ():
            self._join(join, scope)

    def _source(self, node: exp.Expr, scope: Scope) -> Source:
        columns: Columns | None = None
        if isinstance(node, exp.Table):
            known = self.ctes.get(node.name.lower()) if not node.meta.get("view") else None
            columns = known if known is not None else self.relation(node.name)
        elif isinstance(node, (exp.Query, exp.Values)):
            columns = self.columns(node.this if isinstance(node, exp.Subquery) else node, scope.outer)
        if columns is not None and not isinstance(node, exp.Values):
            columns = _renamed(columns, node.args.get("alias"))
        return Source(node.alias_or_name, columns)

    def _join(self, join: exp.Join, scope: Scope) -> None:
        check_parts(join, *_PARTS_OF_A_JOIN)
        before = len(scope.sources)
        self._add(join.this, scope)
        for name in join.args.get("using") or ():
            self._merge(join, name.name, scope, before)
        if (condition := join.args.get("on")) is not None:
            scope.typer().condition(condition, "ON")
        if join.text("kind").upper() in ("SEMI", "ANTI"):
            del scope.sources[before:]

    def _merge(self, join: exp.Join, name: str, scope: Scope, before: int) -> None:
        """Let a column of USING be one of both sides; they have it with the same type."""
        left, right = (
            {kind for source in side for kind in source.find(name)}
            for side in (scope.sources[:before], scope.sources[before:])
        )
        if not left or not right:
            self._problem(join, UnknownColumn, f'joins USING a column "{name}" that not both of its inputs have')
        elif left != right or len(left) > 1:
            raise refused(
                f'A query joins USING columns of one type, and "{name}" has two.', f"Write ON l.{name} = r.{name}."
            )
        else:
            (scope.merged[name.lower()],) = left

    # SELECT

    def _select(self, query: exp.Select, scope: Scope) -> Columns:
        check_parts(query, *_PARTS_OF_A_SELECT)
        self._read_sources(query, scope)
        typer = scope.typer()
        if (where := query.args.get("where")) is not None:
            typer.condition(where.this, "WHERE")
        columns: Columns = []
        for node in query.expressions:
            columns += self._projection(node, scope, typer)
            scope.aliases = {name.lower(): kind for name, kind in columns}
        if (group := query.args.get("group")) is not None:
            self._read_groups(group.expressions, typer)
        self._read_clauses(query, scope, columns)
        return columns

    def _projection(self, node: exp.Expr, scope: Scope, typer: Typer) -> Columns:
        return self._starred(node, scope) if node.is_star else [(label(node), typer.type(node))]

    def _starred(self, node: exp.Expr, scope: Scope) -> Columns:
        star = node if isinstance(node, exp.Star) else node.this
        parts = [part.name for part in node.parts][:-1] if isinstance(node, exp.Column) else []
        columns = scope.star(node)
        if parts and not any(source.name.lower() == parts[0].lower() for source in scope.sources):
            kind = scope.column(exp.column(*reversed(parts)))
            is_struct = kind is not None and kind.name == "struct"
            columns = list(zip(kind.labels, kind.parts, strict=True)) if kind is not None and is_struct else []
        dropped = {part.name.lower() for part in star.args.get("except_") or ()}
        return [pair for pair in columns if pair[0].lower() not in dropped]

    # Clauses

    def _read_groups(self, terms: Sequence[exp.Expr], typer: Typer) -> None:
        for term in terms:
            if isinstance(term, (exp.Tuple, exp.Rollup, exp.Cube, exp.GroupingSets)):
                self._read_groups(term.expressions, typer)
                continue
            kind = typer.type(term)
            if holds(kind, "variant") or holds(kind, "interval"):
                self._problem(
                    term,
                    TypeMismatch,
                    f'groups by "{term.sql(dialect=PLAIN, comments=False)}", whose values can\'t be told apart',
                    detail=f"It is {str(kind).upper()}.",
                    hint="Cast it, or group by something that it holds.",
                )

    def _read_clauses(self, query: exp.Select, scope: Scope, columns: Columns) -> None:
        typer = scope.typer()
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


def label(node: exp.Expr) -> str:
    """The name that a column of a query has."""
    return node.alias_or_name or node.output_name or node.sql(dialect=PLAIN, comments=False)


def _renamed(columns: Columns, alias: exp.Expr | None) -> Columns:
    """The columns under the names that an alias has for them."""
    names = [name.name for name in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if len(names) != len(columns):
        return list(columns)
    return [(name, kind) for name, (_, kind) in zip(names, columns, strict=True)]
