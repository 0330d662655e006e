"""Keeping a log fast: compaction, checkpoints, letting go of what is no longer needed.

Compaction is a commit like any other: small files that follow each other are merged into one, in log order, and the
entry that swaps them carries the clock on. The work is done before a number is taken, so that a busy log neither waits
for it nor makes it fail. `deltalake` writes the checkpoints and knows which files nobody refers to.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pyarrow as pa

from headwater.log.clock import Clock
from headwater.log.datafile import DataFile, measured_columns, write_file
from headwater.log.entry import path_of
from headwater.log.journal import Proposal, milliseconds
from headwater.log.read import in_order, read_as_written
from headwater.log.topic import TopicLog

_logger = logging.getLogger("headwater.log")

CHECKPOINT_EVERY = 100
"""Commits between two checkpoints; small files are compacted at the same time."""
LARGE_EVERY = 10
SMALL_FILE = 8 * 1024 * 1024
LARGE_FILE = 128 * 1024 * 1024
"""Files are merged up to the small size, and every `LARGE_EVERY` times up to the large one: each row is rewritten a few
times, however long the log gets."""
KEEP_ENTRIES = timedelta(days=30)
"""The time for which entries are kept one by one; older ones live on in the checkpoint."""
KEEP_REPLACED = timedelta(days=7)
"""The time for which files that compaction has replaced are kept, for readers that still hold their names."""


class Maintainer:
    """Runs maintenance in the background of a process that appends, one log at a time."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="headwater-maintenance")
        self._done: dict[str, int] = {}
        self._guard = threading.Lock()

    def after(self, log: TopicLog, commit: int) -> None:
        """Say that a commit was made; maintenance follows if it is due, and never holds up the caller."""
        if not log.storage.sees_deltalake:
            return
        with self._guard:
            last = self._done.setdefault(log.storage.url, commit)
            if commit // CHECKPOINT_EVERY == last // CHECKPOINT_EVERY:
                return
            self._done[log.storage.url] = commit
        self._pool.submit(self._maintain, log, commit)

    def close(self) -> None:
        """Wait for what is under way."""
        self._pool.shutdown()

    def _maintain(self, log: TopicLog, commit: int) -> None:
        try:
            if (log.entries.last_checkpoint() or 0) // CHECKPOINT_EVERY < commit // CHECKPOINT_EVERY:
                maintain(log, commit)
        except Exception as failed:  # the log works without; the next round tries again
            _logger.warning("maintenance of %s failed and will be tried again: %s", log.storage.url, failed)


def maintain(log: TopicLog, commit: int) -> None:
    """Compact, checkpoint and clean, as is due after a commit. Safe beside any number of writers and readers."""
    large = commit // CHECKPOINT_EVERY % LARGE_EVERY == 0
    compact(log, LARGE_FILE if large else SMALL_FILE)
    checkpoint(log)
    if large:
        clean(log)


def compact(log: TopicLog, target_size: int = LARGE_FILE) -> int:
    """Merge neighbouring files that are smaller than the target; returns how many went into others."""
    return sum(_merge(log, group) for group in _neighbours(log, target_size))


def _neighbours(log: TopicLog, target_size: int) -> Iterator[list[DataFile]]:
    """Runs of at least two small files of one shape, in the order of their commits, up to about the target size."""
    group: list[DataFile] = []
    snapshot = log.snapshot()
    for file in sorted(snapshot.files.values(), key=lambda file: file.commits):
        full = sum(small.size for small in group) >= target_size
        if full or file.size >= target_size or (group and not snapshot.are_alike(group[0], file)):
            if len(group) > 1:
                yield group
            group = []
        if file.size < target_size:
            group.append(file)
    if len(group) > 1:
        yield group


def _merge(log: TopicLog, files: list[DataFile]) -> int:
    """Swap files for one that has their rows in log order, as they were written, unless another process was faster."""
    time = files[0].past.shape.time if files[0].past else None
    merged = write_file(log.storage, _as_written(log, files), measured_columns(log.topic, time))
    at = milliseconds(log.now())
    swap = [
        *({"remove": {"path": file.path, "deletionTimestamp": at, "dataChange": False}} for file in files),
        {"add": merged.as_action(at)["add"] | {"dataChange": False}},
    ]

    def propose(_: int, clock: Clock) -> Proposal | None:
        known = log.snapshot().files
        if any(file.path not in known for file in files):
            return None
        return Proposal("maintenance", clock, {"rows": 0}, swap, "OPTIMIZE")

    if log.commit(propose) is None:
        log.storage.delete(merged.path)
        return 0
    return len(files)


def _as_written(log: TopicLog, files: list[DataFile]) -> pa.Table:
    """The rows of files of one shape with every column that one of them has, in log order."""
    parts = [read_as_written(log, file) for file in files]
    return in_order(pa.concat_tables(parts, promote_options="permissive"))


def checkpoint(log: TopicLog) -> None:
    """Write the state of the log as one file, so that opening it reads few entries."""
    table = log.entries.table()
    table.create_checkpoint()
    log.entries.note_checkpoint(table.version())


def clean(log: TopicLog) -> int:
    """Delete files that the log no longer refers to and entries that a checkpoint covers; returns how many files."""
    log.commit(lambda _, clock: Proposal("maintenance", clock, {"rows": 0}, (), "CARRY CLOCK"))
    checkpoint(log)
    table = log.entries.table()
    forget_entries(log)
    hours = int(KEEP_REPLACED.total_seconds() // 3600)
    unused = table.vacuum(retention_hours=hours, full=True)  # only names them: also what a crash left behind
    for path in unused:
        log.storage.delete(path)
    return len(unused)


def forget_entries(log: TopicLog) -> int:
    """Delete entries that are old and in the newest checkpoint, the oldest first: those that stay are dense.

    `deltalake` deletes them in any order, and a crash in between would look like damage. Returns how many went.
    """
    entries, state = log.entries, log.entries.checkpoint()
    first, limit = entries.first(), milliseconds(log.now() - KEEP_ENTRIES)
    for number in range(first, state or 0):
        entry = entries.read(number)
        if entry is None or entry.info.get("timestamp", 0) >= limit:
            return number - first
        log.storage.delete(path_of(number))
        entries.forget_checkpoint(number)
    return max(0, (state or 0) - first)


def trim(log: TopicLog, before: int) -> int:
    """Let go of rows from before a commit: the explicit retention. Returns how many rows went.

    Whole files go; a file that also has later rows stays until all of its rows are old enough.
    """
    old = [file for file in log.snapshot().files.values() if file.commits[1] < before]
    if old:
        at = milliseconds(log.now())
        removed = [{"remove": {"path": f.path, "deletionTimestamp": at, "dataChange": True}} for f in old]
        log.commit(lambda _, clock: Proposal("trim", clock, {"rows": 0}, removed, "DELETE"))
    return sum(file.rows for file in old)
