"""The data files and columns that make up a topic, as of some entry of its log.

A snapshot is folded from the log's entries, starting at the newest checkpoint. It can be carried on entry by entry, so
that following a log never reads it again from the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from headwater.log.datafile import DataFile, named_today
from headwater.log.entry import Entry, EntryLog
from headwater.log.evolution import as_read
from headwater.log.schema import Recorded
from headwater.model import Topic


@dataclass(frozen=True)
class Snapshot:
    """The files that hold the rows up to entry `number` (-1: before the log began).

    `recorded` is what the log says of its columns, `read` the same as the declaration of today has them.
    """

    number: int = -1
    files: Mapping[str, DataFile] = field(default_factory=dict)
    recorded: Recorded | None = None
    read: Recorded | None = None

    def between(self, first: int, last: int) -> list[DataFile]:
        """The files that may have rows of the commits from `first` to `last`, in the order of their first commit."""
        files = (file for file in self.files.values() if file.commits[1] >= first and file.commits[0] <= last)
        return sorted(files, key=lambda file: file.commits)

    def are_alike(self, one: DataFile, other: DataFile) -> bool:
        """Tells whether two files were written in one shape with the same columns, so that they may become one."""
        assert self.recorded is not None, "it has files"
        columns = (self.recorded.written_at(file.commits[0]) for file in (one, other))
        return one.past == other.past and next(columns) == next(columns)


def load(entries: EntryLog, topic: Topic) -> Snapshot:
    """The newest snapshot; each entry behind the newest checkpoint must be there."""
    head, base = entries.head(), entries.base()
    begin = Snapshot() if base is None else _read_today(_from_checkpoint(base, entries, topic), topic)
    snapshot = advance(begin, entries, topic)
    if head is not None and snapshot.number < head:
        raise entries.damage.missing(snapshot.number + 1, head, f"Entry {head} was there.")
    return snapshot


def advance(snapshot: Snapshot, entries: EntryLog, topic: Topic) -> Snapshot:
    """The snapshot carried on to the end of the log; the same one if there is nothing new."""
    files, number, recorded, added = dict(snapshot.files), snapshot.number, snapshot.recorded, set[str]()
    for entry in entries.after(snapshot.number):
        for action in entry.of("metaData"):
            recorded = Recorded.from_action(action)
        try:
            added |= _apply(files, entry, topic)
        except (KeyError, ValueError, TypeError, StopIteration) as cause:
            detail = f"It doesn't say what a data file holds: {cause!r}."
            raise entries.damage.entry(entry.number, "is damaged", detail) from cause
        number = entry.number
    if number == snapshot.number:
        return snapshot
    if recorded is snapshot.recorded:
        marked = {path: _marked(files[path], snapshot.read, topic) for path in added & files.keys()}
        return Snapshot(number, files | marked, recorded, snapshot.read)
    return _read_today(Snapshot(number, files, recorded), topic)


def _apply(files: dict[str, DataFile], entry: Entry, topic: Topic) -> set[str]:
    """Take in what an entry says of files; returns the paths of those that it adds."""
    for removed in entry.of("remove"):
        files.pop(removed["path"], None)
    added = {action["path"]: DataFile.from_action(action, topic) for action in entry.of("add")}
    files.update(added)
    return set(added)


def _read_today(snapshot: Snapshot, topic: Topic) -> Snapshot:
    """The snapshot with files that are read as the declaration of today has them."""
    read = as_read(topic, snapshot.recorded) if snapshot.recorded else None
    files = {path: _marked(file, read, topic) for path, file in snapshot.files.items()}
    return replace(snapshot, files=files, read=read)


def _marked(file: DataFile, read: Recorded | None, topic: Topic) -> DataFile:
    """The file, and how it is read if it is past; no file has rows of two shapes."""
    past = None if read is None or read.is_plain else read.past(file.commits[0], topic)
    return file if past == file.past else replace(file, past=past)


def _from_checkpoint(table: DeltaTable, entries: EntryLog, topic: Topic) -> Snapshot:
    try:
        actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        recorded = Recorded.from_table(table)
        files = {action["path"]: _from_row(action, topic) for action in actions}
    except (DeltaError, OSError, KeyError, ValueError, TypeError, StopIteration) as cause:
        raise entries.damage.checkpoint(table.version(), f"{cause}.") from cause
    return Snapshot(table.version(), files, recorded)


def _from_row(action: Mapping[str, Any], topic: Topic) -> DataFile:
    least, greatest = (named_today(_measured(action, f"{side}."), topic) for side in ("min", "max"))
    return DataFile(action["path"], action["size_bytes"], action["num_records"], least, greatest)


def _measured(action: Mapping[str, Any], side: str) -> dict[str, Any]:
    """The least or greatest values of a file's columns, of those that it has."""
    values = {name.removeprefix(side): value for name, value in action.items() if name.startswith(side)}
    return {name: value for name, value in values.items() if value is not None}
