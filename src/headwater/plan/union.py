"""UNION, EXCEPT and INTERSECT: the rows of several queries with columns that correspond by position or BY NAME.

BY NAME both sides have the same columns, in whatever order. With CORRESPONDING (or INNER) only those count that both
have; FULL takes all of them and LEFT those of the first side, with NULL for what a side lacks.

EXCEPT and INTERSECT are groups of a union: rows that are the same are a group, and which sides it has rows of decides
whether it is shown. NULLs are the same there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from headwater import model, sql
from headwater.errors import Origin
from headwater.findings import NotSupportedYet, QueryRefused, TypeMismatch
from headwater.operators import Aggregate, Call, Deduplicate, Expression, Field, Named, Project, Stage, Union
from headwater.plan.context import Context, Relation
from headwater.plan.expression import check_distinct, check_united, common_type

_SIDE, _LEAST, _MOST = "__side", "__least", "__most"


def union(context: Context, query: exp.SetOperation, branches: Sequence[Relation]) -> Relation:
    """The relation of a set operation."""
    first, second = branches
    complete = first.complete and second.complete
    distinct = bool(query.args.get("distinct"))
    if not isinstance(query, exp.Union) and not distinct:
        words = f"{type(query).__name__.upper()} ALL"
        hint = f"Count the rows of each side in groups, or write {words.removesuffix(' ALL')}."
        context.refuse(NotSupportedYet, f"uses {words}, which is not supported yet", query, hint=hint)
        return Relation(first.stage, complete)
    pairs = _pairs(context, query, first, second)
    if pairs is None:
        return Relation(first.stage, complete=False)
    check = check_distinct if distinct else check_united
    check(context, [first.stage, second.stage], query)
    fields = tuple(_field(context, query, one, other) for one, other in pairs)
    sides = tuple(zip(*pairs, strict=True))
    parts = [
        _shaped(part, _indexes(branch.stage, chosen), fields, None if isinstance(query, exp.Union) else number)
        for number, (branch, chosen) in enumerate(zip(branches, sides, strict=True), start=1)
        for part in _parts(branch.stage, distinct=isinstance(query, exp.Union) and distinct)
    ]
    origin = context.origin(query)
    if not isinstance(query, exp.Union):
        return Relation(_compared(query, parts, fields, origin), complete)
    stage: Stage = Union(fields, tuple(parts), origin=origin)
    if distinct:
        stage = Deduplicate(fields, stage, tuple(field.expression for field in fields), origin=origin)
    return Relation(stage, complete)


Pair = tuple[Field | None, Field | None]
"""The columns of both sides that correspond; None where a side has none."""


def _pairs(context: Context, query: exp.SetOperation, first: Relation, second: Relation) -> list[Pair] | None:
    """The columns that correspond; None where that was refused, or where not all of them are known."""
    if not (first.complete and second.complete):
        return None
    left, right = first.stage.visible, second.stage.visible
    if query.args.get("by_name"):
        return _pairs_by_name(context, query, left, right)
    words = " ".join(query.text(part).upper() for part in ("side", "kind") if query.text(part))
    if words:
        hint = "Write BY NAME behind UNION, or leave the word before it out."
        context.refuse(QueryRefused, f"uses {words} {_word(query)} without BY NAME", query, hint=hint)
        return None
    if len(left) != len(right):
        detail = f"One side has {len(left)} columns, the other {len(right)}."
        hint = "Select the same columns on both sides, like CAST(NULL AS STRING) AS name for one that a side lacks."
        what = "unites queries with different numbers of columns"
        context.refuse(TypeMismatch, what, query, detail=detail, hint=hint)
        return None
    return list(zip(left, right, strict=True))


def _pairs_by_name(
    context: Context, query: exp.SetOperation, left: Sequence[Field], right: Sequence[Field]
) -> list[Pair] | None:
    ones, others = ({field.name.lower(): field for field in side} for side in (left, right))
    side, kind = query.text("side").upper(), query.text("kind").upper()
    wanted = {"FULL": [*ones, *(name for name in others if name not in ones)], "LEFT": [*ones]}.get(side)
    if wanted is None:
        shared = [name for name in ones if name in others]
        wanted = shared if kind == "INNER" else [*ones]
    if listed := [column.name for column in query.args.get("on") or ()]:
        wanted = [name.lower() for name in listed]
    lacking = [name for name in wanted if name not in ones or name not in others]
    lacking += [name for name in others if not (kind == "INNER" or side or listed or name in ones)]
    unknown = [name for name in lacking if name not in ones and name not in others]
    if not wanted or unknown or (lacking and not side):
        _refuse_names(context, query, lacking)
        return None
    return [(ones.get(name), others.get(name)) for name in wanted]


def _refuse_names(context: Context, query: exp.SetOperation, lacking: Sequence[str]) -> None:
    names = " and ".join(f'"{name}"' for name in lacking)
    what = f"of which only one has {names}" if lacking else "of which none is shared"
    missing = f"Add NULL AS {lacking[0]} to the other query" if lacking else "Name the columns alike"
    context.refuse(
        TypeMismatch,
        f"unites the columns of two queries by name, {what}",
        query,
        detail="BY NAME, both queries have the same columns, in whatever order.",
        hint=f"{missing}, or write FULL {_word(query)} … BY NAME to fill in NULL.",
    )


def _word(query: exp.SetOperation) -> str:
    return type(query).__name__.upper()


def _indexes(stage: Stage, chosen: Sequence[Field | None]) -> list[int | None]:
    """The positions among a stage's visible columns of those that correspond to the columns of the union."""
    visible = stage.visible
    return [None if field is None else visible.index(field) for field in chosen]


def _compared(query: exp.SetOperation, parts: list[Stage], fields: tuple[Field, ...], origin: Origin | None) -> Stage:
    """The rows of one side that the other has, or has not, each once."""
    side = Field(_SIDE, pa.int32(), False)
    rows = Union((*fields, side), tuple(parts), origin=origin)
    calls = tuple(
        Call(name, function, Expression(f"{function}({_SIDE})", side.type, True, (_SIDE,), tree=tree))
        for name, function, tree in (
            (_LEAST, "min", exp.Min(this=exp.column(_SIDE))),
            (_MOST, "max", exp.Max(this=exp.column(_SIDE))),
        )
    )
    sides = exp.column(_LEAST).eq(1), exp.column(_MOST).eq(2 if isinstance(query, exp.Intersect) else 1)
    having = Expression.of(exp.and_(*sides), pa.bool_(), True, (_LEAST, _MOST))
    keys = tuple(Named(field.name, field.expression) for field in fields)
    window = next((field.window for field in fields if field.role and field.role.bounds_window), None)
    columns = (*fields, *(Field(call.name, side.type, True) for call in calls))
    groups = Aggregate(columns, rows, keys, calls, having, window, origin=origin)
    return Project(fields, groups, keys, origin=origin)


def _parts(branch: Stage, distinct: bool) -> tuple[Stage, ...]:
    """A UNION ALL of a UNION ALL is one union, and so is a UNION of anything whose rows are distinct already."""
    if distinct and isinstance(branch, Deduplicate) and not branch.order and len(branch.keys) == len(branch.columns):
        return _parts(branch.input, distinct)
    return branch.branches if isinstance(branch, Union) else (branch,)


def _field(context: Context, query: exp.Expr, one: Field | None, other: Field | None) -> Field:
    if one is None or other is None:
        only = one or other
        assert only is not None
        return replace(only, nullable=True, role=None, window=None, hidden=False)
    kind = common_type([one.type, other.type])
    if kind is None:
        types = f"{model.spell_type(one.type)} and {model.spell_type(other.type)}"
        context.refuse(
            TypeMismatch,
            f'unites columns of different types as "{one.name}"',
            query,
            detail=f"Their types are {types}.",
            hint=f"Let both have one type, like CAST({other.name} AS {model.spell_type(one.type)}) AS {one.name}.",
        )
    same_time = one.role is other.role and one.window == other.window
    return replace(
        one,
        type=kind or one.type,
        nullable=one.nullable or other.nullable,
        ancestors=one.ancestors | other.ancestors,
        role=one.role if same_time else None,
        window=one.window if same_time else None,
        hidden=False,
    )


def _shaped(branch: Stage, indexes: list[int | None], fields: tuple[Field, ...], side: int | None = None) -> Stage:
    """The branch with the columns of the union, and which side it is."""
    chosen = [None if index is None else branch.visible[index] for index in indexes]
    pairs = list(zip(chosen, fields, strict=True))
    named = tuple(Named(target.name, _cast(field, target)) for field, target in pairs)
    columns = tuple(
        replace(target, ancestors=frozenset())
        if field is None
        else replace(field, name=target.name, type=target.type, hidden=False)
        for field, target in pairs
    )
    if side is not None:
        named = (*named, Named(_SIDE, Expression.of(exp.Literal.number(side), pa.int32(), False)))
        columns = (*columns, Field(_SIDE, pa.int32(), False))
    return Project(columns, branch, named)


def _cast(field: Field | None, target: Field) -> Expression:
    if field is None:
        return Expression.of(sql.cast(exp.Null(), target.type), target.type)
    if field.type == target.type:
        return field.expression
    return Expression.of(sql.cast(exp.column(field.name), target.type), target.type, field.nullable, (field.name,))
