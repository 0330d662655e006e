"""Which data files and columns make up a topic, as of some entry of its log.

A snapshot is folded from the log's entries, starting at the newest checkpoint. It can be carried on entry by entry, so
that following a log never reads it again from the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from deltalake.exceptions import DeltaError

from headwater.errors import LogDamaged
from headwater.log.datafile import DataFile, named_today
from headwater.log.entry import Entry, EntryLog
from headwater.log.schema import Recorded
from headwater.model import Topic


@dataclass(frozen=True)
class Snapshot:
    """The files that hold the rows up to entry `number` (-1: before the log began)."""

    number: int = -1
    files: Mapping[str, DataFile] = field(default_factory=dict)
    recorded: Recorded | None = None

    def between(self, first: int, last: int) -> list[DataFile]:
        """The files that may have rows of the commits from `first` to `last`, in the order of their first commit."""
        found = (file for file in self.files.values() if file.commits[1] >= first and file.commits[0] <= last)
        return sorted(found, key=lambda file: file.commits)


def load(entries: EntryLog, topic: Topic) -> Snapshot:
    """The newest snapshot."""
    snapshot = Snapshot()
    if entries.last_checkpoint() is not None and entries.storage.sees_deltalake:
        snapshot = _from_checkpoint(entries, topic)
    return advance(snapshot, entries, topic)


def advance(snapshot: Snapshot, entries: EntryLog, topic: Topic) -> Snapshot:
    """The snapshot carried on to the end of the log; the same one if there is nothing new."""
    files, number, recorded = dict(snapshot.files), snapshot.number, snapshot.recorded
    for entry in entries.after(snapshot.number):
        for action in entry.of("metaData"):
            recorded = Recorded.from_action(action)
            files = {path: _marked(file, recorded) for path, file in files.items()}
        _apply(files, entry, topic, recorded)
        number = entry.number
    return snapshot if number == snapshot.number else Snapshot(number, files, recorded)


def _apply(files: dict[str, DataFile], entry: Entry, topic: Topic, recorded: Recorded | None) -> None:
    for removed in entry.of("remove"):
        files.pop(removed["path"], None)
    for added in entry.of("add"):
        files[added["path"]] = _marked(DataFile.from_action(added, topic), recorded)


def _marked(file: DataFile, recorded: Recorded | None) -> DataFile:
    """The file, and how it is read if it is past; no file has rows of two shapes."""
    past = recorded.past(file.commits[0]) if recorded and len(recorded.shapes) > 1 else None
    return file if past == file.past else replace(file, past=past)


def _from_checkpoint(entries: EntryLog, topic: Topic) -> Snapshot:
    try:
        table = entries.table()
        actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    except (DeltaError, OSError) as cause:
        raise LogDamaged(
            f'the log at "{entries.storage.url}" can\'t be read from its checkpoint',
            detail=f"{cause}.",
            hint="Delete _delta_log/_last_checkpoint if its checkpoint file is gone; the entries are still there.",
            path=entries.storage.url,
        ) from cause
    recorded = Recorded.from_table(table)
    files = {action["path"]: _marked(_from_row(action, topic), recorded) for action in actions}
    return Snapshot(table.version(), files, recorded)


def _from_row(action: Mapping[str, Any], topic: Topic) -> DataFile:
    least, greatest = (named_today(_measured(action, f"{side}."), topic) for side in ("min", "max"))
    return DataFile(action["path"], action["size_bytes"], action["num_records"], least, greatest)


def _measured(action: Mapping[str, Any], side: str) -> dict[str, Any]:
    """The least or greatest values of a file's columns, of those that it has."""
    found = {name.removeprefix(side): value for name, value in action.items() if name.startswith(side)}
    return {name: value for name, value in found.items() if value is not None}
