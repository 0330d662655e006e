"""Reading a topic: a range of commits in log order, seeking by time, following the end.

Readers address commits, never files, so maintenance is invisible to them. A range is chosen by the statistics that the
log keeps of every file; rows come in the order of (`_commit`, `_row`), whatever order a compacted file has them in.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headwater.errors import LogDamaged, UpcastFailed
from headwater.log.clock import MILLISECOND
from headwater.log.damage import MISSING
from headwater.log.datafile import OPERATION, OWN_COLUMNS, DataFile, columns_of
from headwater.log.entry import Entry, Kind
from headwater.log.integrity import FileAltered, check_files, open_checked
from headwater.log.journal import instant
from headwater.log.shape import Past, fit
from headwater.log.topic import TopicLog
from headwater.log.upcast import Upcasts, shown_row

POLL = timedelta(milliseconds=50)
BATCH_ROWS = 1_000_000
_END = 2**62
_POSITION = ("_commit", "_row")
_OWN = frozenset({*OWN_COLUMNS.names, OPERATION.name})


@dataclass(frozen=True)
class Batch:
    """Rows of some commits, whole and in log order. `commit` is the position after it, `watermark` the one reached."""

    rows: pa.Table
    commit: int
    watermark: datetime


@dataclass(frozen=True)
class Commit:
    """One line of `headwater log`."""

    number: int
    kind: Kind
    at: datetime
    rows: int
    times: tuple[datetime, datetime] | None
    watermark: datetime
    sources: tuple[str, ...]


def read(log: TopicLog, first: int = 0, last: int = _END, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of the commits from `first` to `last`, both included, in log order."""
    parts = [batch.rows for batch in scan(log, first, last, columns)]
    return pa.concat_tables(parts) if parts else _empty(log, columns)


def scan(log: TopicLog, first: int = 0, last: int = _END, columns: Sequence[str] | None = None) -> Iterator[Batch]:
    """The same in parts of about `BATCH_ROWS` rows, each of whole commits."""
    snapshot = log.snapshot()
    last = min(last, snapshot.number)
    for files, upto in _portions(snapshot.between(first, last), last):
        try:
            rows = read_in_order(log, files, first, upto, columns)
        except FileNotFoundError:  # compacted and vacuumed since: the same rows are in another file now
            rows = read_in_order(log, log.reload().between(first, upto), first, upto, columns)
        yield Batch(rows, upto, watermark_at(log, upto))
        first = upto + 1


def count_rows(log: TopicLog, first: int = 0, last: int = _END) -> int:
    """The number of rows of the commits from `first` to `last`, from the log's statistics as far as they tell."""
    count = 0
    for file in log.snapshot().between(first, last):
        whole = file.commits[0] >= first and file.commits[1] <= last
        count += file.rows if whole else _within(read_file(log, file, ["_commit"]), file, first, last).num_rows
    return count


def seek(log: TopicLog, at: datetime) -> int:
    """The first commit with a row that arrived at an instant or later; the one after the head if there is none."""
    snapshot = log.snapshot()
    commit = snapshot.number + 1
    for file in snapshot.files.values():
        if file.least["_arrived_at"] >= at:
            commit = min(commit, file.commits[0])
        elif file.greatest["_arrived_at"] + timedelta(milliseconds=1) >= at:  # statistics may be cut to milliseconds
            rows = read_file(log, file, ["_commit", "_arrived_at"])
            later = rows.filter(pc.greater_equal(rows["_arrived_at"], pa.scalar(at, rows["_arrived_at"].type)))
            commit = min(commit, pc.min(later["_commit"]).as_py() if later.num_rows else commit)
    return commit


def follow(
    log: TopicLog,
    first: int = 0,
    columns: Sequence[str] | None = None,
    *,
    stop: threading.Event | None = None,
    poll: timedelta = POLL,
) -> Iterator[Batch]:
    """Every batch from a commit on, then each new one as it is committed (a tick has no rows), until `stop` is set."""
    stop = stop or threading.Event()
    while not stop.is_set():
        upto = log.snapshot().number
        if upto < first:
            stop.wait(poll.total_seconds())
            continue
        reached = first - 1
        for batch in scan(log, first, upto, columns):
            reached = batch.commit
            yield batch
        if reached < upto:  # only ticks and maintenance: nothing to read, but the watermark may have moved
            yield Batch(_empty(log, columns), upto, watermark_at(log, upto))
        first = upto + 1


def commits(log: TopicLog, first: int = 0, last: int = _END) -> Iterator[Commit]:
    """The commits, with what each did, as far back as the log's entries are kept one by one."""
    watermark = instant(0)
    number, last = max(first, log.entries.first()), min(last, log.head)
    while number <= last:
        entry = log.entries.read(number)
        if entry is None:
            raise log.entries.damage.missing(number, number, f"Entry {last} is there.")
        if entry.note:
            watermark = instant(entry.note["clock"]["watermark"])
        yield _commit(log, entry, watermark)
        number += 1


def _commit(log: TopicLog, entry: Entry, watermark: datetime) -> Commit:
    files = [DataFile.from_action(add, log.topic) for add in entry.of("add")] if entry.note else []
    time = log.topic.time
    times = None
    if time and files:
        times = min(file.least[time] for file in files), max(file.greatest[time] for file in files)
    note: dict[str, Any] = entry.note or {}
    at = instant(entry.info.get("timestamp", 0) * 1000)
    return Commit(entry.number, entry.kind, at, note.get("rows", 0), times, watermark, tuple(note.get("sources", ())))


def _portions(files: list[DataFile], last: int) -> Iterator[tuple[list[DataFile], int]]:
    """Cut files into groups that share no commit, each with the last commit it completes."""
    group: list[DataFile] = []
    for index, file in enumerate(files):
        group.append(file)
        upto = max(member.commits[1] for member in group)
        ends = index + 1 == len(files)
        if ends or (sum(member.rows for member in group) >= BATCH_ROWS and files[index + 1].commits[0] > upto):
            yield group, last if ends else upto
            group = []


def read_rows(log: TopicLog, files: list[DataFile], first: int, last: int, columns: Sequence[str]) -> pa.Table:
    """The rows of these files that belong to the commits from `first` to `last`, in any order."""
    reads = list(dict.fromkeys([*columns, *_POSITION]))
    if len(files) < 2:
        parts = [read_file(log, file, reads) for file in files]
    else:
        with ThreadPoolExecutor(min(8, len(files))) as pool:
            parts = list(pool.map(lambda file: read_file(log, file, reads), files))
    kept = [_within(rows, file, first, last) for rows, file in zip(parts, files, strict=True)]
    return pa.concat_tables(kept).select(list(columns)) if kept else _empty(log, columns)


def read_in_order(
    log: TopicLog, files: list[DataFile], first: int = 0, last: int = _END, columns: Sequence[str] | None = None
) -> pa.Table:
    """The same in log order."""
    wanted = _wanted(log, columns)
    reads = list(dict.fromkeys([*wanted, *_POSITION]))
    return in_order(read_rows(log, files, first, last, reads)).select(wanted)


def read_file(log: TopicLog, file: DataFile, columns: list[str]) -> pa.Table:
    """The columns of a file, typed as declared: the one place where rows are read as they are declared today.

    A column that the file lacks (it is older) is NULL; one that is past is read as `file.past` says.
    """
    schema = columns_of(log.topic)
    if file.past is None:
        rows = read_as_written(log, file, columns)
        names = set(rows.column_names)
        arrays = [
            rows[name].cast(schema.field(name).type)
            if name in names
            else pa.nulls(rows.num_rows, schema.field(name).type)
            for name in columns
        ]
    else:
        rows = _read_past(log, file, file.past, columns)
        arrays = [rows[name].cast(schema.field(name).type) for name in columns]
    return pa.table(arrays, schema=pa.schema([schema.field(name) for name in columns]))


def read_as_written(log: TopicLog, file: DataFile, columns: Sequence[str] | None = None) -> pa.Table:
    """The columns of a file as they were written, those that it has of the ones asked for."""
    try:
        with open_checked(log.storage, file) as opened, pq.ParquetFile(opened) as parquet:
            names = parquet.schema_arrow.names
            return parquet.read(names if columns is None else [name for name in columns if name in names])
    except FileNotFoundError:
        if file.path in log.reload().files:
            raise _damaged(log, file, MISSING) from None
        raise
    except (FileAltered, pa.ArrowException, OSError) as cause:
        raise _damaged(log, file, str(cause)) from cause


def _read_past(log: TopicLog, file: DataFile, past: Past, columns: list[str]) -> pa.Table:
    topic, own = log.topic, [name for name in columns if name in _OWN]
    payload = [column for column in topic.columns if column.name in columns]
    if not payload:
        return read_as_written(log, file, own)
    if past.shape.version == topic.version:
        aliases = dict(past.aliases)
        names = [name for column in payload for name in (column.name, *aliases.get(column.name, ()))]
        rows = read_as_written(log, file, [*names, *own])
        fitting = fit(rows, past.named(payload))
    else:
        rows = read_as_written(log, file)
        fitting = _upcast(log, rows, past)
    return pa.table({**{name: fitting[name] for name in fitting.column_names}, **{name: rows[name] for name in own}})


def _upcast(log: TopicLog, rows: pa.Table, past: Past) -> pa.Table:
    """Rows of an earlier version in today's. Their event time stays what they were stamped by."""
    topic = log.topic
    upcasts = Upcasts(topic, past.shape.version, past.named(topic.columns))
    try:
        current = upcasts(fit(rows, upcasts.columns))
    except UpcastFailed as failed:
        first, last = (str(pick(rows["_commit"]).as_py()) for pick in (pc.min, pc.max))
        detail = f"{failed.detail or ''} It stands in the commits {first} to {last} of the log.".strip()
        raise UpcastFailed(
            failed.summary, detail=detail, hint=failed.hint, origin=failed.origin, **failed.fields
        ) from failed
    missing = [field.name for field in topic.schema if not field.nullable and current[field.name].null_count]
    if missing:
        at = pc.index(current[missing[0]].is_null(), True).as_py()
        raise UpcastFailed(
            f'the upcast of "{topic.name}" from version {past.shape.version} returned no value for "{missing[0]}", '
            "which must have one",
            detail=f"The row was {shown_row(rows, at)}.",
            hint="Give it one, or declare the column nullable.",
            origin=topic.origin,
            topic=topic.name,
        )
    if topic.time and not current[topic.time].combine_chunks().equals(rows[past.shape.time].combine_chunks()):
        raise UpcastFailed(
            f'the upcast of "{topic.name}" from version {past.shape.version} changes the event time',
            detail="Rows of the log were stamped by the event time that they came with.",
            hint=f'Return "{topic.time}" as it was, and declare what is computed from it as another column.',
            origin=topic.origin,
            topic=topic.name,
        )
    return current


def _within(rows: pa.Table, file: DataFile, first: int, last: int) -> pa.Table:
    if file.commits[0] >= first and file.commits[1] <= last:
        return rows
    return rows.filter(pc.and_(pc.greater_equal(rows["_commit"], first), pc.less_equal(rows["_commit"], last)))


def in_order(rows: pa.Table) -> pa.Table:
    """Rows sorted by their position."""
    commit, row = (rows[name].to_numpy() for name in _POSITION)
    steps = np.diff(commit)
    if np.all((steps > 0) | ((steps == 0) & (np.diff(row) > 0))):
        return rows
    return rows.sort_by([(name, "ascending") for name in _POSITION])


def _wanted(log: TopicLog, columns: Sequence[str] | None) -> list[str]:
    return list(columns_of(log.topic).names) if columns is None else list(columns)


def _empty(log: TopicLog, columns: Sequence[str] | None) -> pa.Table:
    schema = columns_of(log.topic)
    return pa.schema([schema.field(name) for name in _wanted(log, columns)]).empty_table()


def watermark_at(log: TopicLog, commit: int) -> datetime:
    """The watermark after a commit, from the newest entry up to it that has the clock; 1970 if it is kept no more."""
    return instant(_clock_at(log, commit).get("watermark", 0))


def arrived_at(log: TopicLog, commit: int) -> datetime:
    """The last arrival up to a commit, in whole milliseconds."""
    return instant(_clock_at(log, commit).get("arrived", 0) // MILLISECOND * MILLISECOND)


def passed_at(log: TopicLog, commit: int) -> datetime:
    """The last arrival or tick up to a commit, in whole milliseconds; nothing arrives earlier after it."""
    clock = _clock_at(log, commit)
    return instant(max(clock.get("arrived", 0), clock.get("ticked", 0)) // MILLISECOND * MILLISECOND)


def last_arrival(log: TopicLog, commit: int) -> int:
    """The last arrival of a row up to a commit, in microseconds."""
    return int(_clock_at(log, commit).get("arrived", 0))


def _clock_at(log: TopicLog, commit: int) -> Mapping[str, Any]:
    for number in range(commit, -1, -1):
        entry = log.entries.read(number)
        if entry is None and log.entries.first() <= number <= log.head:  # a topic to which nothing came has no entry
            raise log.entries.damage.missing(number, number, f"The clock of commit {commit} is in it.")
        if entry is None:
            break
        if entry.note is not None:
            clock: Mapping[str, Any] = entry.note["clock"]
            return clock
    return {}


def _damaged(log: TopicLog, file: DataFile, reason: str) -> LogDamaged:
    return log.entries.damage.file(file.path, file.commits, file.rows, reason)


def require_whole(log: TopicLog, files: Sequence[DataFile]) -> None:
    """Refuse files that are not as they were written, before somebody reads them who can't tell.

    One that is gone because maintenance has replaced it is left to its reader.
    """
    wrong = check_files(log.storage, files)
    if wrong:
        known = log.reload().files
        for file in files:
            if file.path in wrong and file.path in known:
                raise _damaged(log, file, wrong[file.path])
