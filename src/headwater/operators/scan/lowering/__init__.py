"""Scan, lowered: the rows as they come, counted; or those of which each is the first of its id."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from headwater.operators import Scan
from headwater.operators.lowering.ledger import Rows, merged
from headwater.operators.lowering.stamp import COMMIT, FINAL, FOREVER, ID, OP, ROW, TIME, events, in_time, later
from headwater.operators.lowering.walk import Lowering, lowered
from headwater.operators.scan.lowering.once import winners

_PLACE = "__place"


@lowered.register
def _(stage: Scan, lowering: Lowering) -> Rows:
    frame = lowering.scan(stage)
    if stage.kind == "table" and lowering.is_forever:
        rows = Rows(frame) if lowering.tally is None else lowering.tally.enter(frame)
        lowering.use(rows)
        return Rows(_current(rows.frame, stage))
    if stage.within is not None:
        rows = Rows(frame) if lowering.tally is None else lowering.tally.enter(frame)
        return _once(rows, stage, stage.within, lowering)
    if lowering.tally is None:
        return Rows(frame)
    if lowering.bare:
        return lowering.tally.follow(frame)
    rows = lowering.tally.enter(frame)
    return rows.then(events(rows.frame)) if lowering.live else rows


def _current(changes: DataFrame, stage: Scan) -> DataFrame:
    """The rows of a table: the newest change of each key, unless that deletes it."""
    newest = [*([TIME] if stage.time else []), COMMIT, ROW]
    keys = [F.col(f"`{name}`") for name in stage.key]
    place = F.row_number().over(Window.partitionBy(*keys).orderBy(*(F.col(name).desc() for name in newest)))
    rows = changes.withColumn(_PLACE, place).where((F.col(_PLACE) == 1) & (F.col(OP) == "upsert"))
    return rows.drop(_PLACE, OP).withColumn(FINAL, F.lit(FOREVER))


def _once(rows: Rows, stage: Scan, within: timedelta, lowering: Lowering) -> Rows:
    """The rows of a topic that are taken of those with one id, which is asked of the whole of it."""
    decidable = in_time(F.col(TIME), within)
    lowering.set_aside(stage, rows.frame, ~decidable, later(F.col(TIME), within - lowering.grace))
    rows = lowering.count(rows.then(rows.frame.where(decidable)), "late")
    taken = winners(lowering.scan(stage), within) if lowering.taken is None else lowering.taken(stage)
    once = rows.frame.join(merged(taken), [COMMIT, ROW], "left_semi").drop(ID)
    return lowering.count(rows.then(once), "duplicates")
