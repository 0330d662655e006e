"""Trials: an aggregate changed so that the group on which it fails can be told.

A sum that has become too great for its type fails. `try_sum` gives NULL there, where it has values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from headwater.operators.aggregate.stage import Aggregate, Call
from headwater.operators.expression import Expression, Field
from headwater.operators.stage import Stage

_TRIED = {"sum": "try_sum", "avg": "try_avg", "mean": "try_avg"}


@dataclass(frozen=True)
class Trial:
    """A stage of groups, without what drops some of them (`having`); `overflow` has flags in place of its values.

    `names` are the columns of its keys, `sums` the expressions that can be too great, by the names of their flags.
    """

    plain: Stage
    having: Expression | None
    names: tuple[str, ...]
    overflow: Stage
    sums: dict[str, str]


def trial_of(stages: Iterable[Stage]) -> tuple[Stage, Trial] | None:
    """The first of some stages that makes groups, and the trial of it; None if none does."""
    stage = next((stage for stage in stages if isinstance(stage, Aggregate)), None)
    if stage is None:
        return None
    flags = {_overflow(number, call): call for number, call in enumerate(_sums(stage))}
    keys = tuple(column for column in stage.columns if column.name in {key.name for key in stage.keys})
    fields = tuple(Field(flag.name, pa.bool_()) for flag in flags)
    overflow = replace(stage, columns=(*keys, *fields), aggregates=tuple(flags), having=None)
    sums = {flag.name: call.expression.sql for flag, call in flags.items()}
    return stage, Trial(replace(stage, having=None), stage.having, tuple(key.name for key in keys), overflow, sums)


def _sums(stage: Aggregate) -> list[Call]:
    return [call for call in stage.aggregates if call.function.lower() in _TRIED]


def _overflow(number: int, call: Call) -> Call:
    """The test of a sum: it is too great if it has values, and `try_sum` gives none."""
    tried = _renamed(call.expression.tree, _TRIED[call.function.lower()])
    counted = _renamed(call.expression.tree, "count")
    some = exp.GT(this=counted, expression=exp.Literal.number(0))
    test = exp.and_(exp.Is(this=exp.paren(tried), expression=exp.Null()), some, wrap=False)
    return Call(f"__overflow{number}", "", Expression.of(test, pa.bool_()))


def _renamed(tree: exp.Expr, name: str) -> exp.Expr:
    """The same call of another function."""
    if isinstance(tree, exp.Filter):
        return exp.Filter(this=_renamed(tree.this, name), expression=tree.expression.copy())
    return exp.Anonymous(this=name, expressions=[part.copy() for part in tree.iter_expressions()])
