"""Partitions: a settled view of window functions, of which a step computes those that new rows come to.

What a window function says of a row depends on the rows of its partition alone. So the open rows of partitions without
news are as they were; those of the others are computed from the rows of the partition that they can look at, and what
changed is written. Rows that are final are let go of when the watermark has passed them, without asking Spark.

They follow from the log alone. From time to time, and at the end, they are kept beside the position (see `kept`); if
they are not there when a view begins, they are computed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from headwater.engine.difference import difference, texts_of
from headwater.engine.kept import KeptRows, as_kept
from headwater.engine.key import new_keys
from headwater.engine.live import Effort
from headwater.engine.maintained.rows import names_in
from headwater.engine.recent import RecentRows
from headwater.engine.settle import Ends, SettleView
from headwater.engine.slice import OPEN, Slice
from headwater.engine.span import Settled
from headwater.engine.typed import typed
from headwater.operators.lowering.stamp import FINAL, PARTS

_HALVED = 2
"""So many times a step is halved that would find too many rows."""


@dataclass(frozen=True)
class PartitionsView(SettleView):
    """A settled view whose open rows are replaced partition by partition."""

    def _next(self, spark: SparkSession, ends: Ends, at: Settled | None) -> Slice | None:
        """The slice behind where the view is; a shorter one if that finds too many rows for a small step."""
        step = super()._next(spark, ends, at)
        shorter, halved = step, 0
        while at is not None and shorter is not None and not shorter.read and halved < _HALVED:
            upto = {name: (at.commits[name] + commit) // 2 for name, commit in shorter.upto.items()}
            if upto == dict(at.commits):
                break
            shorter, halved = self._slice(spark, at, upto), halved + 1
        return shorter if shorter is not None and shorter.read else step

    def _slice(self, spark: SparkSession, begin: Settled | None, upto: Mapping[str, int]) -> Slice:
        """The next slice; if it is small, of the rows of the partitions that new ones come to."""
        if begin is None:
            return super()._slice(spark, begin, upto)
        whole = Slice(self.planned, self.logs, begin, upto, spark, self.folder)
        (scan,) = self.planned.scans
        rows = self._recent.find(whole.reaches()[scan.relation])
        return whole if rows is None else replace(whole, spark=self._small_session(spark), read={scan: rows})

    @cached_property
    def _recent(self) -> RecentRows:
        (scan,) = self.planned.scans
        return RecentRows(self.logs[scan.relation], scan, self.planned.physical.pace, self._how.touched, self.columns)

    def _computed(self, spark: SparkSession, step: Slice, before: pa.Table | None) -> tuple[pa.Table, dict[str, int]]:
        """The rows of the partitions that new rows come to, or of all."""
        if before is not None and step.has_only_ticks:
            return before.slice(0, 0), {}  # a tick: it costs no more than to look what is final now
        rows, ledger = super()._computed(spark, step, before)
        rows = as_kept(rows)
        touched = self._touched(step)
        return (rows if touched is None else rows.filter(pc.is_in(self._names(rows), value_set=touched))), ledger

    def _step(
        self, step: Slice, rows: pa.Table, ledger: dict[str, int], before: pa.Table | None, began_at: datetime
    ) -> pa.Table:
        known = rows.slice(0, 0) if before is None else before
        touched = self._touched(step)
        is_touched = None if touched is None else pc.is_in(self._names(known), value_set=touched)
        rest = known.slice(0, 0) if is_touched is None else known.filter(pc.invert(is_touched))
        known = known if is_touched is None else known.filter(is_touched)
        before, now = typed(self.planned, known), typed(self.planned, rows)
        upserts, deletes = difference(before, now, self.key)
        new = new_keys(self.planned, now, before)
        if deletes.num_rows:  # a key that others have too is still shown
            others = texts_of(typed(self.planned, rest).select(list(self.key)))
            deletes = deletes.filter(pc.invert(pc.is_in(texts_of(deletes), value_set=others)))
        final = rest[FINAL]
        rest = rest.filter(pc.greater(final, pa.scalar(step.settled_at, final.type)))
        left = pa.concat_tables([rest, rows.filter(rows[OPEN])]).combine_chunks()
        self._deliver(step, upserts, deletes, new, ledger, Effort(began_at, left.nbytes))
        return left

    def _touched(self, step: Slice) -> pa.Array | None:
        """The names of the partitions that new rows come to; None if all are computed."""
        if step.begin is None or not step.read:
            return None
        ((scan, rows),) = step.read.items()
        new = rows.filter(pc.greater(rows["_commit"], step.after(scan.relation)))
        return pc.unique(names_in(new, self._how.touched))

    def _names(self, rows: pa.Table) -> pa.Array:
        """A text for the partition of each row, the one that its rows in the log have."""
        (scan,) = self.planned.scans
        schema, keys = self.logs[scan.relation].topic.schema, rows[PARTS].combine_chunks()
        columns = {name: pc.struct_field(keys, name).cast(schema.field(name).type) for name in self._how.touched}
        return texts_of(pa.table(columns))

    # The open part

    def _open_part(self, spark: SparkSession, at: Settled) -> pa.Table:
        kept = self._kept.read(at.commits)
        if kept is not None:
            return kept
        step = Slice(self.planned, self.logs, at, at.commits, spark, self.folder)
        rows, _ = self._computed(spark, step, None)
        return rows.filter(rows[OPEN])

    def _keep_at(self, commits: Mapping[str, int], open_part: pa.Table) -> None:
        self._kept.write(commits, open_part, None)

    @property
    def _kept(self) -> KeptRows:
        return KeptRows("partitions", self.folder)
