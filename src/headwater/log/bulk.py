"""Bulk loads: history too large for memory, appended as one commit of several files.

The rows are first spilled to a temporary folder, so that they are read once and the clock need not stand still
meanwhile; then they are stamped as a whole and committed at once: all of the load is there, or nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.log import producer
from headwater.log.append import Appended, Request, arrivals_of, stamp_history, times_of
from headwater.log.clock import Arrivals, Clock
from headwater.log.datafile import DataFile, measured_columns, write_file
from headwater.log.journal import Proposal, instant, microseconds, milliseconds
from headwater.log.producer import Move
from headwater.log.topic import LOCAL_SOURCE, TopicLog

_SPILL = pa.ipc.IpcWriteOptions(compression="lz4")


SOURCE = "_source"
"""The column of a part that names the source of each row."""


@dataclass(frozen=True)
class _Spilled:
    """A load on its way in: files of rows with their sources, and what the clock needs to know of them."""

    paths: list[Path]
    rows: int
    newest: Mapping[str, int]
    arrived: int

    def parts(self) -> Iterator[tuple[pa.Table, pa.Array]]:
        for path in self.paths:
            with pa.memory_map(str(path)) as file:
                found = pa.ipc.open_file(file).read_all()
                yield found.drop_columns([SOURCE]), found[SOURCE].combine_chunks()

    def arrivals(self) -> Arrivals:
        """The load as the clock sees it: only the newest row of each source moves the watermark."""
        count = len(self.newest)
        return Arrivals(
            np.array(list(self.newest.values()), np.int64),
            np.arange(count, dtype=np.int64),
            list(self.newest),
            np.full(count, self.arrived),
        )


def load(log: TopicLog, batches: Iterable[pa.Table], source: str = LOCAL_SOURCE) -> Appended:
    """Append batches as one history commit, stamped as a whole with the watermark before it."""
    return load_sources(log, (with_source(batch, source) for batch in batches))


def with_source(rows: pa.Table, source: str) -> pa.Table:
    """Rows that all come from one source, as `load_sources` takes them."""
    return rows.append_column(SOURCE, pa.repeat(pa.scalar(source, pa.string()), rows.num_rows))


def load_sources(
    log: TopicLog, parts: Iterable[pa.Table], moves: Callable[[], Sequence[Move]] = lambda: ()
) -> Appended:
    """Append parts as one history commit; a column `_source` names the source of each row.

    `moves` is asked for when all parts have been read, and they are written in the same entry; `Fenced` if one of them
    doesn't begin where the log stands.
    """
    with TemporaryDirectory(prefix="headwater-") as folder:
        spilled = _spill(log, parts, Path(folder))
        made = moves()
        if not spilled.rows and not made:
            return Appended(log.topic.name, log.head, 0, log.watermark)
        behind = 0

        def propose(number: int, clock: Clock) -> Proposal:
            nonlocal behind
            log.check_moves(made)
            files, behind = _write_parts(log, spilled, number, clock)
            return proposal_of(log, spilled.rows, spilled.arrivals(), number, clock, files, made)

        done = log.commit(propose)
        assert done is not None
        number, proposal = done
        return Appended(log.topic.name, number, spilled.rows, instant(proposal.clock.watermark), behind)


def proposal_of(
    log: TopicLog,
    rows: int,
    arrivals: Arrivals,
    number: int,
    clock: Clock,
    files: Sequence[DataFile],
    moves: Sequence[Move],
) -> Proposal:
    """The history commit of files that hold so many rows, with moves."""
    _, after = clock.load(arrivals)
    at = milliseconds(log.now())
    sequences = [move.sequence for move in moves]
    note: dict[str, Any] = {"rows": rows, "sources": list(arrivals.names)}
    return Proposal(
        kind="history",
        clock=after,
        note=note | ({"producers": producer.as_note(sequences)} if sequences else {}),
        actions=[*producer.as_actions(sequences, number, at), *(file.as_action(at) for file in files)],
        files=[file.path for file in files],
    )


def _spill(log: TopicLog, parts: Iterable[pa.Table], folder: Path) -> _Spilled:
    paths: list[Path] = []
    rows, newest = 0, dict[str, int]()
    for part in parts:
        if part.num_rows:
            path = folder / f"{len(paths)}.arrow"
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, part.schema, options=_SPILL) as writer:
                writer.write_table(part.combine_chunks())
            paths.append(path)
            rows += part.num_rows
            sources = part[SOURCE].combine_chunks()
            for source, mark in newest_of(log, part.drop_columns([SOURCE]), sources).items():
                newest[source] = max(mark, newest.get(source, 0))
    return _Spilled(paths, rows, newest, microseconds(log.now()))


def newest_of(log: TopicLog, rows: pa.Table, sources: pa.Array) -> dict[str, int]:
    """The newest mark of each source, as the clock of the topic takes it from rows."""
    arrivals = arrivals_of(log.topic, [Request.of(rows, sources, 0)])
    marks = [int(arrivals.marks[arrivals.sources == at].max()) for at in range(len(arrivals.names))]
    return dict(zip(arrivals.names, marks, strict=True))


def _write_parts(log: TopicLog, spilled: _Spilled, number: int, clock: Clock) -> tuple[list[DataFile], int]:
    """Stamp every part for this number and write it; returns the files and how many rows are behind the watermark."""
    files, start, behind = [], 0, 0
    for rows, sources in spilled.parts():
        request = Request.of(rows, sources, max(spilled.arrived, clock.arrived))
        stamped = stamp_history(log.topic, number, request, clock.watermark, start)
        files.append(write_file(log.storage, stamped, measured_columns(log.topic)))
        behind += int(np.count_nonzero(times_of(log.topic, rows) < clock.watermark))
        start += rows.num_rows
    return files, behind
