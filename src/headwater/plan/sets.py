"""Grouping sets: GROUPING SETS, ROLLUP and CUBE group the same rows by several sets of columns at once.

A row is copied once per *set* before it is grouped: in the copy, a column that the set leaves out is NULL. That is the
stage Expand, so that every execution that groups rows can group them by sets. A column that is in every set, as one of
a window must be, stays as it is. The number of a set is what `grouping_id()` gives: a bit per column, 1 where it is
left out.

A NULL may then stand for all values, or for a NULL of the data. Where a column can be NULL, the number of the set is
one of the keys of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain, combinations, islice, product

import pyarrow as pa
from sqlglot import exp

from headwater import sql
from headwater.findings import QueryRefused
from headwater.operators import Stage
from headwater.plan.context import Context
from headwater.plan.expression import ancestors_of, expression, text
from headwater.plan.item import unique_name
from headwater.plan.source import expand_stage

NUMBER = "grouping_id"
"""The key that is the number of the set."""
MOST_SETS = 256
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_Sets = list[tuple[exp.Expr, ...]]


@dataclass(frozen=True)
class Grouping:
    """The expressions of a GROUP BY in order, and the sets of their texts; one set without GROUPING SETS."""

    nodes: list[exp.Expr]
    sets: list[frozenset[str]] = field(default_factory=list)

    @property
    def left_out(self) -> list[exp.Expr]:
        """The expressions that some set leaves out."""
        return [node for node in self.nodes if not all(text(node) in chosen for chosen in self.sets)]

    def number(self, chosen: frozenset[str]) -> int:
        """The number of a set: the first expression is the highest bit."""
        bits = ["0" if text(node) in chosen else "1" for node in self.nodes]
        return int("".join(bits) or "0", 2)


@dataclass(frozen=True)
class Copied:
    """The rows once per set: the stage, what it calls each column that is left out, and the number of the set."""

    stage: Stage
    columns: dict[str, str] = field(default_factory=dict)
    number: str | None = None


def grouping_of(context: Context, clause: exp.Group, bound: Callable[[exp.Expr], exp.Expr]) -> Grouping:
    """The expressions and the sets of a GROUP BY, each expression bound."""
    sets = _sets_of(clause)
    if sets is None:
        return Grouping([bound(node) for node in clause.expressions])
    known = {id(node): bound(node) for members in sets for node in members}
    nodes = list({text(node): node for node in known.values()}.values())
    if len(sets) > MOST_SETS:
        hint = "Write the sets that are needed: GROUPING SETS (…)."
        context.refuse(QueryRefused, f"groups by more than {MOST_SETS} sets", clause, hint=hint)
        return Grouping(nodes)
    texts = [frozenset(text(known[id(node)]) for node in members) for members in sets]
    if len(set(texts)) < len(texts):
        context.refuse(QueryRefused, "groups by the same set twice", clause, hint="Name each set once.")
    return Grouping(nodes, list(dict.fromkeys(texts)))


def _sets_of(clause: exp.Group) -> _Sets | None:
    """The sets of a GROUP BY, None if it has none but its columns."""
    plain = clause.expressions
    for name, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):  # Hive's GROUP BY a, b WITH ROLLUP
        if clause.args.get(name):
            return _sets(kind(expressions=plain))
    if clause.args.get("grouping_sets"):  # GROUP BY a, b GROUPING SETS (…)
        return [members for sets in clause.args["grouping_sets"] for members in _sets(sets)]
    if not any(isinstance(node, _SETS) for node in plain):
        return None
    combined = islice(product(*(_sets(node) for node in plain)), MOST_SETS + 1)
    return [tuple(chain(*chosen)) for chosen in combined]


def _sets(node: exp.Expr) -> _Sets:
    """The sets that one element of a GROUP BY stands for."""
    parts = [_columns(part) for part in node.expressions] if isinstance(node, exp.Rollup | exp.Cube) else []
    if isinstance(node, exp.Rollup):
        return [tuple(chain(*parts[:count])) for count in range(len(parts), -1, -1)]
    if isinstance(node, exp.Cube):
        chosen = (members for size in range(len(parts), -1, -1) for members in combinations(parts, size))
        return [tuple(chain(*members)) for members in islice(chosen, MOST_SETS + 1)]
    if isinstance(node, exp.GroupingSets):
        return [members for part in node.expressions for members in _sets(part)]
    return [_columns(node)]


def _columns(node: exp.Expr) -> tuple[exp.Expr, ...]:
    node = node.unnest()
    return tuple(node.expressions) if isinstance(node, exp.Tuple) else (node,)


def copied(context: Context, grouping: Grouping, stage: Stage, at: exp.Expr) -> Copied:
    """The rows of a stage once per set."""
    left_out = grouping.left_out
    if len(grouping.sets) < 2 or not left_out:
        return Copied(stage)
    typed = [expression(context, node, stage) for node in left_out]
    names: list[str] = []
    for node in left_out:
        taken = [*(column.name for column in stage.columns), *names]
        names.append(unique_name(f"{node.name or 'key'}_of_set", taken))
    numbered = any(value.nullable for value in typed)
    number = [unique_name(NUMBER, [column.name for column in stage.columns])] if numbered else []
    rows = []
    for chosen in grouping.sets:
        values = [
            value.tree.copy() if text(node) in chosen else sql.cast(exp.Null(), value.type)
            for node, value in zip(left_out, typed, strict=True)
        ]
        values += [sql.cast(exp.Literal.number(grouping.number(chosen)), pa.int64()) for _ in number]
        pairs = zip([*names, *number], values, strict=True)
        named = [exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=value) for name, value in pairs]
        rows.append(exp.Struct(expressions=named))
    generator = exp.Inline(this=exp.Array(expressions=rows))
    expanded = expand_stage(context, stage, generator, [*names, *number], outer=False, at=at)
    own = dict(zip(names, (ancestors_of(value, stage) for value in typed), strict=True))
    fields = (replace(column, ancestors=own.get(column.name, column.ancestors)) for column in expanded.columns)
    expanded = replace(expanded, columns=tuple(fields))
    return Copied(expanded, dict(zip(map(text, left_out), names, strict=True)), number[0] if number else None)


@dataclass(frozen=True)
class Sets:
    """The set that a group belongs to, over the keys of the group: `keys` are their names by the expressions' texts."""

    grouping: Grouping
    keys: Mapping[str, str]
    number: str | None

    def flag(self, node: exp.Expr) -> exp.Expr | None:
        """The value of `grouping(expression)`: 1 if the set of a group leaves it out. None if no set names it."""
        spelled = text(node)
        bits = [text(node) for node in reversed(self.grouping.nodes)]
        if spelled not in bits:
            return None
        if spelled not in map(text, self.grouping.left_out):
            return sql.cast(exp.Literal.number(0), pa.int8())
        if self.number is None:
            is_null = exp.Is(this=exp.column(self.keys[spelled]), expression=exp.Null())
            chosen = exp.If(this=is_null, true=exp.Literal.number(1), false=exp.Literal.number(0))
            return sql.cast(chosen, pa.int8())
        shifted = exp.func("SHIFTRIGHT", exp.column(self.number), exp.Literal.number(bits.index(spelled)))
        return sql.cast(exp.BitwiseAnd(this=shifted, expression=exp.Literal.number(1)), pa.int8())

    def number_of(self, nodes: Sequence[exp.Expr]) -> exp.Expr | None:
        """The value of `grouping_id(…)`, of all expressions or of these."""
        if self.number is not None and list(map(text, nodes or self.grouping.nodes)) == self._all:
            return exp.column(self.number)
        flags = [self.flag(node) for node in nodes or self.grouping.nodes]
        known = [flag for flag in flags if flag is not None]
        if len(known) < len(flags):
            return None
        numbers = (sql.cast(flag, pa.int64()) for flag in reversed(known))
        bits: list[exp.Expr] = [
            exp.func("SHIFTLEFT", number, exp.Literal.number(bit)) for bit, number in enumerate(numbers)
        ]
        return reduce(lambda total, bit: exp.Add(this=total, expression=bit), bits)

    @property
    def _all(self) -> list[str]:
        return [text(node) for node in self.grouping.nodes]
