"""Parts: groups that are over at some instant, kept until then in parts that what is new can be merged into."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from headwater.operators.aggregate.panes import merge_of
from headwater.operators.aggregate.stage import Aggregate, Call
from headwater.operators.expression import Expression
from headwater.operators.stage import Stage


def by_parts(stage: Stage, *, forever: bool = False) -> Aggregate | None:
    """The aggregate that a stage is, if its groups end, and everything in them can be merged.

    Where rows count `forever`, groups need not end: nothing is ever taken away from them.
    Spark takes no rows with a TIME in them.
    """
    if not isinstance(stage, Aggregate) or (stage.is_endless and not forever):
        return None
    if any(pa.types.is_time(column.type) for column in stage.columns):
        return None
    return stage if all(merge_of(call) for call in stage.aggregates) else None


def not_in_parts(root: Stage) -> list[str]:
    """The functions of the aggregates of a view whose values can't be made of parts, each once."""
    aggregates = [stage for stage in root.walk() if isinstance(stage, Aggregate)]
    return list(dict.fromkeys(_called(call) for stage in aggregates for call in stage.aggregates if not merge_of(call)))


def _called(call: Call) -> str:
    return f"{call.function}{'(DISTINCT)' if call.expression.tree.find(exp.Distinct) else ''}"


def keys_of_rows(stage: Aggregate) -> dict[str, Expression]:
    """The keys of groups that rows have before they are put into windows, by their names."""
    columns = {key.name: stage.input.column_of(key.expression) for key in stage.keys}
    bounds = {name for name, column in columns.items() if column is None or column.is_window_bound}
    return {key.name: key.expression for key in stage.keys if key.name not in bounds}
