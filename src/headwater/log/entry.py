"""The Delta log of a topic: numbered entries, each one atomic commit.

An *entry* is a file `_delta_log/<number>.json` of *actions*, as the Delta protocol has them: `add` and `remove` name
data files, `txn` a producer's sequence, `metaData` the schema, `commitInfo` says who wrote it. Headwater's own part of
an entry, its *note*, is a JSON text under `commitInfo.headwater`: the kind of commit, its rows, and the clock after it.

Entries are written here and not through `deltalake`, for three reasons that docs/design/20261115_the-log.md measures:
an entry must be on the disk before its name exists, its number is decided by us, and its cost must not grow with the
log. `deltalake` does the rest: checkpoints, finding files that nobody refers to, and reading the log for other tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from deltalake import DeltaTable

from headwater.errors import LogDamaged
from headwater.log.storage import Storage

Kind = Literal["create", "append", "history", "tick", "schema", "trim", "position", "derived", "maintenance"]
Action = dict[str, Any]

FOLDER = "_delta_log"
ENGINE = "headwater"
_ENTRY = re.compile(r"^(\d{20})\.json$")
_CHECKPOINT = re.compile(r"^(\d{20})\.checkpoint.*\.parquet$")


@dataclass(frozen=True)
class Entry:
    """One entry of the log as it was read."""

    number: int
    actions: tuple[Action, ...]

    @cached_property
    def info(self) -> dict[str, Any]:
        """The entry's `commitInfo`."""
        return next((action["commitInfo"] for action in self.actions if "commitInfo" in action), {})

    @cached_property
    def note(self) -> dict[str, Any] | None:
        """Headwater's own part; None in an entry that maintenance or another tool wrote."""
        text = self.info.get(ENGINE)
        return json.loads(text) if isinstance(text, str) else None

    @property
    def kind(self) -> Kind:
        """What the commit did. An entry that changes no data is maintenance, whoever wrote it."""
        return self.note["kind"] if self.note else "maintenance"

    @property
    def changes_data(self) -> bool:
        """Whether rows were added or removed."""
        return any(
            action[name].get("dataChange", True)
            for action in self.actions
            for name in ("add", "remove")
            if name in action
        )

    def of(self, name: str) -> Iterator[dict[str, Any]]:
        """The actions of one name: `add`, `remove`, `txn`, `metaData`."""
        return (action[name] for action in self.actions if name in action)


class EntryLog:
    """The entries of one topic. It holds no state: many of them, in many processes, may stand on one storage."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def write(self, number: int, note: dict[str, Any], actions: Sequence[Action], *, operation: str, at: int) -> bool:
        """Commit these actions as entry `number`, durably, if no other has taken the number; tell whether it was free.

        `at` is the wall clock in whole milliseconds since 1970.
        """
        info = {
            "timestamp": at,
            "operation": operation,
            "operationParameters": {},
            "engineInfo": ENGINE,
            ENGINE: json.dumps(note, separators=(",", ":")),
        }
        lines = [json.dumps(action, separators=(",", ":")) for action in ({"commitInfo": info}, *actions)]
        return self.storage.write_new(path_of(number), "\n".join(lines).encode())

    def read(self, number: int) -> Entry | None:
        """The entry of that number, or None where the log ends (or has let go of it)."""
        data = self.storage.read(path_of(number))
        if data is None:
            return None
        entry = Entry(number, tuple(self._parse(number, data)))
        if entry.note is None and entry.changes_data and number > 0:
            raise LogDamaged(
                f'entry {number} of the log at "{self.storage.url}" was not written by Headwater',
                detail=f"It changes rows ({entry.info.get('engineInfo', 'unknown engine')}) that carry no stamp.",
                hint="Only append through Headwater. Move the foreign entry away if nothing was appended after it.",
                path=f"{self.storage.url}/{path_of(number)}",
            )
        return entry

    def _parse(self, number: int, data: bytes) -> Iterator[Action]:
        try:
            for line in data.splitlines():
                if line.strip():
                    action = json.loads(line)
                    if not isinstance(action, dict):
                        raise ValueError("an action is an object")
                    yield action
        except ValueError as cause:
            raise LogDamaged(
                f'entry {number} of the log at "{self.storage.url}" is damaged',
                detail=f"It is not a list of JSON actions: {cause}. Nothing behind it was read.",
                hint="Restore the file from a copy; the data files themselves are untouched.",
                path=f"{self.storage.url}/{path_of(number)}",
            ) from cause

    def after(self, number: int) -> Iterator[Entry]:
        """The entries behind a number, in order, up to the end of the log."""
        while (entry := self.read(number + 1)) is not None:
            yield entry
            number += 1

    def head(self) -> int | None:
        """The number of the newest entry; None if there is no log here."""
        names = self.storage.list(FOLDER, after=f"{self.last_checkpoint() or 0:020d}")
        numbers = [int(found[1]) for name in names if (found := _ENTRY.match(name))]
        return max(numbers, default=None)

    def first(self) -> int:
        """The oldest entry that is still there as a file; older ones live on in a checkpoint."""
        numbers = [int(found[1]) for name in self.storage.list(FOLDER) if (found := _ENTRY.match(name))]
        return min(numbers, default=0)

    def table(self) -> DeltaTable:
        """The log as `deltalake` sees it, at its newest entry.

        The version is named: while entries are being added, a listing may show a later one and miss an earlier.
        """
        return DeltaTable(self.storage.url, version=self.head(), storage_options=self.storage.options)

    def last_checkpoint(self) -> int | None:
        """The number up to which the newest checkpoint holds the log's state."""
        data = self.storage.read(f"{FOLDER}/_last_checkpoint")
        if data is None:
            return None
        try:
            return int(json.loads(data)["version"])
        except (ValueError, KeyError, TypeError) as cause:
            raise LogDamaged(
                f'the checkpoint pointer of the log at "{self.storage.url}" is damaged',
                detail=f"{FOLDER}/_last_checkpoint does not name a version: {cause}.",
                hint="Delete that file: the log is then read from its entries.",
                path=f"{self.storage.url}/{FOLDER}/_last_checkpoint",
            ) from cause


def path_of(number: int) -> str:
    """Where an entry is, relative to the topic."""
    return f"{FOLDER}/{number:020d}.json"
