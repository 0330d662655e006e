"""As-of joins, lowered: rows and changes of a key in one order of time, in which each row sees the newest change.

Both sides enter as all rows do: those in time are let in, the others set aside. They are put under each other, and the
last change before a row of the left side is the one that it sees; at the same instant changes come first. So no row
meets every version of its key, however many there are.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.operators import AsOfJoin
from headwater.operators.as_of_join.stage import Pairs
from headwater.operators.lowering.ledger import Rows
from headwater.operators.lowering.stamp import BEHIND, FINAL, LAST, MARK, OP, POSITION
from headwater.operators.lowering.trace import NOTHING
from headwater.operators.lowering.walk import Lowering, lowered, not_executable, taken_in

_AT, _CHANGE, _ORDER, _LEFT, _RIGHT = "__at", "__change", "__order", "l", "r"
_KEY, _EQUAL = "__key", "__equal"


@lowered.register
def _(stage: AsOfJoin, lowering: Lowering) -> Rows:
    if not lowering.settled:
        raise not_executable(stage)
    entered = [lowering.entered(below) for below in stage.inputs]
    left, right = (rows.frame for rows in entered)
    rows, changes = _with(left, stage, 0), _with(right, stage, 1)
    found = _in_one_order(stage, rows, changes)
    is_there = _is_there(stage)
    shown = [
        F.col(f"l.`{name}`").alias(field.name)
        if side == "left"
        else F.when(is_there, F.col(f"r.`{name}`")).alias(field.name)
        for (side, name), field in zip(stage.renames, stage.columns, strict=True)
    ]
    asking = entered[0].asking or (bool(entered[0].passed) and LAST not in left.columns)
    if stage.kind == "inner" and asking and lowering.tally is not None:
        found = lowering.tally.drop_unmatched(found, ~is_there & lowering.becomes_final(F.col(f"l.{MARK}")))
    if stage.kind != "left":
        found = found.where(~is_there if stage.kind == "anti" else is_there)
    own = [F.col(f"l.{POSITION}").alias(POSITION), F.col(f"l.{MARK}").alias(FINAL)]
    return Rows(found.select(*shown, *own, *_behind(left, is_there)), asking=asking)


@taken_in.register
def _(stage: AsOfJoin, frame: DataFrame, side: int) -> DataFrame:
    return _with(frame, stage, side)


def _with(frame: DataFrame, stage: AsOfJoin, side: int) -> DataFrame:
    """The rows of one side, with what they are compared by."""

    def values(pairs: Pairs, name: str) -> dict[str, Column]:
        return {f"{name}{number}": F.expr(pair[side].sql) for number, pair in enumerate(pairs)}

    return frame.withColumns(values(stage.key, _KEY) | values(stage.equal, _EQUAL))


def _in_one_order(stage: AsOfJoin, rows: DataFrame, changes: DataFrame) -> DataFrame:
    """Each row of the left side, as `l`, with the last change of its key up to its instant, as `r`, if there is one."""
    keys = [f"{_KEY}{number}" for number in range(len(stage.key))]

    def under(frame: DataFrame, at: Column, is_change: bool) -> DataFrame:
        order = F.col(POSITION) if is_change else F.lit(None).cast(changes.schema[POSITION].dataType)
        row, change = (F.lit(None).cast(foreign.schema) for foreign in (rows, changes))
        row, change = (row, F.struct("*")) if is_change else (F.struct("*"), change)
        own = [at.alias(_AT), F.lit(0 if is_change else 1).alias(_CHANGE), order.alias(_ORDER)]
        return frame.select(*keys, *own, row.alias(_LEFT), change.alias(_RIGHT))

    together = under(rows, F.col(f"`{stage.time}`"), False).union(under(changes, F.col(MARK), True))
    window = f"PARTITION BY {', '.join(keys)} ORDER BY {_AT}, {_CHANGE}, {_ORDER} ROWS UNBOUNDED PRECEDING"
    seen = together.withColumn(_RIGHT, F.expr(f"last({_RIGHT}, true) OVER ({window})"))
    return seen.where(F.col(_LEFT).isNotNull())


def _is_there(stage: AsOfJoin) -> Column:
    """Tells whether the change that a row sees is a row of the table, and one that the row asks for."""
    conditions = [f"r.{OP} <=> 'upsert'"]
    conditions += [f"l.{_KEY}{number} IS NOT NULL" for number in range(len(stage.key))]
    conditions += [f"l.`{stage.time}` IS NOT NULL"]
    conditions += [f"l.{_EQUAL}{number} = r.{_EQUAL}{number}" for number in range(len(stage.equal))]
    conditions += [f"({stage.residual.sql})"] if stage.residual is not None else []
    return F.coalesce(F.expr(" AND ".join(conditions)), F.lit(False))


def _behind(left: DataFrame, is_there: Column) -> list[Column]:
    """The events behind a row, where it is traced: its own, and the change that it sees."""
    if BEHIND not in left.columns:
        return []
    return [
        F.concat(F.col(f"l.{BEHIND}"), F.when(is_there, F.col(f"r.{BEHIND}")).otherwise(F.expr(NOTHING))).alias(BEHIND)
    ]
