"""One Delta table: its state, folded from its entries, and the next entry, written if nobody else was faster.

The *state* of a table is what its newest entry leaves behind: the data files, the metadata, and Headwater's newest
note. It is carried on entry by entry; the newest one that is known is read again each time, so that a table that was
deleted, or deleted and made again, is noticed.

Entries and files are checked as those of the log are: by seals and links, by the witness of the newest one, by density
and by the checksums in the names of files. What isn't as it was written is refused with `LogDamaged`.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headwater.errors import LogDamaged
from headwater.log.datafile import DataFile
from headwater.log.entry import FOLDER, Action, Entry, EntryLog
from headwater.log.integrity import FileAltered, open_checked
from headwater.log.storage import Storage
from headwater.log.witness import Witness


@dataclass(frozen=True)
class State:
    """A table as of an entry; number −1: there is no table. `files` are the `add` actions, by path."""

    number: int = -1
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    note: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    newest: Entry | None = None

    @property
    def paths(self) -> list[str]:
        """The data files in the order in which their rows were added."""
        return sorted(self.files)

    def after(self, entry: Entry) -> State:
        """The state that an entry leaves behind."""
        files = dict(self.files)
        for removed in entry.of("remove"):
            files.pop(removed["path"], None)
        files.update((added["path"], added) for added in entry.of("add"))
        metadata = next(entry.of("metaData"), self.metadata)
        protocol = next(entry.of("protocol"), self.protocol)
        return State(entry.number, files, self.note if entry.note is None else entry.note, metadata, protocol, entry)


class Table:
    """A Delta table in a folder. Thread-safe; several processes may hold one each on the same folder."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.entries = self._entries()
        self.witness = Witness(storage)
        self._state = State()
        self._checkpointed: int | None = None
        self._guard = threading.Lock()

    def state(self) -> State:
        """The newest state."""
        with self._guard:
            state = self._state
            if state.newest is None or not self._is_there(state):
                state = self._loaded()
            for entry in self.entries.after(state.number):
                state = state.after(entry)
            self.entries.refuse_hole_behind(state.number)
            self._state = state
            return state

    def _is_there(self, state: State) -> bool:
        """Tells whether the newest entry that is known is the one there; if not, nothing is known any more."""
        try:
            if self.entries.read(state.number) == state.newest:
                return True
        except LogDamaged:  # it doesn't follow what was read before: that may have been another table
            pass
        self.entries, self._checkpointed = self._entries(), None
        return False

    def _entries(self) -> EntryLog:
        return EntryLog(self.storage, required=("kind",))

    def commit(self, state: State, note: Mapping[str, Any], actions: Sequence[Action], operation: str, at: int) -> bool:
        """Write the entry after a state, durably; False if another writer was faster. `at` is in milliseconds."""
        number = state.number + 1
        if not self.entries.write(number, dict(note), actions, operation=operation, at=at):
            return False
        self.witness.note(number, self.entries.seal_at(number) or "")
        return True

    def at(self, number: int) -> Entry:
        """The entry of a number that is kept; `LogDamaged` if it isn't there."""
        entry = self.entries.read(number)
        if entry is None:
            raise self.entries.damage.missing(number, number, f"Entry {self._state.number} is there.")
        return entry

    def rows(self, add: Mapping[str, Any], columns: list[str] | None = None) -> pa.Table:
        """The rows of a file, or some of their columns; `FileNotFoundError` if it is gone."""
        return self.read(add["path"], add["size"], columns)

    def read(self, path: str, size: int, columns: list[str] | None = None) -> pa.Table:
        """The rows of a file that an entry names."""
        url = f"{self.storage.url}/{path}"
        try:
            with open_checked(self.storage, DataFile(path, size, 0, {}, {})) as source:
                return pq.ParquetFile(source).read(columns=columns)
        except FileNotFoundError as cause:
            raise FileNotFoundError(errno.ENOENT, "the file is missing", url) from cause
        except (FileAltered, pa.ArrowInvalid) as cause:
            reason = str(cause)
            detail = f"{reason[:1].upper()}{reason[1:]}."
            raise LogDamaged(f'the file "{url}" is damaged', detail=detail, path=url) from cause

    def _loaded(self) -> State:
        """The state as of the newest checkpoint, or before the first entry; what is behind it must be there."""
        seen, head = self.witness.read(), self.entries.head()
        if seen is not None:
            seen.require(self.entries, -1 if head is None else head)
        number = self.entries.checkpoint()
        data = None if number is None else self.storage.read(f"{FOLDER}/{number:020d}.checkpoint.parquet")
        entry = None if number is None else self.entries.read(number)
        if number is None or data is None or entry is None:
            return State()
        columns = pq.read_table(pa.BufferReader(data), columns=["add", "metaData", "protocol"]).to_pydict()
        actions = {name: [action for action in column if action is not None] for name, column in columns.items()}
        files = {add["path"]: _plain(add) for add in actions["add"]}
        metadata, protocol = _plain(actions["metaData"][0]), _plain(actions["protocol"][0])
        return State(number, files, self._note(entry), metadata, protocol, entry)

    def _note(self, entry: Entry) -> Mapping[str, Any]:
        """The newest note of ours, at an entry or before it: maintenance by other tools leaves none."""
        older: Entry | None = entry
        while older is not None and older.note is None:
            older = self.entries.read(older.number - 1)
        return older.note if older is not None and older.note is not None else {}

    @property
    def checkpointed(self) -> int:
        """The entry up to which the newest checkpoint that this process knows of has the state."""
        if self._checkpointed is None:
            self._checkpointed = self.entries.last_checkpoint() or 0
        return self._checkpointed

    def checkpoint(self) -> None:
        """Write the state as one file, so that opening the table reads few entries."""
        table = self.entries.table()
        table.create_checkpoint()
        self.entries.note_checkpoint(table.version())
        self._checkpointed = int(table.version())


def _plain(action: Mapping[str, Any]) -> dict[str, Any]:
    """An action of a checkpoint as an entry has it: maps are objects, and what isn't there is left out."""
    plain = {name: value for name, value in action.items() if value is not None}
    for name in ("partitionValues", "configuration", "tags"):
        with suppress(KeyError):
            plain[name] = dict(plain[name])
    return plain
