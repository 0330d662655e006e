"""Rankings: a filter on ROW_NUMBER(), RANK() or DENSE_RANK() keeps the first rows of each partition.

`WHERE rn <= 3` over a query that computes `ROW_NUMBER() OVER (…) AS rn`, and `QUALIFY ROW_NUMBER() OVER (…) <= 3`, are
the stage TopN; with ROW_NUMBER and a limit of one they are the stage Deduplicate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, cast

from sqlglot import exp

from headwater.operators import Deduplicate, Over, OverCall, Project, Stage, TopN

_RANKINGS = {"row_number", "rank", "dense_rank"}
_MIRRORED: dict[type[exp.Expr], type[exp.Binary]] = {exp.GTE: exp.LTE, exp.GT: exp.LT, exp.EQ: exp.EQ}


def first_rows(stage: Stage, condition: exp.Expr) -> Stage | None:
    """The stage that keeps what the condition keeps, if the condition limits a ranking that the stage computes."""
    limited = _limit(condition.unnest())
    return _push(stage, *limited) if limited else None


def up_to_rows(stage: Stage, condition: exp.Expr) -> Stage | None:
    """The stage that keeps the rows up to those that the condition keeps: `rn = 3`, `rn BETWEEN 6 AND 15`.

    The condition must be asked of them still. Over all of time the number of a row is what tells it apart.
    """
    node = condition.unnest()
    high = node.args["high"] if isinstance(node, exp.Between) else node.expression if isinstance(node, exp.EQ) else None
    limit = _integer(high) if high is not None else None
    return _push(stage, node.this.name, limit) if limit and isinstance(node.this, exp.Column) else None


def _limit(node: exp.Expr) -> tuple[str, int] | None:
    """The column and the limit in `column <= limit` in any spelling."""
    if isinstance(node, exp.Between) and _integer(node.args["low"]) == 1:
        node = exp.LTE(this=node.this, expression=node.args["high"])
    if type(node) in _MIRRORED and isinstance(node.expression, exp.Column):
        node = _MIRRORED[type(node)](this=node.expression, expression=node.this)
    if not isinstance(node, exp.LTE | exp.LT | exp.EQ) or not isinstance(node.this, exp.Column):
        return None
    number = _integer(node.expression)
    if number is None or (isinstance(node, exp.EQ) and number != 1):
        return None
    limit = number - 1 if isinstance(node, exp.LT) else number
    return (node.this.name, limit) if limit >= 1 else None


def _integer(node: exp.Expr) -> int | None:
    return int(node.name) if isinstance(node, exp.Literal) and node.is_int else None


def _push(stage: Stage, column: str, limit: int) -> Stage | None:
    if isinstance(stage, Project):
        named = next((shown for shown in stage.expressions if shown.name.lower() == column.lower()), None)
        origin = stage.input.column(named.expression.reads[0]) if named and named.expression.reads else None
        if named is None or origin is None or named.expression.sql != origin.name:
            return None
        below = _push(stage.input, origin.name, limit)
        return replace(stage, input=below) if below else None
    if isinstance(stage, Over):
        call = next((function for function in stage.functions if function.name.lower() == column.lower()), None)
        return _first(stage, call, limit) if call and call.function in _RANKINGS else None
    return None


def _first(stage: Over, call: OverCall, limit: int) -> Stage:
    others = tuple(function for function in stage.functions if function is not call)
    below: Stage = stage.input
    if others:
        columns = tuple(field for field in stage.columns if field.name != call.name)
        below = replace(stage, columns=columns, functions=others)
    rank = next(field for field in stage.columns if field.name == call.name)
    columns = (*below.columns, rank)
    if call.function == "row_number" and limit == 1:
        return Deduplicate(columns, below, call.partition, order=call.order, rank=call.name, origin=stage.origin)
    ranking = cast(Literal["row_number", "rank", "dense_rank"], call.function)
    first = TopN(columns, below, call.partition, limit, ranking, origin=stage.origin)
    return replace(first, order=call.order, rank=call.name)
