"""UNION: the rows of several queries with columns that correspond by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from headwater import model
from headwater.errors import NotSupportedYet, TypeMismatch
from headwater.plan.context import Context, Relation
from headwater.plan.expression import common_type
from headwater.plan.stages import Deduplicate, Expression, Field, Named, Project, Stage, Union
from headwater.sql.spelling import spell_name


def union(context: Context, query: exp.SetOperation, branches: Sequence[Relation]) -> Relation:
    """The relation of a UNION; other set operations have no executor."""
    first, second = branches
    complete = first.complete and second.complete
    if not isinstance(query, exp.Union):
        words = type(query).__name__.upper()
        hint = "Write it as a semi join (EXISTS) or an anti join (NOT EXISTS) with a time bound."
        context.refuse(NotSupportedYet, f"uses {words}, which has no executor in this version", query, hint=hint)
        return Relation(first.stage, complete)
    left, right = first.stage.visible, second.stage.visible
    if len(left) != len(right):
        if complete:
            detail = f"One side has {len(left)} columns, the other {len(right)}."
            context.refuse(TypeMismatch, "unites queries with different numbers of columns", query, detail=detail)
        return Relation(first.stage, complete=False)
    fields = tuple(_field(context, query, one, other) for one, other in zip(left, right, strict=True))
    parts = [part for branch in (first.stage, second.stage) for part in _parts(branch)]
    stage: Stage = Union(fields, tuple(_shaped(part, fields) for part in parts), origin=context.origin(query))
    if query.args.get("distinct"):
        keys = tuple(Expression(spell_name(field.name), field.type, field.nullable, (field.name,)) for field in fields)
        stage = Deduplicate(fields, stage, keys, origin=stage.origin)
    return Relation(stage, complete)


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


def _shaped(branch: Stage, fields: tuple[Field, ...]) -> Stage:
    """The branch with the names and types of the union."""
    pairs = list(zip(branch.visible, fields, strict=True))
    named = tuple(Named(target.name, _cast(field, target)) for field, target in pairs)
    columns = tuple(replace(field, name=target.name, type=target.type, hidden=False) for field, target in pairs)
    return Project(columns, branch, named)


def _cast(field: Field, target: Field) -> Expression:
    name = spell_name(field.name)
    text = name if field.type == target.type else f"CAST({name} AS {model.spell_type(target.type)})"
    return Expression(text, target.type, field.nullable, (field.name,))
