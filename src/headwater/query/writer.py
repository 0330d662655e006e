"""Queries in DuckDB's SQL: what a statement asks of views, asked of *relations* that DuckDB reads.

A relation is a name that stands for the rows of a view. Every part of a statement is written or refused.
"""

# ruff: noqa: S608  # names are quoted, and nothing else of a statement stands in a text as it came
from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from sqlglot import exp

from headwater.plan.spark_type import SparkType
from headwater.plan.typing import type_of
from headwater.plan.typing.coercion import common
from headwater.query.calls import CALLS
from headwater.query.casts import converted
from headwater.query.expression import Expressions, Rule, check_parts, spell
from headwater.query.leaves import LEAVES
from headwater.query.operators import OPERATORS
from headwater.query.refusal import refused
from headwater.query.scope import PLAIN, Columns
from headwater.query.spelling import name
from headwater.query.statement import Statement
from headwater.query.typed import Typed, label
from headwater.query.window import frame, order_by

_GROUPINGS: Mapping[type[exp.Expr], str] = {
    exp.Rollup: "ROLLUP", exp.Cube: "CUBE", exp.GroupingSets: "GROUPING SETS",
}  # fmt: skip
_SET_OPERATIONS: Mapping[type[exp.Expr], str] = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}


class Writer(Expressions):
    """Writes a statement. `relations` are the names under which DuckDB reads views, by the views' in lower case."""

    rules: Mapping[type, Rule] = {
        **LEAVES,
        **OPERATORS,
        **CALLS,
        exp.Subquery: lambda writer, node: f"({writer.query(node)})",
        exp.Exists: lambda writer, node: f"EXISTS ({writer.query(node.this)})",
    }

    def __init__(self, typed: Typed, relations: Mapping[str, str], now: datetime) -> None:
        super().__init__(now, {column.lower() for view in relations for column, _ in typed.relation(view) or ()})
        self._typed = typed
        self._relations = relations

    def statement(self, statement: Statement) -> str:
        """The statement in DuckDB's SQL."""
        return self.query(statement.tree)

    def query(self, node: exp.Expr) -> str:
        """A query, wherever it stands."""
        inner = node.unnest() if isinstance(node, exp.Subquery) and not _has_clauses(node) else node
        if isinstance(inner, exp.Select):
            return self._select(inner)
        if isinstance(inner, exp.SetOperation):
            return self._set_operation(inner)
        if isinstance(inner, exp.Values):
            return self._values(inner)
        if isinstance(inner, exp.Subquery):
            check_parts(inner, "this", "order", "limit", "offset", "with_")
            return f"{self._with(inner)}SELECT * FROM ({self.query(inner.this)}) AS q{self._tail(inner)}"
        raise refused(f"A query has no {type(inner).__name__} here: {spell(inner)}.")

    def in_query(self, node: exp.In, query: exp.Expr) -> str:
        """`x IN (SELECT …)`, compared in a type that both sides have in common."""
        inner = query.unnest() if isinstance(query, exp.Subquery) else query
        columns = self._typed.columns_of[id(inner)]
        if len(columns) != 1:
            raise refused(f"A query compares one column with IN: {spell(node)}.")
        meeting = self.meeting([type_of(node.this), columns[0][1]], node)
        return f"({self.write_as(node.this, meeting)} IN ({self._as_types(inner, [meeting])}))"

    # SELECT

    def _select(self, node: exp.Select) -> str:
        around, self.grouped = self.grouped, _floating_keys(node)
        try:
            return self._clauses(node)
        finally:
            self.grouped = around

    def _clauses(self, node: exp.Select) -> str:
        parts = [f"{self._with(node)}SELECT{self._distinct(node)} {self._projections(node)}"]
        if node.args.get("from_") is not None:
            parts.append(f"FROM {self._source(node.args['from_'].this)}")
        parts += [self._join(join) for join in node.args.get("joins") or ()]
        if (where := node.args.get("where")) is not None:
            parts.append(f"WHERE {self.condition(where.this)}")
        if (group := node.args.get("group")) is not None:
            parts.append(f"GROUP BY {self._group(group)}")
        if (having := node.args.get("having")) is not None:
            parts.append(f"HAVING {self.condition(having.this)}")
        if windows := node.args.get("windows"):
            parts.append(f"WINDOW {', '.join(f'{name(part.name)} AS {frame(self, part)}' for part in windows)}")
        if (qualify := node.args.get("qualify")) is not None:
            parts.append(f"QUALIFY {self.condition(qualify.this)}")
        return f"{' '.join(parts)}{self._tail(node)}"

    def _with(self, node: exp.Expr) -> str:
        clause = node.args.get("with_")
        if clause is None:
            return ""
        if clause.args.get("recursive"):
            raise refused("A query has no WITH RECURSIVE.")
        written = []
        for cte in clause.expressions:
            check_parts(cte, "this", "alias")
            written.append(f"{self._alias(cte.args['alias'])} AS ({self.query(cte.this)})")
        return f"WITH {', '.join(written)} "

    def _alias(self, alias: exp.TableAlias) -> str:
        columns = ", ".join(name(column.name) for column in alias.columns)
        return f"{name(alias.name)}{f'({columns})' if columns else ''}"

    def _distinct(self, node: exp.Select) -> str:
        distinct = node.args.get("distinct")
        if distinct is None:
            return ""
        check_parts(distinct)
        return " DISTINCT"

    def _projections(self, node: exp.Select) -> str:
        merged = any(join.args.get("using") for join in node.args.get("joins") or ())
        return ", ".join(self._projection(part, merged) for part in node.expressions)

    def _projection(self, node: exp.Expr, merged: bool) -> str:
        if node.is_star:
            return self._star(node, merged)
        value = node.this if isinstance(node, exp.Alias) else node
        return f"{self.show(value)} AS {name(label(node))}"

    def _star(self, node: exp.Expr, merged: bool) -> str:
        star = node.this if isinstance(node, exp.Column) else node
        check_parts(star, "except_")
        owner = f"{name(node.table)}." if isinstance(node, exp.Column) else ""
        if merged and not owner:
            raise refused("A query names its columns where it joins USING one.", "Write SELECT card, l.at, r.spent …")
        dropped = ", ".join(name(part.name) for part in star.args.get("except_") or ())
        return f"{owner}*{f' EXCLUDE ({dropped})' if dropped else ''}"

    # FROM

    def _source(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Table):
            check_parts(node, "this", "alias", "joins")
            stands_for = self._relations.get(node.name.lower()) if node.meta.get("view") else None
            alias = node.args.get("alias")
            shown = self._alias(alias) if alias is not None else name(node.name)
            joins = "".join(f" {self._join(join)}" for join in node.args.get("joins") or ())
            return f"{name(stands_for or node.name)} AS {shown}{joins}"
        if isinstance(node, exp.Subquery):
            check_parts(node, "this", "alias", "order", "limit", "offset")
            alias = node.args.get("alias")
            tail = self._tail(node)
            inner = self.query(node.this)
            inner = f"SELECT * FROM ({inner}) AS q{tail}" if tail else inner
            return f"({inner}) AS {self._alias(alias) if alias is not None else name(f'query_{id(node)}')}"
        if isinstance(node, exp.Values):
            alias = node.args.get("alias")
            columns = self._typed.columns_of.get(id(node)) or self._values_columns(node)
            names = ", ".join(name(column) for column, _ in columns)
            return f"({self._values(node)}) AS {name(alias.name if alias is not None else 'values')}({names})"
        raise refused(f"A query reads views and queries, and this is neither: {spell(node)}.")

    def _join(self, join: exp.Join) -> str:
        side, kind = join.text("side").upper(), join.text("kind").upper()
        if kind in ("SEMI", "ANTI"):
            if side == "RIGHT":
                raise refused(f"A query has no RIGHT {kind} JOIN.")
            words = f"{kind} JOIN"
        else:
            words = f"{side or ('CROSS' if kind == 'CROSS' else 'INNER')} JOIN"
        source, using = self._source(join.this), join.args.get("using")
        if using:
            return f"{words} {source} USING ({', '.join(name(part.name) for part in using)})"
        if (condition := join.args.get("on")) is not None:
            return f"{words} {source} ON {self.condition(condition)}"
        if side or kind in ("SEMI", "ANTI"):
            raise refused(f"A {side or kind} JOIN needs a condition.", "Write ON l.key = r.key.")
        return f"CROSS JOIN {source}"

    # GROUP BY

    def _group(self, group: exp.Group) -> str:
        check_parts(group, "expressions", "all")
        if group.args.get("all"):
            return "ALL"
        return ", ".join(map(self._group_term, group.expressions))

    def _group_term(self, term: exp.Expr) -> str:
        word = _GROUPINGS.get(type(term))
        if word is not None:
            return f"{word} ({', '.join(map(self._group_term, term.expressions))})"
        if isinstance(term, exp.Tuple):
            return f"({', '.join(map(self._group_term, term.expressions))})"
        if isinstance(term, exp.Literal) and not term.is_string and not self.grouped:
            return term.name
        term = _meant(term, term.find_ancestor(exp.Select)) if self.grouped else term
        if type_of(term).name == "map":
            raise refused(f"A query can't group by {spell(term)}, which is a MAP.")
        return self.write(term)

    # ORDER BY, LIMIT and OFFSET

    def _tail(self, node: exp.Expr) -> str:
        order, text = node.args.get("order"), ""
        if order is not None:
            if not isinstance(node, exp.Select) and not all(_names_a_column(term.this) for term in order.expressions):
                raise refused(
                    "The rows of several queries are ordered by columns.", "Write ORDER BY name, or a number."
                )
            text += f" {order_by(self, order)}"
        for part in ("limit", "offset"):
            clause = node.args.get(part)
            if clause is None:
                continue
            check_parts(clause, "expression")
            count = clause.expression
            if not isinstance(count, exp.Literal) or not count.name.isdigit():
                raise refused(f"{part.upper()} takes a whole number that stands in the statement.")
            text += f" {part.upper()} {count.name}"
        return text

    # UNION, INTERSECT and EXCEPT; VALUES

    def _set_operation(self, node: exp.SetOperation) -> str:
        check_parts(node, "this", "expression", "distinct", "with_", "order", "limit", "offset")
        columns = self._typed.columns_of[id(node)]
        kinds = [kind for _, kind in columns]
        word = _SET_OPERATIONS[type(node)] + ("" if node.args.get("distinct") else " ALL")
        sides = [self._as_types(side, kinds) for side in (node.this, node.expression)]
        body = f"({sides[0]}) {word} ({sides[1]})"
        tail = self._tail(node)
        names = ", ".join(name(column) for column, _ in columns)
        return f"{self._with(node)}SELECT * FROM ({body}) AS q({names}){tail}" if tail else f"{self._with(node)}{body}"

    def _as_types(self, query: exp.Expr, kinds: list[SparkType]) -> str:
        """A query whose columns are cast to types, where they have others."""
        inner = query.unnest() if isinstance(query, exp.Subquery) and not _has_clauses(query) else query
        columns = self._typed.columns_of.get(id(query)) or self._typed.columns_of[id(inner)]
        text = self.query(query)
        if [kind for _, kind in columns] == kinds:
            return text
        names = [f"c{number}" for number in range(len(kinds))]
        shown = ", ".join(
            f"{converted(name(column), kind, target)} AS {name(column)}"
            for column, (_, kind), target in zip(names, columns, kinds, strict=True)
        )
        return f"SELECT {shown} FROM ({text}) AS q({', '.join(map(name, names))})"

    def _values_columns(self, node: exp.Values) -> Columns:
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        kinds = [common([type_of(value) for value in column]) for column in zip(*rows, strict=True)]
        alias = node.args.get("alias")
        names = [column.name for column in alias.columns] if alias is not None and alias.columns else []
        names = names or [f"col{number}" for number in range(1, len(kinds) + 1)]
        if any(kind is None for kind in kinds):
            raise refused("The rows of VALUES have different types.")
        return [(column, kind) for column, kind in zip(names, kinds, strict=True) if kind is not None]

    def _values(self, node: exp.Values) -> str:
        columns = self._values_columns(node)
        rows = []
        for row in node.expressions:
            values = row.expressions if isinstance(row, exp.Tuple) else [row]
            pairs = zip(values, columns, strict=True)
            rows.append(f"({', '.join(self.write_as(value, kind) for value, (_, kind) in pairs)})")
        return f"VALUES {', '.join(rows)}"


def shown_names(tree: exp.Expr, columns: Columns) -> list[str]:
    """The names of an answer's columns: what isn't named is called as it is written."""
    first = tree
    while isinstance(first, (exp.SetOperation, exp.Subquery)):
        first = first.this
    if not isinstance(first, exp.Select) or any(part.is_star for part in first.expressions):
        return [column for column, _ in columns]
    written = [part.sql(dialect=PLAIN, comments=False, normalize_functions=False) for part in first.expressions]
    named = (exp.Alias, exp.Column)
    pairs = zip(first.expressions, columns, written, strict=True)
    return [column if isinstance(part, named) else text for part, (column, _), text in pairs]


def _floating_keys(node: exp.Select) -> list[exp.Expr]:
    """The floating-point numbers that rows are grouped by, or that make them distinct."""
    group = node.args.get("group")
    terms = [_meant(term, node) for term in group.expressions] if group is not None else []
    if node.args.get("distinct") is not None:
        terms += [part.this if isinstance(part, exp.Alias) else part for part in node.expressions]
    return [term for term in terms if type_of(term).is_floating]


def _meant(term: exp.Expr, select: exp.Select | None) -> exp.Expr:
    """The expression that a term of GROUP BY stands for: a place, or the name of a column of the answer."""
    shown = select.expressions if select is not None else []
    if isinstance(term, exp.Literal) and not term.is_string and 0 < int(term.name) <= len(shown):
        column: exp.Expr = shown[int(term.name) - 1]
        return cast(exp.Expr, column.this) if isinstance(column, exp.Alias) else column
    named: list[exp.Expr] = [
        part.this for part in shown if isinstance(part, exp.Alias) and part.alias.lower() == term.name.lower()
    ]
    return named[0] if isinstance(term, exp.Column) and not term.table and len(named) == 1 else term


def _has_clauses(node: exp.Expr) -> bool:
    return any(node.args.get(part) for part in ("order", "limit", "offset", "with_"))


def _names_a_column(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) or (isinstance(node, exp.Column) and not node.table)
