"""Tables: the rows that a changelog comes to, now or as they were, and what changed between two commits.

A row of a table is the newest change of its key, unless that is a delete. *As of* an instant it is the newest change
that had happened by then: by event time, or by arrival where the table declares none. *As known at* an instant, only
what had arrived by then counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import PositionRefused
from headwater.log import read as reading
from headwater.log.compaction import compacted
from headwater.log.datafile import OPERATION, OWN_COLUMNS, columns_of
from headwater.log.fold import columns_to_fold, fold, living, only_keys
from headwater.log.folded import Damaged, Folded, FoldedSnapshots
from headwater.log.topic import TopicLog
from headwater.model import Table

_logger = logging.getLogger("headwater.log")

TAIL_ROWS = 100_000
"""A snapshot is kept once so many changes, and a tenth as many as it has keys, came behind the one before."""
_MICROSECOND = timedelta(microseconds=1)
Keep = Callable[[pa.Table], pa.Table]
"""Chooses changes by their keys."""


@dataclass(frozen=True)
class Version:
    """The rows as they were at an instant, or as they were known at one; by default as they are."""

    as_of: datetime | None = None
    known_at: datetime | None = None


NOW = Version()


@dataclass(frozen=True)
class Changed:
    """The keys that changed between two commits: a row of each in `before`, if there was one, and in `after`, if any.

    Both have the columns of the table, and no key twice.
    """

    before: pa.Table
    after: pa.Table


class TableLog:
    """The table that a changelog is. Thread-safe.

    >>> from headwater.log import open_storage
    >>> from headwater.model import Column
    >>> prices = Table(name="prices", columns=(Column("id", pa.string()), Column("n", pa.int64())), primary_key=("id",))
    >>> log = TopicLog(prices, open_storage("memory://prices"))
    >>> _ = log.append(pa.table({"id": ["a", "b"], "n": [1, 2], "_op": ["upsert"] * 2}))
    >>> _ = log.append(pa.table({"id": ["a", "b"], "n": [3, None], "_op": ["upsert", "delete"]}))
    >>> TableLog(log).rows().to_pylist()
    [{'id': 'a', 'n': 3}]
    >>> TableLog(log).changed(1, 2).before.to_pylist()
    [{'id': 'a', 'n': 1}, {'id': 'b', 'n': 2}]
    """

    def __init__(self, log: TopicLog) -> None:
        assert isinstance(log.topic, Table)
        self.log = log
        self.table = log.topic

    @property
    def schema(self) -> pa.Schema:
        """The columns of its rows."""
        return pa.schema([column.field for column in self.table.columns])

    def rows(
        self,
        version: Version = NOW,
        columns: Sequence[str] | None = None,
        keep: Keep | None = None,
        commit: int | None = None,
    ) -> pa.Table:
        """The rows, in no order. `keep` chooses among changes by their keys; `commit` is the last one that counts."""
        self.check_kept(version, commit)
        names = self.schema.names if columns is None else list(columns)
        wanted = columns_to_fold(self.table, names)
        last = self.log.head if commit is None else commit
        folded = fold(self.table, self._parts(version, last, wanted, keep))
        if folded is None:
            return self._schema(names).empty_table()
        return living(folded).select(names).cast(self._schema(names))

    def changed(self, after: int, upto: int) -> Changed:
        """The keys whose rows differ after these two commits, with the rows then."""
        self.check_kept(NOW, after)
        news = fold(self.table, self._scanned(after + 1, upto, self._every))
        names = self.schema.names
        if news is None:
            none = self.schema.empty_table()
            return Changed(none, none)
        among = _bounds(news[self.table.primary_key[0]])
        parts = self._state(after, self._every, lambda rows: only_keys(self.table, rows, news), among)
        old = fold(self.table, parts)
        now = news if old is None else fold(self.table, [old, news])
        assert now is not None
        if old is not None:  # a change that came behind a newer one changes nothing
            now, old = _without(now, old), _without(old, now)
        before = None if old is None else living(old).select(names).cast(self.schema)
        return Changed(
            self.schema.empty_table() if before is None else before, living(now).select(names).cast(self.schema)
        )

    def check_kept(self, version: Version, commit: int | None = None) -> None:
        """Refuse what can't be told any more, because changes that had been replaced by then were let go of."""
        done = compacted(self.log)
        asked = _earlier(version.as_of, version.known_at)
        if done is None or ((asked or done.at) >= done.at and (commit is None or commit >= done.commit)):
            return
        raise PositionRefused(
            f'table "{self.table.name}" can\'t be told as it was then',
            detail=f"It was compacted: up to {done.at.isoformat()} (commit {done.commit}) only the newest of "
            "each key is kept.",
            hint="Ask for it as of a later instant.",
            topic=self.table.name,
        )

    @property
    def _every(self) -> list[str]:
        return columns_to_fold(self.table, self.schema.names)

    def _schema(self, names: Sequence[str]) -> pa.Schema:
        own = {field.name: field for field in (*OWN_COLUMNS, OPERATION)}
        return pa.schema([own.get(name) or self.schema.field(name) for name in names])

    # Where the changes are

    def _parts(self, version: Version, last: int, columns: list[str], keep: Keep | None) -> Iterator[pa.Table]:
        arrived = version.known_at if self.table.time else _earlier(version.known_at, version.as_of)
        happened = version.as_of if self.table.time else None
        if arrived is not None:
            last = min(last, reading.seek(self.log, arrived + _MICROSECOND))
        if arrived is None and happened is None:
            yield from self._state(last, columns, keep)
            return
        times = [*(["_arrived_at"] if arrived else []), *columns]
        for part in self._scanned(0, last, list(dict.fromkeys(times)), keep):
            rows = part if arrived is None else _upto(part, "_arrived_at", arrived)
            yield (rows if happened is None else _upto(rows, str(self.table.time), happened)).select(columns)

    def _state(
        self, last: int, columns: list[str], keep: Keep | None = None, among: tuple[Any, Any] | None = None
    ) -> Iterator[pa.Table]:
        """The changes that fold to the state at a commit: a snapshot and the changes behind it."""
        snapshots = FoldedSnapshots(self.table, self.log.storage, self.log.identity)
        base = self._base(snapshots, last)
        if base is not None:
            try:
                yield from [_kept(part, keep) for part in snapshots.read(base, columns, among)]
            except Damaged as damaged:
                _logger.warning("the state of table %s is made again: %s", self.table.name, damaged)
                snapshots.forget()
                base = None
        yield from self._scanned(base.commit + 1 if base else 0, last, columns, keep)

    def _base(self, snapshots: FoldedSnapshots, last: int) -> Folded | None:
        """The newest snapshot; a newer one is made if the changes behind it have become many."""
        base = snapshots.newest(last)
        first = base.commit + 1 if base else 0
        tail = sum(file.rows for file in self.log.snapshot().between(first, last))
        if tail < max(TAIL_ROWS, base.rows // 10 if base else 0):
            return base
        names = columns_of(self.table).names
        parts = [] if base is None else snapshots.read(base, names)
        try:
            state = fold(self.table, [*parts, *self._scanned(first, last, names)])
        except Damaged as damaged:
            _logger.warning("the state of table %s is made again: %s", self.table.name, damaged)
            snapshots.forget()
            state = fold(self.table, self._scanned(0, last, names))
        if state is not None:
            snapshots.write(last, state)
        return snapshots.newest(last)

    def _scanned(self, first: int, last: int, columns: list[str], keep: Keep | None = None) -> Iterator[pa.Table]:
        for batch in reading.scan(self.log, first, last, columns):
            yield _kept(batch.rows, keep)


def _kept(rows: pa.Table, keep: Keep | None) -> pa.Table:
    return rows if keep is None else keep(rows)


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((instant for instant in (one, other) if instant is not None), default=None)


def _upto(rows: pa.Table, column: str, instant: datetime) -> pa.Table:
    return rows.filter(pc.less_equal(rows[column], pa.scalar(instant, rows[column].type)))


def _bounds(values: pa.ChunkedArray) -> tuple[Any, Any] | None:
    if pa.types.is_string(values.type) or pa.types.is_integer(values.type):
        ends = pc.min_max(values).as_py()
        return ends["min"], ends["max"]
    return None


def _without(rows: pa.Table, others: pa.Table) -> pa.Table:
    """The changes that aren't among others, by their places in the log."""
    places = [pa.table({name: part[name] for name in ("_commit", "_row")}) for part in (rows, others)]
    numbered = places[0].append_column("__number", pa.array(range(rows.num_rows), pa.int64()))
    kept = numbered.join(places[1], ["_commit", "_row"], join_type="left anti")["__number"]
    return rows.take(kept.combine_chunks().sort())
