"""Winners that are kept: the events that are taken once per id, by the commit that they were found at.

They follow from the winners before and the rows behind them (see `operators.scan.lowering.once`), and are kept where a
view is settled (see `engine.kept`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.engine.kept import KeptRows
from headwater.engine.scan import in_memory
from headwater.log import folder_of
from headwater.operators.lowering.stamp import COMMIT, ID, ROW, STAMP, TIME
from headwater.operators.scan.lowering.once import winners

_ALWAYS = datetime.fromtimestamp(0, UTC)


def winners_in_memory(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Winners as a DataFrame. Spark isn't told that there are none: it would leave the rows that they are looked for
    among unread, and uncounted.
    """
    frame = in_memory(spark, rows)
    return frame if rows.num_rows else spark.createDataFrame(spark.sparkContext.emptyRDD(), frame.schema)


@dataclass(frozen=True)
class KeptWinners:
    """The winners of one topic, in a folder of a view's own."""

    relation: str
    within: timedelta
    folder: Path

    def read(self, commit: int) -> pa.Table | None:
        """The winners at a commit; None if they are not there."""
        return self._rows.read({self.relation: commit})

    def renewed(self, spark: SparkSession, before: pa.Table | None, new: DataFrame) -> pa.Table:
        """The winners among those before and the rows that came after them."""
        rows = new.select(ID, TIME, COMMIT, ROW, STAMP)
        if before is not None and before.num_rows:
            known = in_memory(spark, before).withColumn(STAMP, F.lit(_ALWAYS))
            rows = rows.unionByName(known)
        return winners(rows, self.within).toArrow().combine_chunks()

    def write(self, commit: int, rows: pa.Table, since: datetime | None, *, but: int) -> None:
        """Keep the winners at a commit that are later than an instant, and those at one commit before."""
        if since is not None:
            rows = rows.filter(pc.greater(rows[TIME], pa.scalar(since, rows.schema.field(TIME).type)))
        self._rows.write({self.relation: commit}, rows, {self.relation: but})

    @property
    def _rows(self) -> KeptRows:
        return KeptRows(f"once-{folder_of(self.relation)}", self.folder)
