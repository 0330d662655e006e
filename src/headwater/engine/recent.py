"""Recent rows: those of a topic that the steps of a view look back on, by key, in memory.

To look through all rows of an hour for those of some keys takes as long for one new row as for a thousand. So they are
arranged by key once, each step adds what is new, and what no step can look back on any more is let go of. All of it
follows from the log: where it can't be gone on with, it is read again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from headwater.engine import small
from headwater.engine.maintained.arrangement import Arrangement
from headwater.engine.maintained.rows import in_log_order, names_in
from headwater.engine.scan import columns_of, files_of, paced_by
from headwater.engine.small import MANY, Reach, read_again
from headwater.engine.source import arrow_schema
from headwater.log import TopicLog
from headwater.log.columns import ROOM, KeptColumns
from headwater.log.datafile import DataFile
from headwater.operators import Scan
from headwater.plan.physical.pace import Pace

MOST = 400_000
"""The most rows that are found for a step."""
_PART = 4
"""The part of all rows that was added since rows were let go of, before that is done again: one in so many."""


@dataclass
class RecentRows:
    """Rows of a topic by their `keys`, and by what identifies them where the stream says what is unique."""

    log: TopicLog
    scan: Scan
    pace: Pace
    keys: tuple[str, ...]
    kept: KeptColumns
    _upto: int = field(default=-1, init=False)
    _reach: Reach | None = field(default=None, init=False)
    _added: int = field(default=0, init=False)
    _has_room: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        nowhere = Path()  # they are never kept
        self._by_key = Arrangement(nowhere, "key", unique=False)
        self._by_id = Arrangement(nowhere, "id", unique=False) if "_id" in self._columns else None

    def find(self, reach: Reach) -> pa.Table | None:
        """The rows that are new, and those not too far back that have the key of one of them; None if they are too
        many. Of an event that is among them all copies are, whatever their keys.
        """
        return read_again(self.log, partial(self._find, reach))

    def _find(self, reach: Reach) -> pa.Table | None:
        files = files_of(self.log, self.scan, self.pace, reach.after + 1, reach.last, None, reach.after)
        if sum(file.rows for file in files) > small.FEW:
            return None
        new = self._read(files, replace(reach, only_new=True), reach.after)
        if not new.num_rows:  # a tick: nothing is asked of what was there before
            return new
        if not self._extend(reach):
            return None
        found = self._by_key.find(pc.unique(names_in(new, self.keys)))
        assert found is not None
        if self._by_id is not None:
            found = pa.concat_tables([found, self._by_id.find(pc.unique(names_in(found, ("_id",))))])
        rows = found.filter(self._matters(found, reach))
        return in_log_order(rows) if rows.num_rows <= MOST else None

    def _extend(self, reach: Reach) -> bool:
        """Add the rows that have come; False if there is no room for all that a step may look back on."""
        if self._reach is not None and not _follows(reach, self._reach):
            self._clear()
        files = files_of(self.log, self.scan, self.pace, self._upto + 1, reach.last, reach.since, reach.after)
        if not self._has_room or sum(file.rows for file in files) + len(self._by_key) > MANY:
            return False
        new = self._read(files, reach, self._upto)
        self._by_key.put(names_in(new, self.keys), new)
        if self._by_id is not None:
            self._by_id.put(names_in(new, ("_id",)), new)
        self._upto, self._reach = max(self._upto, reach.last), reach
        self._added += new.num_rows
        self._let_go(reach)
        return self._has_room

    def _let_go(self, reach: Reach) -> None:
        if self._added * _PART < len(self._by_key):
            return
        self._added = 0
        for rows in self._arranged:
            rows.let_go(lambda rows: self._matters(rows, replace(reach, last=self._upto)))
        if sum(rows.nbytes for rows in self._arranged) > ROOM:
            self._has_room = False
            self._clear()

    def _clear(self) -> None:
        for rows in self._arranged:
            rows.clear()
        self._upto, self._reach, self._added = -1, None, 0

    @property
    def _arranged(self) -> list[Arrangement]:
        return [rows for rows in (self._by_key, self._by_id) if rows is not None]

    def _read(self, files: list[DataFile], reach: Reach, after: int) -> pa.Table:
        """The rows of some files that matter, of commits after this one."""
        parts = [self.kept.read(self.log, file, self._columns) for file in files]
        parts = [rows.filter(pc.and_(pc.greater(rows["_commit"], after), self._matters(rows, reach))) for rows in parts]
        return pa.concat_tables([arrow_schema(self.log.topic, self._columns).empty_table(), *parts]).combine_chunks()

    def _matters(self, rows: pa.Table, reach: Reach) -> pa.ChunkedArray:
        """Tells of each row whether it is new, or not too far back."""
        read, new = pc.less_equal(rows["_commit"], reach.last), pc.greater(rows["_commit"], reach.after)
        time = paced_by(self.scan, self.pace)
        if reach.only_new:
            return pc.and_(read, new)
        if reach.since is None or time is None:
            return read
        return pc.and_(read, pc.or_(new, pc.greater(rows[time], pa.scalar(reach.since, rows[time].type))))

    @property
    def _columns(self) -> list[str]:
        return columns_of(self.scan, self.pace)


def _follows(reach: Reach, before: Reach) -> bool:
    """Tells whether all that matters in a reach mattered in the one before, or has come since."""
    if reach.after < before.after:
        return False
    return before.since is None or (reach.since is not None and reach.since >= before.since)
