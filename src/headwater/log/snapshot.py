"""Which data files and columns make up a topic, as of some entry of its log.

A snapshot is folded from the log's entries, starting at the newest checkpoint. It can be carried on entry by entry, so
that following a log never reads it again from the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from deltalake.exceptions import DeltaError

from headwater.errors import LogDamaged
from headwater.log.datafile import DataFile, measured_columns
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
        _apply(files, entry, topic)
        number = entry.number
        recorded = next((Recorded.from_action(found) for found in entry.of("metaData")), recorded)
    return snapshot if number == snapshot.number else Snapshot(number, files, recorded)


def _apply(files: dict[str, DataFile], entry: Entry, topic: Topic) -> None:
    for removed in entry.of("remove"):
        files.pop(removed["path"], None)
    for added in entry.of("add"):
        files[added["path"]] = DataFile.from_action(added, topic)


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
    files = {action["path"]: _from_row(action, topic) for action in actions}
    return Snapshot(table.version(), files, Recorded.from_table(table))


def _from_row(action: Mapping[str, Any], topic: Topic) -> DataFile:
    least, greatest = ({name: action[f"{side}.{name}"] for name in measured_columns(topic)} for side in ("min", "max"))
    return DataFile(action["path"], action["size_bytes"], action["num_records"], least, greatest)
