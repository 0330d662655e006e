"""Parts: groups that are over at some instant, kept until then in parts that what is new can be merged into."""

from __future__ import annotations

import pyarrow as pa

from headwater.operators.aggregate.panes import merge_of
from headwater.operators.aggregate.stage import Aggregate
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


def keys_of_rows(stage: Aggregate) -> dict[str, Expression]:
    """The keys of groups that rows have before they are put into windows, by their names."""
    columns = {key.name: stage.input.column_of(key.expression) for key in stage.keys}
    bounds = {name for name, column in columns.items() if column is None or column.is_window_bound}
    return {key.name: key.expression for key in stage.keys if key.name not in bounds}
