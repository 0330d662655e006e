"""Keeping a log fast: checkpoints, compaction, letting go of what is no longer needed.

It is `deltalake`'s work. Maintenance entries carry no clock, because `deltalake` may commit them behind rows that came
in meanwhile; whoever opens a log looks for the newest entry that has one. So that there always is one, the clock is
repeated in an entry of its own before old entries are let go.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from deltalake import DeltaTable, PostCommitHookProperties, WriterProperties

from headwater.log.datafile import ROW_GROUP
from headwater.log.journal import Proposal, milliseconds
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
"""How long entries are kept one by one; older ones live on in the checkpoint."""
KEEP_REPLACED = timedelta(days=7)
"""How long files that compaction has replaced are kept, for readers that still hold their names."""


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
    """Merge small files into larger ones; returns how many files went into others."""
    metrics = _table(log).optimize.compact(
        target_size=target_size,
        max_concurrent_tasks=1,
        writer_properties=WriterProperties(compression="ZSTD", max_row_group_size=ROW_GROUP),
        post_commithook_properties=PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False),
    )
    return int(metrics["numFilesRemoved"])


def checkpoint(log: TopicLog) -> None:
    """Write the state of the log as one file, so that opening it reads few entries."""
    _table(log).create_checkpoint()


def clean(log: TopicLog) -> int:
    """Delete files that the log no longer refers to and entries that a checkpoint covers; returns how many files."""
    log.commit(lambda _, clock: Proposal("maintenance", clock, {"rows": 0}, (), "CARRY CLOCK"))
    checkpoint(log)
    table = _table(log)
    table.cleanup_metadata()
    hours = int(KEEP_REPLACED.total_seconds() // 3600)
    return len(table.vacuum(retention_hours=hours, dry_run=False, full=True))  # also what a crash left behind


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


def _table(log: TopicLog) -> DeltaTable:
    return DeltaTable(log.storage.url, storage_options=log.storage.options)
