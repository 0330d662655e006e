"""As-known joins, lowered: rows and changes of a key in the order of their arrival.

Each row sees what is known of its key. At the same instant changes come first. Of the changes before a row the newest
one counts: that with the latest event time, or, where the table declares none, the last. A row stays what it was below:
in time or late, new or not, of its place in the log. Of the copies of an event the first asks, so that all have
the same answer.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.operators.as_known_join.stage import ARRIVED, AsKnownJoin
from headwater.operators.lowering.columns import RANK
from headwater.operators.lowering.ledger import UNMATCHED, Rows
from headwater.operators.lowering.stamp import BEHIND, CARRIED, COMMIT, END, FINAL, ID, KEEP, OP, PARTS, ROW, TIME
from headwater.operators.lowering.trace import NOTHING
from headwater.operators.lowering.walk import Lowering, lowered, not_executable

_AT, _IS_ROW, _KEY, _EQUAL, _LEFT, _RIGHT = "__at", "__is_row", "__key", "__equal", "l", "r"


@lowered.register
def _(stage: AsKnownJoin, lowering: Lowering) -> Rows:
    if lowering.live:
        raise not_executable(stage)
    rows = _first_copies(lowering.lower(stage.input), lowering)
    found, is_there = _known(stage, rows.frame, lowering.scan(stage.table)), _is_there(stage)
    test = {"inner": is_there, "left": F.lit(True), "semi": is_there, "anti": ~is_there}[stage.kind]
    shown = [
        F.col(f"l.`{name}`").alias(field.name)
        if side == "left"
        else F.when(is_there, F.col(f"r.`{name}`")).alias(field.name)
        for (side, name), field in zip(stage.renames, stage.columns, strict=True)
    ]
    carried = [name for name in (*CARRIED, FINAL, PARTS) if name in rows.frame.columns and name != BEHIND]
    own = [F.col(f"l.{name}").alias(name) for name in carried]
    if KEEP in rows.frame.columns:
        return rows.then(found.select(*shown, *own, (F.col(f"l.{KEEP}") & test).alias(KEEP)))
    found = found if stage.kind == "left" else found.where(test)
    joined = rows.then(found.select(*shown, *own, *_behind(rows.frame, is_there)))
    if stage.kind == "left":
        return joined
    return lowering.count(joined, UNMATCHED if stage.kind == "inner" else "filtered")


def _first_copies(rows: Rows, lowering: Lowering) -> Rows:
    """Of the copies of an event, in each of its windows, the first in the log."""
    if ID not in rows.frame.columns:
        return rows
    keys = [name for name in (ID, TIME, END) if name in rows.frame.columns]
    rank = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {COMMIT}, {ROW})"
    first = rows.frame.withColumn(RANK, F.expr(rank)).where(F.col(RANK) == 1).drop(RANK)
    return lowering.count(rows.then(first), "duplicates")


def _known(stage: AsKnownJoin, rows: DataFrame, changes: DataFrame) -> DataFrame:
    """Each row, as `l`, with what was known of its key when it arrived, as `r`, if anything was."""
    rows, changes = _with_values(rows, stage, 0), _with_values(changes, stage, 1)
    keys = [f"{_KEY}{number}" for number in range(len(stage.key))]

    def under(frame: DataFrame, arrived: str, *, is_row: bool) -> DataFrame:
        row, change = (F.lit(None).cast(foreign.schema) for foreign in (rows, changes))
        row, change = (F.struct("*"), change) if is_row else (row, F.struct("*"))
        own = [F.col(f"`{arrived}`").alias(_AT), F.lit(is_row).alias(_IS_ROW)]
        return frame.select(*keys, *own, row.alias(_LEFT), change.alias(_RIGHT))

    together = under(rows, stage.time, is_row=True).union(under(changes, ARRIVED, is_row=False))
    time = [f"{_RIGHT}.{TIME}"] if TIME in changes.columns else []
    place = ", ".join([*time, f"{_RIGHT}.{COMMIT}", f"{_RIGHT}.{ROW}"])
    newness = f"IF({_IS_ROW}, NULL, struct({place}))"
    window = f"PARTITION BY {', '.join(keys)} ORDER BY {_AT}, {_IS_ROW}"  # all of an instant are peers
    seen = together.withColumn(_RIGHT, F.expr(f"max_by({_RIGHT}, {newness}) OVER ({window})"))
    return seen.where(F.col(_IS_ROW))


def _with_values(frame: DataFrame, stage: AsKnownJoin, side: int) -> DataFrame:
    """The rows of one side, with what they are compared by."""
    keys = {f"{_KEY}{number}": F.expr(pair[side].sql) for number, pair in enumerate(stage.key)}
    return frame.withColumns(
        keys | {f"{_EQUAL}{number}": F.expr(pair[side].sql) for number, pair in enumerate(stage.equal)}
    )


def _is_there(stage: AsKnownJoin) -> Column:
    """Tells whether what a row sees is a row of the table, and one that the row asks for."""
    conditions = [f"r.{OP} <=> 'upsert'", f"l.`{stage.time}` IS NOT NULL"]
    conditions += [f"l.{_KEY}{number} IS NOT NULL" for number in range(len(stage.key))]
    conditions += [f"l.{_EQUAL}{number} = r.{_EQUAL}{number}" for number in range(len(stage.equal))]
    conditions += [f"({stage.residual.sql})"] if stage.residual is not None else []
    return F.coalesce(F.expr(" AND ".join(conditions)), F.lit(False))


def _behind(rows: DataFrame, is_there: Column) -> list[Column]:
    """The events behind a row, where it is traced: its own, and the change that it sees."""
    if BEHIND not in rows.columns:
        return []
    return [
        F.concat(F.col(f"l.{BEHIND}"), F.when(is_there, F.col(f"r.{BEHIND}")).otherwise(F.expr(NOTHING))).alias(BEHIND)
    ]
