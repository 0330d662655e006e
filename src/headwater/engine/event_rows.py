"""Events that a step computes, of a view whose rows are made of one event and of what that asks tables for.

They are those that are new; those that become final, which are shown or counted then; and those that are open and ask
for a key of which something new has come. With them come all copies of such an event, because which of them is taken is
decided among all, and of the tables the changes that they ask for (see `engine.table_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial, reduce

import pyarrow as pa
import pyarrow.compute as pc

from headwater.engine import recent
from headwater.engine.maintained.rows import in_log_order
from headwater.engine.scan import columns_of, files_of
from headwater.engine.small import MANY, Reach, SmallSlices, read_again
from headwater.engine.source import arrow_schema
from headwater.log import TopicLog
from headwater.log.datafile import DataFile
from headwater.model import Emit
from headwater.operators import Scan
from headwater.operators.as_of_join.stage import asking_as_of
from headwater.plan import PlannedView

Changed = Sequence[Mapping[str, pa.Array]]
"""For each time that a table is asked: the columns of events that ask for it, with the values that have changed."""


@dataclass(frozen=True)
class EventRows:
    """The events of a view that its steps compute, and what they ask for, among the rows of its topics."""

    planned: PlannedView
    logs: Mapping[str, TopicLog]
    slices: SmallSlices

    def find(
        self, reaches: Mapping[str, Reach], became_final: tuple[datetime, datetime]
    ) -> Mapping[Scan, pa.Table] | None:
        """The rows of every scan for a step; None if they are too many."""
        new: dict[Scan, pa.Table] = {}
        for table in self._tables:
            changes = self.slices.new_of(table, reaches[table.relation])
            if changes is None:
                return None
            new[table] = changes
        log, reach, changed = self.logs[self.events.relation], reaches[self.events.relation], self._changed(new)
        events = read_again(log, partial(self._events, log, reach, became_final, changed))
        if events is None:
            return None
        rows_of = {self.events: events}
        for table, changes in new.items():
            asked = self.slices.changes_of(table, reaches[table.relation].last, rows_of, reach.since)
            if asked is None:
                return None
            rows_of[table] = in_log_order(pa.concat_tables([asked, changes])) if changes.num_rows else asked
        return rows_of if sum(rows.num_rows for rows in rows_of.values()) <= recent.MOST else None

    @cached_property
    def events(self) -> Scan:
        """The scan of the events."""
        return next(scan for scan in self.planned.scans if scan.kind != "table")

    @cached_property
    def _tables(self) -> list[Scan]:
        return list(dict.fromkeys(scan for scan in self.planned.scans if scan.kind == "table"))

    @cached_property
    def _again(self) -> bool:
        """Tells whether events are looked at again when they become final: they are shown then, or counted as those
        for which a table had no row.
        """
        kinds = {join.kind for join in asking_as_of(self.planned.root)}
        return self.planned.emit is Emit.FINAL or "inner" in kinds

    def _changed(self, new: Mapping[Scan, pa.Table]) -> Changed:
        """The values of events that ask for what has changed."""
        if self.planned.emit is Emit.FINAL:  # those are computed when they become final
            return []
        step = self.planned.physical.step
        return [
            {column: pc.unique(rows[theirs]) for theirs, _, column in look_up.columns}
            for look_up in (step.looked_up if step else ())
            for table, rows in new.items()
            if table.relation == look_up.table and rows.num_rows
        ]

    def _events(
        self, log: TopicLog, reach: Reach, became_final: tuple[datetime, datetime], changed: Changed
    ) -> pa.Table | None:
        scan, pace = self.events, self.slices.pace
        files = files_of(log, scan, pace, 0, reach.last, reach.since, reach.after)
        if sum(file.rows for file in files) > MANY:
            return None
        masks = [self._mask(log, file, reach, became_final, changed) for file in files]
        names = columns_of(scan, pace)
        parts = [self.slices.kept.read(log, file, names).filter(mask) for file, mask in zip(files, masks, strict=True)]
        rows = pa.concat_tables([arrow_schema(log.topic, names).empty_table(), *parts])
        if rows.num_rows > recent.MOST or "_id" not in names or not rows.num_rows:
            return rows if rows.num_rows <= recent.MOST else None
        copies = [self._copies(log, file, reach, rows["_id"]) for file in files]
        parts = [self.slices.kept.read(log, file, names).filter(mask) for file, mask in zip(files, copies, strict=True)]
        return in_log_order(pa.concat_tables([rows, *parts]))

    def _mask(
        self,
        log: TopicLog,
        file: DataFile,
        reach: Reach,
        became_final: tuple[datetime, datetime],
        changed: Changed,
    ) -> pa.ChunkedArray:
        """Tells of the rows of a file which of them a step computes."""
        time = self.events.time
        assert time is not None
        asking = sorted({column for values in changed for column in values})
        rows = self.slices.kept.read(log, file, ["_commit", time, *(name for name in asking if name != time)])
        since, until = (pa.scalar(at, rows[time].type) for at in became_final)
        wanted = pc.greater(rows["_commit"], reach.after)
        if self._again:
            at = rows[time]
            wanted = pc.or_(wanted, pc.fill_null(pc.and_(pc.greater(at, since), pc.less_equal(at, until)), False))
        for values in changed:
            of_keys = [pc.is_in(rows[name], value_set=known.cast(rows[name].type)) for name, known in values.items()]
            is_open = pc.fill_null(pc.greater(rows[time], since), False)
            wanted = pc.or_(wanted, reduce(pc.and_, of_keys, is_open))
        return pc.and_(wanted, pc.less_equal(rows["_commit"], reach.last))

    def _copies(self, log: TopicLog, file: DataFile, reach: Reach, ids: pa.ChunkedArray) -> pa.ChunkedArray:
        rows = self.slices.kept.read(log, file, ["_commit", "_id"])
        return pc.and_(pc.is_in(rows["_id"], value_set=pc.unique(ids)), pc.less_equal(rows["_commit"], reach.last))
