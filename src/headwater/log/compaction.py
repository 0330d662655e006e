"""Compaction of a table: changes that newer ones had replaced by an instant are let go of, for good.

Of the changes that had happened and arrived by then the newest one of each key stays, and every later one. So the table
is what it was, and can be asked for as of every instant from then on; but not for how it came there. A delete that is
the newest change of its key goes too, unless changes have an event time: one that comes late could be of before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.log import producer
from headwater.log import read as reading
from headwater.log.clock import Clock
from headwater.log.datafile import DataFile, measured_columns, write_file
from headwater.log.fold import columns_to_fold, fold, living
from headwater.log.journal import Proposal, instant, microseconds, milliseconds
from headwater.log.topic import TopicLog
from headwater.model import Table

_COMMIT, _AT = "headwater#compacted-commit", "headwater#compacted-at"
"""The producers under whose names the log keeps up to which commit, and instant, it was compacted."""
_BITS = 32
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Compacted:
    """The instant, and the last commit that had all arrived by it, up to which a table has its newest changes alone.

    `rows` are those that were let go of.
    """

    commit: int
    at: datetime
    rows: int = 0


def compacted(log: TopicLog) -> Compacted | None:
    """The last compaction of a table; None if there was none."""
    commit, at = log.position(_COMMIT), log.position(_AT)
    return None if commit is None or at is None else Compacted(commit, instant(at))


def compact_table(log: TopicLog, until: datetime) -> Compacted:
    """Let go of the changes that newer ones had replaced by an instant."""
    assert isinstance(log.topic, Table)
    before = compacted(log)
    last = reading.seek(log, until + _MICROSECOND) - 1
    if before is not None and (until <= before.at or last <= before.commit):
        return before
    newest = _newest(log, log.topic, until, last)
    if newest is None:
        return Compacted(last, until)
    kept = _places(newest)
    replaced = [
        (file, rows)
        for file in log.snapshot().between(0, last)
        if (rows := _without(log, file, kept, until, last)) is not None
    ]
    done = Compacted(last, until, sum(file.rows - rows.num_rows for file, rows in replaced))
    if replaced:
        _commit(log, replaced, done)
    return done


def _newest(log: TopicLog, table: Table, until: datetime, last: int) -> pa.Table | None:
    """The changes that stay, of those that count: the newest of each key; None if there are none."""
    columns = columns_to_fold(table, [])
    parts = (_counting(table, batch.rows, until) for batch in reading.scan(log, 0, last, columns))
    newest = fold(table, parts)
    return newest if newest is None or table.time else living(newest)


def _counting(table: Table, rows: pa.Table, until: datetime) -> pa.Table:
    if table.time is None:
        return rows
    return rows.filter(pc.less_equal(rows[table.time], pa.scalar(until, rows[table.time].type)))


def _without(
    log: TopicLog, file: DataFile, kept: np.typing.NDArray[np.int64], until: datetime, last: int
) -> pa.Table | None:
    """The rows of a file, as they were written, without those that are let go of; None if all stay."""
    time = [str(log.topic.time)] if log.topic.time else []
    told = reading.read_file(log, file, ["_commit", "_row", *time])
    stays = np.isin(_places(told), kept) | (told["_commit"].to_numpy() > last)
    if time:
        stays |= pc.greater(told[time[0]], pa.scalar(until, told[time[0]].type)).to_numpy()
    return None if stays.all() else reading.read_as_written(log, file).filter(pa.array(stays))


def _places(rows: pa.Table) -> np.typing.NDArray[np.int64]:
    places: np.typing.NDArray[np.int64] = (rows["_commit"].to_numpy() << _BITS) | rows["_row"].to_numpy()
    return places


def _commit(log: TopicLog, replaced: list[tuple[DataFile, pa.Table]], done: Compacted) -> None:
    """Swap files for those that have the rows that stay, in an entry that says up to where."""
    at = milliseconds(log.now())
    files = list(_written(log, replaced))
    removed = [{"remove": {"path": file.path, "deletionTimestamp": at, "dataChange": True}} for file, _ in replaced]
    added = [file.as_action(at) for file in files]
    told = [producer.Sequence(_COMMIT, done.commit, None), producer.Sequence(_AT, microseconds(done.at), None)]
    note = {"rows": 0, "producers": producer.as_note(told)}

    def propose(number: int, clock: Clock) -> Proposal:
        known = log.snapshot().files
        if any(file.path not in known for file, _ in replaced):
            raise _Moved
        return Proposal("trim", clock, note, [*producer.as_actions(told, number, at), *removed, *added], "DELETE")

    try:
        log.commit(propose)
    except _Moved:  # maintenance has merged files meanwhile: they are looked through again
        for file in files:
            log.storage.delete(file.path)
        compact_table(log, done.at)


class _Moved(Exception):
    """A file is in another one by now."""


def _written(log: TopicLog, replaced: list[tuple[DataFile, pa.Table]]) -> Iterator[DataFile]:
    for file, rows in replaced:
        if rows.num_rows:
            time = file.past.shape.time if file.past else None
            yield write_file(log.storage, rows, measured_columns(log.topic, time))
