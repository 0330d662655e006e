"""Traced views: a step over all of time computes the rows that its new rows can matter to, without and with them.

The rows of each topic are in arrangements, by the columns that the trace of the view looks them up by. A step follows
the trace from its new rows, executes the view's query over what was found as it was before and as it is now, and writes
the difference. What was found beside that stays as it was, whether all of it was found or not.

More than some rows are computed from the whole log, before and after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from headwater.engine.difference import difference, texts_of
from headwater.engine.key import new_keys
from headwater.engine.live import Effort
from headwater.engine.maintained.arrangement import Arrangement
from headwater.engine.maintained.rows import FoundRows, names_in
from headwater.engine.scan import columns_of
from headwater.engine.settle import SettleView
from headwater.engine.slice import Slice
from headwater.engine.small import FEW, MANY
from headwater.engine.source import arrow_schema
from headwater.engine.span import Settled, kept_behind
from headwater.engine.typed import typed
from headwater.engine.view import output_schema
from headwater.log.read import scan as read_log
from headwater.operators import Scan
from headwater.plan import PlannedView
from headwater.plan.physical.trace import Columns, Trace

_PART = 4
"""Rows that are found are computed twice, by one core where they are few, and were looked up one by one: what is more
than this part of all costs as much as all."""
_NOW = "__now"
"""Says of a row whether it is as it is now, or as it was."""


@dataclass(frozen=True)
class TracedView(SettleView):
    """A maintained view whose rows are found by the keys that new rows have."""

    def _computed(self, spark: SparkSession, step: Slice, _before: pa.Table | None) -> tuple[pa.Table, dict[str, int]]:
        """The rows that can have changed, as they were and as they are: those of now are told by a column."""
        found = self._found(step)
        if found is None:
            before = replace(step, begin=None, upto=step.begin.commits, read={}) if step.begin else None
            now, ledger = replace(step, read={}).computed()
            return both(self.planned, before.computed()[0] if before else None, now), ledger
        scans = self._rows_of(found)
        small = self._over(spark, step, scans)
        now, ledger = super()._computed(spark, small, None)
        was = super()._computed(spark, replace(small, read=self._earlier(step, scans)), None)[0]
        return both(self.planned, self._told(was, found), self._told(now, found)), ledger

    def _found(self, step: Slice) -> FoundRows | None:
        """The rows that the new rows of a step can matter to; None if they are all, or too many."""
        if step.begin is None or not step.read:
            return None
        found = FoundRows({number: list(self._new_rows(step, scan)) for number, scan in enumerate(self._scans)})
        return found if found.follow(self._trace, self._indexes, self._most) else None

    @property
    def _most(self) -> int:
        """The most rows that are computed twice, rather than all that there are."""
        return max(FEW, min(MANY, max(map(len, self._indexes.values()), default=0) // _PART))

    def _rows_of(self, found: FoundRows) -> dict[Scan, pa.Table]:
        return {scan: found.of(number) for number, scan in enumerate(self._scans)}

    def _earlier(self, step: Slice, scans: Mapping[Scan, pa.Table]) -> dict[Scan, pa.Table]:
        """The rows that were there before a step."""
        return {
            scan: rows.filter(pc.less_equal(rows["_commit"], step.after(scan.relation))) for scan, rows in scans.items()
        }

    def _over(self, spark: SparkSession, step: Slice, scans: Mapping[Scan, pa.Table]) -> Slice:
        """A step over rows that were found: if they are few by one core, which is at hand."""
        few = sum(rows.num_rows for rows in scans.values()) <= FEW
        return replace(step, spark=self._small_session(spark) if few else spark, read=scans)

    def _told(self, rows: pa.Table, found: FoundRows) -> pa.Table:
        """The rows that can have changed, where they tell; of others not everything may have been found."""
        if self._trace.taken is None:
            return rows
        names = texts_of(rows.select(list(self._trace.shown)))
        return rows.filter(pc.is_in(names, value_set=found.taken[self._trace.taken]))

    def _step(
        self, step: Slice, rows: pa.Table, ledger: dict[str, int], _before: pa.Table | None, began_at: datetime
    ) -> pa.Table:
        """Write what has changed; the new rows are in the arrangements once that is durable."""
        was, now = (rows.filter(mask).drop_columns([_NOW]) for mask in (pc.invert(rows[_NOW]), rows[_NOW]))
        upserts, deletes = difference(was, now, self.key)
        nbytes = sum(index.nbytes for index in self._indexes.values())
        new = new_keys(self.planned, now, was)
        self._deliver(step, upserts, deletes, new, ledger, Effort(began_at, nbytes))
        self._put(step)
        return rows.slice(0, 0)

    def _put(self, step: Slice) -> None:
        for number, scan in enumerate(self._scans):
            for rows in self._new_rows(step, scan):
                for columns, index in self._indexes.items():
                    if columns.scan == number:
                        index.put(names_in(rows, columns.names), rows)

    def _new_rows(self, step: Slice, scan: Scan) -> Iterator[pa.Table]:
        log, names = self.logs[scan.relation], columns_of(scan, step.pace)
        first, last = step.after(scan.relation) + 1, step.upto[scan.relation]
        schema = arrow_schema(log.topic, names)
        yield schema.empty_table()
        parts = [step.read[scan]] if step.read else (batch.rows for batch in read_log(log, first, last, names))
        for rows in parts:
            yield rows.select(names).cast(schema).combine_chunks()

    def _slice(self, spark: SparkSession, begin: Settled | None, upto: Mapping[str, int]) -> Slice:
        """The next slice, with its new rows from memory if they are few."""
        whole = Slice(self.planned, self.logs, begin, upto, spark, self.folder)
        if begin is None or whole.logged() > FEW:
            return whole
        return replace(whole, read={scan: pa.concat_tables(self._new_rows(whole, scan)) for scan in self._scans})

    # Beside the position

    def _open_part(self, spark: SparkSession, at: Settled) -> pa.Table:
        """Make the arrangements those of a position: from what was kept, and the rows of the log behind it."""
        kept = [arranged.open() for arranged in self._arranged]
        begin = kept_behind(self.planned, self.logs, kept, at)
        if begin is None:
            for arranged in self._arranged:
                arranged.clear()
        if begin is None or dict(begin.commits) != dict(at.commits):
            self._take_in(spark, self._slice(spark, begin, at.commits))
        return output_schema(self.planned).empty_table()

    def _take_in(self, spark: SparkSession, step: Slice) -> None:  # noqa: ARG002  # what others keep is computed
        """Bring the arrangements from where a step begins to where it ends."""
        self._put(step)

    def _keep_at(self, commits: Mapping[str, int], _rows: pa.Table) -> None:
        for arranged in self._arranged:
            arranged.keep(commits)

    @property
    def _arranged(self) -> Sequence[Arrangement]:
        return list(self._indexes.values())

    @property
    def _asks_for_open_part(self) -> bool:
        return True

    @cached_property
    def _scans(self) -> list[Scan]:
        """The scans by the numbers that the trace has for them; two that are the same have one."""
        return list(dict.fromkeys(self.planned.scans))

    @cached_property
    def _indexes(self) -> dict[Columns, Arrangement]:
        return {
            columns: Arrangement(self.folder, f"rows{number}", unique=False)
            for number, columns in enumerate(self._trace.indexes)
        }

    @property
    def _trace(self) -> Trace:
        trace = self._how.trace
        assert trace is not None
        return trace


def both(planned: PlannedView, was: pa.Table | None, now: pa.Table | None) -> pa.Table:
    """Rows as they were and as they are, in one table; None for no rows."""
    none = output_schema(planned).empty_table()
    parts = [
        rows.append_column(_NOW, pa.array([is_now] * rows.num_rows, pa.bool_()))
        for some, is_now in ((was, False), (now, True))
        for rows in [none if some is None else typed(planned, some)]
    ]
    return pa.concat_tables(parts).combine_chunks()
