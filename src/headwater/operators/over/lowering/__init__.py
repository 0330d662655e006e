"""Over, lowered: values from the rows around a row."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from headwater.operators import Over
from headwater.operators.lowering.columns import columns_of
from headwater.operators.lowering.ledger import Rows
from headwater.operators.lowering.stamp import BEHIND, FINAL, MARK, PARTS, POSITION, later
from headwater.operators.lowering.walk import Lowering, lowered
from headwater.operators.over.lowering.values import behind_of, values_of


@lowered.register
def _(stage: Over, lowering: Lowering) -> Rows:
    frame = lowering.entered(stage.input).frame
    spelled = values_of(stage, lowering.horizon)
    for columns in (spelled.first, spelled.values):
        frame = frame.withColumns({name: F.expr(text) for name, text in columns.items()}) if columns else frame
    final = later(F.col(MARK), stage.ahead(lowering.horizon))
    seen = [F.expr(behind_of(stage, lowering.horizon)).alias(BEHIND)] if BEHIND in frame.columns else []
    return Rows(frame.select(*columns_of(stage), POSITION, final.alias(FINAL), *seen, *_partition(stage, lowering)))


def _partition(stage: Over, lowering: Lowering) -> list[Column]:
    """The keys of the partition of a row, where a step replaces those that new rows come to."""
    step = lowering.physical.step if lowering.sliced else None
    if step is None or not step.touched:
        return []
    keys = zip(stage.group_keys, step.touched, strict=True)
    return [F.struct(*(F.expr(key.sql).alias(name) for key, name in keys)).alias(PARTS)]
