"""Deduplicate, lowered."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.operators import Deduplicate
from headwater.operators.lowering.columns import columns_of, oldest, values_of
from headwater.operators.lowering.ledger import Rows
from headwater.operators.lowering.stamp import END, FINAL, MARK, NEW, POSITION
from headwater.operators.lowering.trace import behind, gathered
from headwater.operators.lowering.walk import Lowering, lowered, taken_in
from headwater.operators.topn.lowering import first_rows

_KEY = "__key"


@lowered.register
def _(stage: Deduplicate, lowering: Lowering) -> Rows:
    """One row per key. Rows that are the same event are taken once when they enter: nothing is left to do."""
    if stage.is_by_identity:
        rows = lowering.lower(stage.input)
        frame = rows.frame.withColumn(stage.rank, F.lit(1)) if stage.rank else rows.frame
        return rows.then(frame)
    if lowering.settled and stage.order:
        return first_rows(stage, lowering)
    rows = lowering.keyed(stage.input, stage.keys)
    if stage.is_endless:  # every column is a key: which of the rows it is doesn't show
        kept = F.min(POSITION).alias(POSITION), F.max(MARK).alias(FINAL), *gathered(rows.frame)
        return Rows(rows.frame.groupBy(*columns_of(stage)).agg(*kept))
    keys = {f"{_KEY}{number}": F.expr(key.sql) for number, key in enumerate(stage.keys)}
    frame = rows.frame.withColumns(keys)
    frame = oldest(frame, [*keys, MARK]) if lowering.as_they_come else frame.dropDuplicates([*keys, MARK])
    more = [F.col(MARK).alias(FINAL)] if lowering.settled else []
    more += [F.col(NEW)] if lowering.as_they_come else []
    return Rows(frame.select(*columns_of(stage), F.col(MARK).alias(END), POSITION, *more, *behind(frame)))


@taken_in.register
def _(stage: Deduplicate, frame: DataFrame, _side: int) -> DataFrame:
    return frame.select("*", *values_of(stage.keys))
