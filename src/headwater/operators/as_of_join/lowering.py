"""As-of joins, lowered: both sides enter as all rows do, those in time are let in and the others set aside."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.operators import AsOfJoin
from headwater.operators.lowering.asking import is_there, seen, shown, with_values
from headwater.operators.lowering.ledger import Rows
from headwater.operators.lowering.stamp import FINAL, LAST, MARK, PARTS, POSITION
from headwater.operators.lowering.walk import Lowering, lowered, taken_in

_IN_ORDER = "last(r, true)", f"r.{POSITION}"
"""The newest change is the last one in the order of the log."""


@lowered.register
def _(stage: AsOfJoin, lowering: Lowering) -> Rows:
    entered = [lowering.entered(below) for below in stage.inputs]
    left, right = (rows.frame for rows in entered)
    rows, there = seen(stage, left, right, MARK, *_IN_ORDER), is_there(stage)
    asking = entered[0].asking or (bool(entered[0].passed) and LAST not in left.columns)
    if stage.kind == "inner" and asking and lowering.tally is not None:
        rows = lowering.tally.drop_unmatched(rows, ~there & lowering.becomes_final(F.col(f"l.{MARK}")))
    if stage.kind != "left":
        rows = rows.where(~there if stage.kind == "anti" else there)
    own = [F.col(f"l.{POSITION}").alias(POSITION), F.col(f"l.{MARK}").alias(FINAL)]
    step = lowering.physical.step if lowering.sliced else None
    if step is not None and step.asks:  # a step replaces the rows of some events
        own.append(F.col(f"l.{POSITION}").alias(PARTS))
    return Rows(rows.select(*shown(stage, there, left), *own), asking=asking)


@taken_in.register
def _(stage: AsOfJoin, frame: DataFrame, side: int) -> DataFrame:
    return with_values(frame, stage, side)
