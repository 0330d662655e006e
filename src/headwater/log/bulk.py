"""Bulk loads: history too large for memory, appended as one commit of several files.

The rows are first spilled to a temporary folder, so that they are read once and the clock need not stand still
meanwhile; then they are stamped as a whole and committed at once: all of the load is there, or nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headwater.errors import Fenced, FolderUnavailable, HeadwaterError
from headwater.log import producer
from headwater.log.append import Appended, Request, arrivals_of, stamp_history, times_of
from headwater.log.clock import Arrivals, Clock
from headwater.log.counts import Counts, as_note
from headwater.log.datafile import DataFile, measured_columns, write_file
from headwater.log.journal import Proposal, instant, microseconds, milliseconds
from headwater.log.producer import Move
from headwater.log.storage import Storage
from headwater.log.topic import LOCAL_SOURCE, TopicLog
from headwater.model import Topic

_SPILL = pa.ipc.IpcWriteOptions(compression="lz4")
SOURCE = "_source"
"""The column of a part that names the source of each row."""


@dataclass(frozen=True)
class Stamp:
    """The stamp of a history load: the number of its commit, the watermark before it, when it arrived."""

    number: int
    watermark: int
    arrived: int


@dataclass(frozen=True)
class Written:
    """A file of a load that is written and not part of the log yet; `newest` are the newest marks of its sources."""

    file: DataFile
    newest: Mapping[str, int]
    behind: int


@dataclass(frozen=True)
class _Spilled:
    """A load on its way in: files of rows with their sources, and what the clock needs to know of them."""

    paths: list[Path]
    rows: int
    newest: Mapping[str, int]
    arrived: int

    def parts(self) -> Iterator[pa.Table]:
        for path in self.paths:
            with pa.memory_map(str(path)) as file:
                yield pa.ipc.open_file(file).read_all()

    def arrivals(self) -> Arrivals:
        return _arrivals(self.newest, self.arrived)


def _arrivals(newest: Mapping[str, int], arrived: int) -> Arrivals:
    """A load as the clock sees it: only the newest row of each source moves the watermark."""
    marks = np.array(list(newest.values()), np.int64)
    return Arrivals(marks, np.arange(len(newest), dtype=np.int64), list(newest), np.full(len(newest), arrived))


def load(
    log: TopicLog, batches: Iterable[pa.Table], source: str = LOCAL_SOURCE, unknown: Callable[[], Counts] = dict
) -> Appended:
    """Append batches as one history commit, stamped as a whole with the watermark before it."""
    return load_sources(log, (with_source(batch, source) for batch in batches), unknown=unknown)


def with_source(rows: pa.Table, source: str) -> pa.Table:
    """Rows that all come from one source, as `load_sources` takes them."""
    return rows.append_column(SOURCE, pa.repeat(pa.scalar(source, pa.string()), rows.num_rows))


def load_sources(
    log: TopicLog,
    parts: Iterable[pa.Table],
    moves: Callable[[], Sequence[Move]] = lambda: (),
    unknown: Callable[[], Counts] = dict,
) -> Appended:
    """Append parts as one history commit; a column `_source` names the source of each row.

    `moves` is asked for when all parts have been read, and they are written in the same entry; `Fenced` if one of them
    doesn't begin where the log stands. `unknown`, asked for then as well, counts fields that no column declares.
    """
    with _put_aside():
        aside = TemporaryDirectory(prefix="headwater-")
    with aside as folder:
        spilled = _spill(log, parts, Path(folder))
        made = moves()
        if not spilled.rows and not made:
            return Appended(log.topic.name, log.head, 0, log.watermark)
        behind = 0

        def propose(number: int, clock: Clock) -> Proposal:
            nonlocal behind
            log.check_moves(made)
            parts = _write_parts(log, spilled, Stamp(number, clock.watermark, max(spilled.arrived, clock.present)))
            behind = sum(part.behind for part in parts)
            files = [part.file for part in parts]
            return replace(
                _proposal(log, spilled.arrivals(), number, clock, files, made, unknown()),
                files=[file.path for file in files],
            )

        done = log.commit(propose)
        assert done is not None
        number, proposal = done
        return Appended(log.topic.name, number, spilled.rows, instant(proposal.clock.watermark), behind)


def next_stamp(log: TopicLog) -> Stamp:
    """The stamp of a history load that is the next commit, as far as can be known now."""
    log.create()
    clock = log.clock
    return Stamp(log.head + 1, clock.watermark, max(microseconds(log.now()), clock.present))


def write_part(topic: Topic, storage: Storage, stamp: Stamp, part: pa.Table, start: int) -> Written:
    """Write rows with their sources as a file of a load; the first of them is row `start` of its commit."""
    rows, sources = part.drop_columns([SOURCE]), part[SOURCE].combine_chunks()
    stamped = stamp_history(topic, stamp.number, Request.of(rows, sources, stamp.arrived), stamp.watermark, start)
    behind = int(np.count_nonzero(times_of(topic, rows) < stamp.watermark))
    file = write_file(storage, stamped, measured_columns(topic))
    return Written(file, newest_of(topic, rows, sources), behind)


def commit_parts(
    log: TopicLog, stamp: Stamp, parts: Sequence[Written], moves: Sequence[Move], unknown: Counts
) -> Appended:
    """Append files that were written for a stamp as one history commit, with moves.

    If another writer was faster they are written anew, for the number that is free. If the moves are refused they are
    deleted.
    """
    newest: dict[str, int] = {}
    for part in parts:
        for source, mark in part.newest.items():
            newest[source] = max(mark, newest.get(source, 0))
    arrivals = _arrivals(newest, stamp.arrived)
    current, files = stamp, [part.file for part in parts]

    def propose(number: int, clock: Clock) -> Proposal:
        nonlocal current, files
        log.check_moves(moves)
        wanted = Stamp(number, clock.watermark, max(stamp.arrived, clock.present))
        if wanted != current:
            files, current = [_restamped(log, file, wanted) for file in files], wanted
        return _proposal(log, arrivals, number, clock, files, moves, unknown)

    try:
        done = log.commit(propose)
    except Fenced:
        for file in files:
            log.storage.delete(file.path)
        raise
    assert done is not None
    rows, behind = sum(file.rows for file in files), sum(part.behind for part in parts)
    return Appended(log.topic.name, done[0], rows, instant(done[1].clock.watermark), behind)


def _restamped(log: TopicLog, file: DataFile, stamp: Stamp) -> DataFile:
    rows = pq.read_table(log.storage.open(file.path, file.size))
    for name, value in (("_commit", stamp.number), ("_watermark", stamp.watermark), ("_arrived_at", stamp.arrived)):
        at = rows.schema.get_field_index(name)
        values = pa.repeat(pa.scalar(value, pa.int64()), rows.num_rows).cast(rows.schema.field(at).type)
        rows = rows.set_column(at, rows.schema.field(at), values)
    written = write_file(log.storage, rows, measured_columns(log.topic))
    log.storage.delete(file.path)
    return written


def _proposal(
    log: TopicLog,
    arrivals: Arrivals,
    number: int,
    clock: Clock,
    files: Sequence[DataFile],
    moves: Sequence[Move],
    unknown: Counts,
) -> Proposal:
    """The history commit of files, with moves."""
    _, after = clock.load(arrivals)
    at = milliseconds(log.now())
    sequences = [move.sequence for move in moves]
    note: dict[str, Any] = {"rows": sum(file.rows for file in files), "sources": list(arrivals.names)}
    return Proposal(
        kind="history",
        clock=after,
        note=note | ({"producers": producer.as_note(sequences)} if sequences else {}) | as_note(unknown),
        actions=[*producer.as_actions(sequences, number, at), *(file.as_action(at) for file in files)],
    )


def _spill(log: TopicLog, parts: Iterable[pa.Table], folder: Path) -> _Spilled:
    paths: list[Path] = []
    rows, newest = 0, dict[str, int]()
    for part in parts:
        if part.num_rows:
            paths.append(_written(part, folder / f"{len(paths)}.arrow"))
            rows += part.num_rows
            sources = part[SOURCE].combine_chunks()
            for source, mark in newest_of(log.topic, part.drop_columns([SOURCE]), sources).items():
                newest[source] = max(mark, newest.get(source, 0))
    return _Spilled(paths, rows, newest, microseconds(log.now()))


def _written(part: pa.Table, path: Path) -> Path:
    rows = part.combine_chunks()
    with _put_aside(), pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, part.schema, options=_SPILL) as writer:
        writer.write_table(rows)
    return path


@contextmanager
def _put_aside() -> Iterator[None]:
    """Let rows be put aside until all of a load has been read."""
    try:
        yield
    except OSError as cause:
        raise FolderUnavailable(
            f'rows could not be put aside in "{gettempdir()}"',
            detail=f"{cause.strerror or cause}. Nothing was appended.",
            hint="See that there is room for all of the load, or name another folder by TMPDIR; then repeat the call.",
            file=gettempdir(),
        ) from cause


def newest_of(topic: Topic, rows: pa.Table, sources: pa.Array) -> dict[str, int]:
    """The newest mark of each source, as the clock of the topic takes it from rows."""
    arrivals = arrivals_of(topic, [Request.of(rows, sources, 0)])
    marks = [int(arrivals.marks[arrivals.sources == at].max()) for at in range(len(arrivals.names))]
    return dict(zip(arrivals.names, marks, strict=True))


def _write_parts(log: TopicLog, spilled: _Spilled, stamp: Stamp) -> list[Written]:
    """Stamp every part and write it: all of them, or nothing is left of any."""
    written, start = list[Written](), 0
    try:
        for part in spilled.parts():
            written.append(write_part(log.topic, log.storage, stamp, part, start))
            start += part.num_rows
    except BaseException:
        let_go(log.storage, written)
        raise
    return written


def let_go(storage: Storage, written: Iterable[Written]) -> None:
    """Delete files of a load that won't be part of the log, as far as they can be."""
    for part in written:
        with suppress(HeadwaterError):
            storage.delete(part.file.path)
