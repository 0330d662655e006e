"""Filter, lowered: rows are dropped or, behind groups, no longer shown."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import functions as F

from headwater.operators import Filter, Unary
from headwater.operators.lowering.ledger import Rows
from headwater.operators.lowering.stamp import KEEP
from headwater.operators.lowering.walk import Lowering, lowered
from headwater.sql import WINDOW_COLUMNS


@lowered.register
def _(stage: Filter, lowering: Lowering) -> Rows:
    """Drop rows; behind an aggregate they are not dropped but marked, so that the store can delete them.

    A condition that doesn't read the window is decided before a row is taken apart into its windows.
    """
    below = stage.input
    if below.puts_in_windows and isinstance(below, Unary) and not set(stage.condition.reads) & set(WINDOW_COLUMNS):
        return lowering.lower(replace(below, input=replace(stage, input=below.input, columns=below.input.columns)))
    rows = lowering.lower(below)
    true = F.coalesce(F.expr(stage.condition.sql), F.lit(False))
    if KEEP in rows.frame.columns:
        return rows.then(rows.frame.withColumn(KEEP, F.col(KEEP) & true))
    return lowering.count(rows.then(rows.frame.where(true)), "filtered", by_filter=True)
