"""Rows of tables by the columns that they are asked for by, in memory: a step finds those that its own rows ask for.

To look through the changes of a table of a million rows takes as long for one event as for all. So they are arranged by
key once, and each step adds the new ones. Of the changes of a key that nobody can ask for any more, because each event
that is still open happened later, the last one counts and the others are let go of: what is left is a row for each
key, and those of late. All of it follows from the log: where it can't be gone on with, it is read again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.engine.maintained.arrangement import Arrangement
from headwater.engine.maintained.rows import names_in
from headwater.engine.maintained.run import KEY
from headwater.engine.scan import columns_of
from headwater.engine.source import arrow_schema
from headwater.log import TopicLog
from headwater.log.columns import KeptColumns
from headwater.log.datafile import DataFile
from headwater.operators import Scan
from headwater.plan.physical.pace import Pace

MOST = 5_000_000
"""The most changes of a table that are held."""
ROOM = 512 << 20
"""The most bytes that they may take, for each table of a view."""
_PART = 2
"""The part of all rows that was added since rows were let go of, before that is done again: one in so many."""


@dataclass
class TableRows:
    """The changes of a table by some of its columns.

    Where it is asked as it was at the time of events, changes that come later than `grace` allows never count.
    """

    log: TopicLog
    scan: Scan
    pace: Pace
    keys: tuple[str, ...]
    kept: KeptColumns
    grace: timedelta
    _upto: int = field(default=-1, init=False)
    _added: int = field(default=0, init=False)
    _passed: datetime | None = field(default=None, init=False)
    _has_room: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        self._rows = Arrangement(Path(), "key", unique=False)  # they are never kept

    @property
    def nbytes(self) -> int:
        """The size of its rows."""
        return self._rows.nbytes

    def __len__(self) -> int:
        """The changes that it holds."""
        return len(self._rows)

    def find(self, keys: pa.Array, last: int, passed: datetime | None = None) -> pa.Table | None:
        """The changes of some keys up to a commit; None if there is no room for all of them.

        Where events have `passed` an instant none asks for the table as it was there or earlier, now or ever again.
        """
        if self._passed is not None and (passed is None or passed < self._passed):
            self._clear()
        if not self._extend(last):
            return None
        self._let_go(passed)
        found = self._rows.find(keys)
        if found is None:
            return arrow_schema(self.log.topic, self._columns).empty_table()
        return found.filter(pc.less_equal(found["_commit"], last))

    def _extend(self, last: int) -> bool:
        if not self._has_room:
            return False
        files = self.log.snapshot().between(self._upto + 1, last) if last > self._upto else []
        if sum(file.rows for file in files) + len(self) > MOST:
            return False
        new = pa.concat_tables([arrow_schema(self.log.topic, self._columns).empty_table(), *map(self._read, files)])
        new = new.filter(pc.less_equal(new["_commit"], last)).combine_chunks()
        self._rows.put(names_in(new, self.keys), new)
        self._upto, self._added = max(self._upto, last), self._added + new.num_rows
        return self._keeps_room()

    def _read(self, file: DataFile) -> pa.Table:
        """The rows of a file that have come since."""
        rows = self.kept.read(self.log, file, self._columns)
        return rows.filter(pc.greater(rows["_commit"], self._upto))

    def _keeps_room(self) -> bool:
        if self._rows.nbytes > ROOM:
            self._has_room = False
            self._clear()
        return self._has_room

    def _let_go(self, passed: datetime | None) -> None:
        """Let go of what nobody asks for any more."""
        if passed is None or self.scan.time is None or self._added * _PART < len(self):
            return
        self._passed, self._added = passed, 0
        self._rows.gather()
        self._rows.let_go(lambda rows: self._counts(rows, passed))

    def _counts(self, rows: pa.Table, passed: datetime) -> pa.Array:
        """Tells of each change whether somebody may ask for it."""
        assert self.scan.time is not None
        at, stamp = (rows[name].combine_chunks().cast(pa.int64()) for name in (self.scan.time, self.pace.stamp))
        grace = self.grace // timedelta(microseconds=1)
        in_time = pc.fill_null(pc.greater(pc.add(at, grace), stamp), pa.scalar(False)).to_numpy(zero_copy_only=False)
        before = pc.fill_null(pc.less_equal(rows[self.scan.time], pa.scalar(passed, rows[self.scan.time].type)), False)
        old = np.flatnonzero(in_time & before.to_numpy())
        counts: npt.NDArray[np.bool_] = in_time.copy()
        counts[old] = False
        counts[old[self._last_of_each(rows.take(old))]] = True
        return pa.array(counts)

    def _last_of_each(self, rows: pa.Table) -> npt.NDArray[np.int64]:
        """The places of the last change of each row of the table: in the order of time and, at one instant, of the log.

        They may be asked for by some columns of the key.
        """
        key, time = self.scan.key, self.scan.time
        names = rows[KEY].combine_chunks() if set(self.keys) == set(key) else names_in(rows, key)
        of = names.dictionary_encode().indices.to_numpy()
        at = rows[time].combine_chunks().cast(pa.int64()).to_numpy()
        order = np.lexsort((rows["_row"].to_numpy(), rows["_commit"].to_numpy(), at, of))
        of = of[order]
        last: npt.NDArray[np.int64] = order[np.append(of[1:] != of[:-1], True)[: len(of)]]
        return last

    def _clear(self) -> None:
        self._rows.clear()
        self._upto, self._added, self._passed = -1, 0, None

    @property
    def _columns(self) -> list[str]:
        return columns_of(self.scan, self.pace)
