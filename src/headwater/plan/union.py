"""UNION, EXCEPT and INTERSECT: the rows of several queries with columns that correspond by position.

EXCEPT and INTERSECT are groups of a union: rows that are the same are a group, and which sides it has rows of decides
whether it is shown. NULLs are the same there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from headwater import model
from headwater.errors import NotSupportedYet, Origin, TypeMismatch
from headwater.plan.context import Context, Relation
from headwater.plan.expression import common_type
from headwater.plan.stages import Aggregate, Call, Deduplicate, Expression, Field, Named, Project, Stage, Union
from headwater.sql.spelling import spell_name

_SIDE, _LEAST, _MOST = "__side", "__least", "__most"


def union(context: Context, query: exp.SetOperation, branches: Sequence[Relation]) -> Relation:
    """The relation of a set operation."""
    first, second = branches
    complete = first.complete and second.complete
    distinct = bool(query.args.get("distinct"))
    if not isinstance(query, exp.Union) and not distinct:
        words = f"{type(query).__name__.upper()} ALL"
        hint = f"Count the rows of each side in groups, or write {words.removesuffix(' ALL')}."
        context.refuse(NotSupportedYet, f"uses {words}, which has no executor in this version", query, hint=hint)
        return Relation(first.stage, complete)
    left, right = first.stage.visible, second.stage.visible
    if len(left) != len(right):
        if complete:
            detail = f"One side has {len(left)} columns, the other {len(right)}."
            context.refuse(TypeMismatch, "unites queries with different numbers of columns", query, detail=detail)
        return Relation(first.stage, complete=False)
    fields = tuple(_field(context, query, one, other) for one, other in zip(left, right, strict=True))
    origin = context.origin(query)
    if not isinstance(query, exp.Union):
        return Relation(_compared(query, first.stage, second.stage, fields, origin), complete)
    parts = [part for branch in (first.stage, second.stage) for part in _parts(branch)]
    stage: Stage = Union(fields, tuple(_shaped(part, fields) for part in parts), origin=origin)
    if distinct:
        stage = Deduplicate(fields, stage, tuple(map(_column, fields)), origin=origin)
    return Relation(stage, complete)


def _compared(
    query: exp.SetOperation, first: Stage, second: Stage, fields: tuple[Field, ...], origin: Origin | None
) -> Stage:
    """The rows of one side that the other has, or has not, each once."""
    sides = [(part, number) for number, branch in ((1, first), (2, second)) for part in _parts(branch)]
    side = Field(_SIDE, pa.int32(), False)
    rows = Union((*fields, side), tuple(_shaped(part, fields, number) for part, number in sides), origin=origin)
    calls = tuple(
        Call(name, function, Expression(f"{function}({spell_name(_SIDE)})", side.type, True, (_SIDE,)))
        for name, function in ((_LEAST, "min"), (_MOST, "max"))
    )
    shown = f"{_LEAST} = 1 AND {_MOST} = {2 if isinstance(query, exp.Intersect) else 1}"
    having = Expression(shown, pa.bool_(), True, (_LEAST, _MOST))
    keys = tuple(Named(field.name, _column(field)) for field in fields)
    window = next((field.window for field in fields if field.role and field.role.bounds_window), None)
    columns = (*fields, *(Field(call.name, side.type, True) for call in calls))
    groups = Aggregate(columns, rows, keys, calls, having, window, origin=origin)
    return Project(fields, groups, keys, origin=origin)


def _column(field: Field) -> Expression:
    return Expression(spell_name(field.name), field.type, field.nullable, (field.name,))


def _parts(branch: Stage) -> tuple[Stage, ...]:
    """A UNION ALL of a UNION ALL is one union."""
    return branch.branches if isinstance(branch, Union) else (branch,)


def _field(context: Context, query: exp.Expr, one: Field, other: Field) -> Field:
    kind = common_type([one.type, other.type])
    if kind is None:
        types = f"{model.spell_type(one.type)} and {model.spell_type(other.type)}"
        context.refuse(
            TypeMismatch,
            f'unites columns of different types as "{one.name}"',
            query,
            detail=f"Their types are {types}.",
            hint="Cast one of them to the type of the other.",
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


def _shaped(branch: Stage, fields: tuple[Field, ...], side: int | None = None) -> Stage:
    """The branch with the names and types of the union, and which side it is."""
    pairs = list(zip(branch.visible, fields, strict=True))
    named = tuple(Named(target.name, _cast(field, target)) for field, target in pairs)
    columns = tuple(replace(field, name=target.name, type=target.type, hidden=False) for field, target in pairs)
    if side is not None:
        named = (*named, Named(_SIDE, Expression(str(side), pa.int32(), False)))
        columns = (*columns, Field(_SIDE, pa.int32(), False))
    return Project(columns, branch, named)


def _cast(field: Field, target: Field) -> Expression:
    name = spell_name(field.name)
    text = name if field.type == target.type else f"CAST({name} AS {model.spell_type(target.type)})"
    return Expression(text, target.type, field.nullable, (field.name,))
