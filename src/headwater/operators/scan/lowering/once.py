"""Once per id within a span of time: the first in the log, and the next that happens at least that span later.

The rows of an id are gone through in the order of the log. Each is compared with the *winner* before it: one that
happens earlier than the winner's time + span is a duplicate, any other is the next winner. So it is decided by the log
alone. A row that comes when the watermark has passed its own time + span is late: who its winner was is no longer
asked, so that winners older than twice the span can be forgotten.
"""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.operators.lowering.stamp import COMMIT, ID, ROW, TIME, in_time

_KEPT = "__kept"


def winners(rows: DataFrame, within: timedelta) -> DataFrame:
    """The rows that are taken: `ID`, `TIME` and their places in the log."""
    ordered = f"array_sort(collect_list(struct({COMMIT} AS c, {ROW} AS r, unix_micros({TIME}) AS t)))"
    nothing = (
        "named_struct('t', CAST(NULL AS BIGINT), 'kept', CAST(array() AS ARRAY<STRUCT<c: BIGINT, r: INT, t: BIGINT>>))"
    )
    taken = "named_struct('t', x.t, 'kept', array_append(s.kept, x))"
    wins = f"s.t IS NULL OR x.t >= s.t + {within // timedelta(microseconds=1)}"
    folded = f"aggregate({ordered}, {nothing}, (s, x) -> IF({wins}, {taken}, s)).kept"
    identified = rows.where(in_time(F.col(TIME), within)).groupBy(ID).agg(F.expr(folded).alias(_KEPT))
    columns = {COMMIT: F.col(f"{_KEPT}.c"), ROW: F.col(f"{_KEPT}.r"), TIME: F.timestamp_micros(f"{_KEPT}.t")}
    each = identified.select(ID, F.explode(_KEPT).alias(_KEPT))
    return each.select(ID, *(column.alias(name) for name, column in columns.items()))
