"""Bulk loads: history too large for memory, appended as one commit of several files.

The rows are first spilled to a temporary folder, so that they are read once and the clock need not stand still
meanwhile; then they are stamped as a whole and committed at once: all of the load is there, or nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from headwater.log.append import Appended, Request, arrivals_of, stamp_history, times_of
from headwater.log.clock import Arrivals, Clock
from headwater.log.datafile import DataFile, measured_columns, write_file
from headwater.log.journal import Proposal, instant, microseconds, milliseconds
from headwater.log.topic import LOCAL_SOURCE, TopicLog

_SPILL = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True)
class _Spilled:
    """A load on its way in: files of rows, and what the clock needs to know of them."""

    paths: list[Path]
    rows: int
    newest: int
    source: str
    arrived: int

    def parts(self) -> Iterator[pa.Table]:
        for path in self.paths:
            with pa.memory_map(str(path)) as file:
                yield pa.ipc.open_file(file).read_all()

    def arrivals(self) -> Arrivals:
        """The load as the clock sees it: only its newest row moves the watermark."""
        count = min(self.rows, 1)
        return Arrivals(
            np.full(count, self.newest, np.int64),
            np.zeros(count, np.int64),
            [self.source],
            np.full(count, self.arrived),
        )


def load(log: TopicLog, batches: Iterable[pa.Table], source: str = LOCAL_SOURCE) -> Appended:
    """Append batches as one history commit, stamped as a whole with the watermark before it."""
    with TemporaryDirectory(prefix="headwater-") as folder:
        spilled = _spill(log, batches, Path(folder), source)
        if not spilled.rows:
            return Appended(log.topic.name, log.head, 0, log.watermark)
        behind = 0

        def propose(number: int, clock: Clock) -> Proposal:
            nonlocal behind
            files, behind = _write_parts(log, spilled, number, clock)
            _, after = clock.load(spilled.arrivals())
            at = milliseconds(log.now())
            return Proposal(
                kind="history",
                clock=after,
                note={"rows": spilled.rows, "sources": [source]},
                actions=[file.as_action(at) for file in files],
                files=[file.path for file in files],
            )

        done = log.commit(propose)
        assert done is not None
        number, proposal = done
        return Appended(log.topic.name, number, spilled.rows, instant(proposal.clock.watermark), behind)


def _spill(log: TopicLog, batches: Iterable[pa.Table], folder: Path, source: str) -> _Spilled:
    paths: list[Path] = []
    rows, newest = 0, 0
    for batch in batches:
        if batch.num_rows:
            path = folder / f"{len(paths)}.arrow"
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema, options=_SPILL) as writer:
                writer.write_table(batch.combine_chunks())
            paths.append(path)
            rows += batch.num_rows
            arrivals = arrivals_of(log.topic, [Request.of(batch, source, 0)])
            newest = max(newest, int(arrivals.marks.max()))
    return _Spilled(paths, rows, newest, source, microseconds(log.now()))


def _write_parts(log: TopicLog, spilled: _Spilled, number: int, clock: Clock) -> tuple[list[DataFile], int]:
    """Stamp every part for this number and write it; returns the files and how many rows are behind the watermark."""
    files, start, behind = [], 0, 0
    for rows in spilled.parts():
        request = Request.of(rows, spilled.source, max(spilled.arrived, clock.arrived))
        stamped = stamp_history(log.topic, number, request, clock.watermark, start)
        files.append(write_file(log.storage, stamped, measured_columns(log.topic)))
        behind += int(np.count_nonzero(times_of(log.topic, rows) < clock.watermark))
        start += rows.num_rows
    return files, behind
