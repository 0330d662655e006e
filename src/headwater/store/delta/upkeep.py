"""Keeping a version's table fast: small files are merged, the state is written as one file, what is old is deleted.

All of it is done by the run that holds the epoch, after a batch. A run that stops in between leaves what the next one
deletes: entries go last, and deleting starts at the oldest entry that is there.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa
from deltalake.exceptions import DeltaError

from headwater.log.entry import path_of
from headwater.log.journal import milliseconds
from headwater.store.delta.files import LARGEST, removed, write_merged
from headwater.store.delta.names import CHANGES, number_of
from headwater.store.delta.note import Note
from headwater.store.delta.table import State, Table

_logger = logging.getLogger("headwater.store")
CHECKPOINT_EVERY = 100
"""Entries between two checkpoints."""
SMALL_FILES = 24
"""The number of small that files there may be before they are merged."""


def compact(table: Table, state: State, at: int) -> None:
    """Merge small files that follow each other, if there are many; nothing if another writer is faster."""
    for files in list(_runs(state)):
        rows = pa.concat_tables([table.rows(add) for add in files])
        merged = write_merged(table.storage, files[0]["path"], rows, at)
        actions = [*({"remove": removed(add, at, data_change=False)} for add in files), {"add": merged}]
        if not table.commit(state, Note.read(state.note).spell("merge"), actions, "OPTIMIZE", at):
            table.storage.delete(merged["path"])
            return
        state = table.state()


def _runs(state: State) -> Iterator[list[Mapping[str, Any]]]:
    """Files of ours that follow each other and make one of at most the largest size."""
    counts = [(state.files[path], _rows(state.files[path])) for path in state.paths]
    if sum(number_of(add["path"]) >= 0 and 2 * rows < LARGEST for add, rows in counts) < SMALL_FILES:
        return
    run: list[Mapping[str, Any]] = []
    size = 0
    for add, rows in [*counts, ({"path": ""}, LARGEST)]:
        if size + rows > LARGEST or number_of(add["path"]) < 0:
            if len(run) > 1:
                yield run
            run, size = [], 0
        if number_of(add["path"]) >= 0 and rows < LARGEST:
            run.append(add)
            size += rows


def _rows(add: Mapping[str, Any]) -> int:
    return int(json.loads(add.get("stats") or "{}").get("numRecords", LARGEST))


def trimmed(table: Table, note: Note, before: datetime) -> Note:
    """The note without the changes of batches that were applied before an instant."""
    trimmed, kept, limit = note.trimmed, note.kept, milliseconds(before)
    while (entry := table.entries.read(kept)) is not None and entry.info.get("timestamp", 0) < limit:
        own = entry.note or {}
        if own.get("changed"):
            trimmed = own["position"][0]
        kept += 1
    return replace(note, trimmed=trimmed, kept=kept)


def tidy(table: Table, number: int, before: datetime, kept: int | None = None) -> None:
    """Every so many entries: write a checkpoint, and delete the entries from before an instant.

    A table that has files of its own says from which entry on they are `kept`: what earlier ones removed goes too.
    """
    if number // CHECKPOINT_EVERY <= table.checkpointed // CHECKPOINT_EVERY or not table.storage.sees_deltalake:
        return
    try:
        table.checkpoint()
    except (DeltaError, OSError) as failed:  # the table works without; the next round tries again
        _logger.warning("a checkpoint of %s failed and will be tried again: %s", table.storage.url, failed)
        return
    for old in range(table.entries.first(), table.checkpointed if kept is None else min(kept, table.checkpointed)):
        entry = table.entries.read(old)
        if entry is None or entry.info.get("timestamp", 0) >= milliseconds(before):
            return
        for action in [] if kept is None else [*entry.of("remove"), *entry.of("cdc")]:
            table.storage.delete(action["path"])
        table.storage.delete(path_of(old))


def sweep(table: Table, number: int) -> None:
    """Delete the files that were written for an entry by a run that stopped before it wrote the entry."""
    for folder in ("", CHANGES):
        for name in table.storage.list(folder):
            if number_of(name) == number:
                table.storage.delete(f"{folder}/{name}" if folder else name)


def wipe(table: Table) -> None:
    """Delete every file of rows and changes."""
    for folder in ("", CHANGES):
        for name in table.storage.list(folder):
            if number_of(name) >= 0:
                table.storage.delete(f"{folder}/{name}" if folder else name)
