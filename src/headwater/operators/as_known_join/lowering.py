"""As-known joins, lowered: rows and changes of a key in the order of their arrival.

Each row sees what is known of its key. At the same instant changes come first. Of the changes before a row the newest
one counts: that with the latest event time, or, where the table declares none, the last. A row stays what it was below:
in time or late, new or not, of its place in the log. Of the copies of an event the first asks, so that all have
the same answer.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.operators.as_known_join.stage import ARRIVED, AsKnownJoin
from headwater.operators.lowering.asking import is_there, seen, shown
from headwater.operators.lowering.columns import RANK
from headwater.operators.lowering.ledger import UNMATCHED, Rows
from headwater.operators.lowering.stamp import BEHIND, CARRIED, COMMIT, END, FINAL, ID, KEEP, PARTS, ROW, TIME
from headwater.operators.lowering.walk import Lowering, lowered


@lowered.register
def _(stage: AsKnownJoin, lowering: Lowering) -> Rows:
    rows, there = _first_copies(lowering.lower(stage.input), lowering), is_there(stage)
    changes = lowering.scan(stage.table)
    answered = seen(stage, rows.frame, changes, ARRIVED, _newest(changes))
    test = {"inner": there, "left": F.lit(True), "semi": there, "anti": ~there}[stage.kind]
    carried = [name for name in (*CARRIED, FINAL, PARTS) if name in rows.frame.columns and name != BEHIND]
    columns = [*shown(stage, there, rows.frame), *(F.col(f"l.{name}").alias(name) for name in carried)]
    if KEEP in rows.frame.columns:
        return rows.then(answered.select(*columns, (F.col(f"l.{KEEP}") & test).alias(KEEP)))
    joined = rows.then((answered if stage.kind == "left" else answered.where(test)).select(*columns))
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


def _newest(changes: DataFrame) -> str:
    """The newest of some changes in SQL: that with the latest event time, where there is one; else the last."""
    places = [TIME, COMMIT, ROW] if TIME in changes.columns else [COMMIT, ROW]
    return f"max_by(r, IF(r IS NULL, NULL, struct({', '.join(f'r.{name}' for name in places)})))"
