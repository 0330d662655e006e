"""Rows that ask a table, lowered: each with the change of the table that it sees, if it sees any.

Rows and changes of a key are put under each other, in one order of time; at the same instant changes come first. So no
row meets every version of its key, however many there are. Of the row that asks the columns are under `l`, of the
change that it sees under `r`.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.operators.lowering.stamp import BEHIND, OP
from headwater.operators.lowering.trace import NOTHING
from headwater.operators.paired import Asking, Pairs

_AT, _IS_ROW, _KEY, _EQUAL, _LEFT, _RIGHT = "__at", "__is_row", "__key", "__equal", "l", "r"


def with_values(frame: DataFrame, stage: Asking, side: int) -> DataFrame:
    """The rows of one side, with what they are compared by."""

    def values(pairs: Pairs, name: str) -> dict[str, Column]:
        return {f"{name}{number}": F.expr(pair[side].sql) for number, pair in enumerate(pairs)}

    return frame.withColumns(values(stage.key, _KEY) | values(stage.equal, _EQUAL))


def seen(
    stage: Asking, rows: DataFrame, changes: DataFrame, changed_at: str, newest: str, order: str | None = None
) -> DataFrame:
    """Each row, as `l`, with the `newest` change of its key up to its instant, as `r`, if there is one.

    That is an aggregate, in SQL, over the changes up to the instant: in their `order`, or at once.
    """
    rows, changes = with_values(rows, stage, 0), with_values(changes, stage, 1)
    keys = [f"{_KEY}{number}" for number in range(len(stage.key))]

    def under(frame: DataFrame, at: str, *, is_row: bool) -> DataFrame:
        row, change = (F.lit(None).cast(foreign.schema) for foreign in (rows, changes))
        row, change = (F.struct("*"), change) if is_row else (row, F.struct("*"))
        own = [F.col(f"`{at}`").alias(_AT), F.lit(is_row).alias(_IS_ROW)]
        return frame.select(*keys, *own, row.alias(_LEFT), change.alias(_RIGHT))

    together = under(rows, stage.time, is_row=True).union(under(changes, changed_at, is_row=False))
    window = f"PARTITION BY {', '.join(keys)} ORDER BY {_AT}, {_IS_ROW}"  # all of an instant are peers
    window += f", {order} ROWS UNBOUNDED PRECEDING" if order else ""
    return together.withColumn(_RIGHT, F.expr(f"{newest} OVER ({window})")).where(F.col(_IS_ROW))


def is_there(stage: Asking) -> Column:
    """Tells whether the change that a row sees is a row of the table, and one that the row asks for."""
    conditions = [f"r.{OP} <=> 'upsert'", f"l.`{stage.time}` IS NOT NULL"]
    conditions += [f"l.{_KEY}{number} IS NOT NULL" for number in range(len(stage.key))]
    conditions += [f"l.{_EQUAL}{number} = r.{_EQUAL}{number}" for number in range(len(stage.equal))]
    conditions += [f"({stage.residual.sql})"] if stage.residual is not None else []
    return F.coalesce(F.expr(" AND ".join(conditions)), F.lit(False))


def shown(stage: Asking, there: Column, rows: DataFrame) -> list[Column]:
    """The columns of a row with what it sees; and the events behind it where it is traced: its own, and the change."""
    columns = [
        F.col(f"l.`{name}`").alias(field.name)
        if side == "left"
        else F.when(there, F.col(f"r.`{name}`")).alias(field.name)
        for (side, name), field in zip(stage.renames, stage.columns, strict=True)
    ]
    if BEHIND in rows.columns:
        change = F.when(there, F.col(f"r.{BEHIND}")).otherwise(F.expr(NOTHING))
        columns.append(F.concat(F.col(f"l.{BEHIND}"), change).alias(BEHIND))
    return columns
