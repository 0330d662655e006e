"""Once per id within a span of time: the first in the log, and the next that happens at least that span later.

The rows of an id are gone through in the order of the log. Each is compared with the *winner* before it: one that
happens earlier than the winner's time + span is a duplicate, any other is the next winner. So it is decided by the log
alone. A row that comes when the watermark has passed its own time + span is late: who its winner was is no longer
asked, so that winners older than twice the span can be forgotten.

Winners follow from winners and the rows behind them. Where a view is settled they are kept in a file, by the commit
that they were found at; it is made again from the log if it is not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.engine.scan import given
from headwater.engine.stamp import COMMIT, ID, ROW, STAMP, TIME, in_time
from headwater.log import folder_of

_KEPT = "__kept"
_ALWAYS = datetime.fromtimestamp(0, UTC)


def winners(rows: DataFrame, within: timedelta) -> DataFrame:
    """The rows that are taken: `ID`, `TIME` and their places in the log."""
    ordered = f"array_sort(collect_list(struct({COMMIT} AS c, {ROW} AS r, unix_micros({TIME}) AS t)))"
    nothing = (
        "named_struct('t', CAST(NULL AS BIGINT), 'kept', CAST(array() AS ARRAY<STRUCT<c: BIGINT, r: INT, t: BIGINT>>))"
    )
    taken = "named_struct('t', x.t, 'kept', array_append(s.kept, x))"
    wins = f"s.t IS NULL OR x.t >= s.t + {within // timedelta(microseconds=1)}"
    folded = f"aggregate({ordered}, {nothing}, (s, x) -> IF({wins}, {taken}, s)).kept"
    found = rows.where(in_time(F.col(TIME), within)).groupBy(ID).agg(F.expr(folded).alias(_KEPT))
    places = {COMMIT: F.col(f"{_KEPT}.c"), ROW: F.col(f"{_KEPT}.r"), TIME: F.timestamp_micros(f"{_KEPT}.t")}
    each = found.select(ID, F.explode(_KEPT).alias(_KEPT))
    return each.select(ID, *(column.alias(name) for name, column in places.items()))


def given_winners(spark: SparkSession, found: pa.Table) -> DataFrame:
    """Winners as a DataFrame. Spark isn't told that there are none: it would leave the rows that they are looked for
    among unread, and uncounted.
    """
    frame = given(spark, found)
    return frame if found.num_rows else spark.createDataFrame(spark.sparkContext.emptyRDD(), frame.schema)


@dataclass(frozen=True)
class KeptWinners:
    """The winners of one topic, in a folder of a view's own."""

    relation: str
    within: timedelta
    folder: Path

    def read(self, commit: int) -> pa.Table | None:
        """The winners at a commit; None if they are not there."""
        try:
            found: pa.Table = feather.read_table(self._file(commit))
        except (OSError, pa.ArrowInvalid):
            return None
        return found

    def found(self, spark: SparkSession, before: pa.Table | None, new: DataFrame) -> pa.Table:
        """The winners among those before and the rows that came after them."""
        rows = new.select(ID, TIME, COMMIT, ROW, STAMP)
        if before is not None and before.num_rows:
            known = given(spark, before).withColumn(STAMP, F.lit(_ALWAYS))
            rows = rows.unionByName(known)
        return winners(rows, self.within).toArrow().combine_chunks()

    def write(self, commit: int, rows: pa.Table, since: datetime | None, *, but: int) -> None:
        """Keep the winners at a commit that are later than an instant, and those at one commit before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if since is not None:
            rows = rows.filter(pc.greater(rows[TIME], pa.scalar(since, rows.schema.field(TIME).type)))
        staged = self._file(commit).with_suffix(".tmp")
        feather.write_feather(rows, staged)
        staged.replace(self._file(commit))
        for file in self.folder.glob(f"once-{folder_of(self.relation)}-*.arrow"):
            if file not in (self._file(commit), self._file(but)):
                file.unlink(missing_ok=True)

    def _file(self, commit: int) -> Path:
        return self.folder / f"once-{folder_of(self.relation)}-{commit}.arrow"
