"""The Delta log of a topic: numbered entries, each one atomic commit.

An *entry* is a file `_delta_log/<number>.json` of *actions*, as the Delta protocol has them: `add` and `remove` name
data files, `txn` a producer's sequence, `metaData` the schema, `commitInfo` says who wrote it. Headwater's own part of
an entry, its *note*, is a JSON text under `commitInfo.headwater`: the kind of commit, its rows, and the clock after it.

Entries are written here and not through `deltalake`, for three reasons that docs/design/20261115_the-log.md measures:
an entry must be on the disk before its name exists, its number is decided by us, and its cost must not grow with the
log. `deltalake` does the rest: checkpoints, finding files that nobody refers to, and reading the log for other tools.

Entries are *dense*, sealed and linked (`log.seal`): one that is missing, empty, foreign, altered or in another's place
is refused by its number, and nothing behind it is read or written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from headwater.errors import LogDamaged
from headwater.log.damage import Damage
from headwater.log.seal import checksum, hash_of, noted, read_note, seal, seal_of
from headwater.log.storage import Storage

Kind = Literal["create", "append", "history", "tick", "schema", "trim", "lost", "position", "derived", "maintenance"]
Action = dict[str, Any]

FOLDER = "_delta_log"
BESIDE = "_headwater"
"""The folder of what helps to check a log and is no part of it; Delta's readers pass over it."""
ENGINE = "headwater"
_ENTRY = re.compile(r"^(\d{20})\.json$")
_CHECKPOINT = re.compile(r"^(\d{20})\.checkpoint.*\.parquet$")
_ACTIONS = frozenset({"add", "remove", "txn", "metaData", "protocol", "commitInfo", "cdc", "domainMetadata"})
_STATE = "checkpoint"
_REMEMBERED = 4096
"""Of how many entries the seals are remembered, to check the links of those that are read next."""


@dataclass(frozen=True)
class Entry:
    """One entry of the log as it was read."""

    number: int
    actions: tuple[Action, ...]
    seal: str = ""
    """The seal that the entry carries, or the hash of its bytes: it is known by that."""

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
        """The kind of the commit. An entry that changes no data is maintenance, whoever wrote it."""
        return self.note["kind"] if self.note else "maintenance"

    @property
    def changes_data(self) -> bool:
        """Tells whether rows were added or removed."""
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
    """The entries of one topic. Many of them, in many processes, may stand on one storage.

    `required` names what the note of every entry must have. All that it remembers is the seals of what it has read.
    """

    def __init__(self, storage: Storage, name: str = "", required: Sequence[str] = ()) -> None:
        self.storage = storage
        self.damage = Damage(storage.url, name)
        self._required = required
        self._seals: list[tuple[int, str]] = [(-2, "")] * _REMEMBERED

    def write(self, number: int, note: dict[str, Any], actions: Sequence[Action], *, operation: str, at: int) -> bool:
        """Commit these actions as entry `number`, durably, if no other has taken the number; tell whether it was free.

        `at` is the wall clock in whole milliseconds since 1970.
        """
        before = self.seal_at(number - 1)
        info = {
            "timestamp": at,
            "operation": operation,
            "operationParameters": {},
            "engineInfo": ENGINE,
            ENGINE: json.dumps({**note, "number": number, "previous": before}, separators=(",", ":")),
        }
        data, sealed = seal(info, actions)
        free = self.storage.write_new(path_of(number), data)
        if free:
            self._remember(number, sealed)
        return free

    def read(self, number: int) -> Entry | None:
        """The entry of that number, or None where the log ends (or has let go of it)."""
        data = self.storage.read(path_of(number))
        if data is None:
            return None
        entry = self._checked(number, data)
        self._remember(number, f"{entry.seal} {(entry.note or {}).get('stands_for') or ''}".rstrip())
        return entry

    def seal_at(self, number: int) -> str | None:
        """The seal that an entry is known by; None if there is none."""
        known, sealed = self._seals[number % _REMEMBERED]
        if number < 0:
            return None
        if known == number:
            return sealed.partition(" ")[0]
        entry = self.read(number)
        return entry.seal if entry else None

    def _remember(self, number: int, sealed: str) -> None:
        self._seals[number % _REMEMBERED] = (number, sealed)

    def _checked(self, number: int, data: bytes) -> Entry:
        """The entry, if it is what was written: whole, unaltered, of this number, and linked to the one before."""
        if not data.strip():
            raise self.damage.entry(number, "is empty")
        seals = seal_of(data)
        if seals and seals[0] != seals[1]:
            raise self.damage.entry(number, "is altered", f"It is sealed as {seals[0]}, and its bytes have {seals[1]}.")
        try:
            entry = Entry(number, tuple(_parse(data)), seals[0] if seals else hash_of(data))
            note = entry.note
        except (ValueError, AttributeError, TypeError) as cause:
            raise self.damage.entry(number, "is damaged", f"It is not a list of JSON actions: {cause}.") from cause
        if note is None:
            self._refuse_foreign(entry)
        else:
            self._check_note(entry, note, sealed=seals is not None)
        return entry

    def _check_note(self, entry: Entry, note: dict[str, Any], *, sealed: bool) -> None:
        missing = next((name for name in self._required if name not in note), None)
        if not sealed and "number" in note:
            raise self.damage.entry(entry.number, "is altered", "Its seal is missing.")
        if missing is not None:
            raise self.damage.entry(entry.number, "is damaged", f'Its note has no "{missing}".')
        if note.get("number", entry.number) != entry.number:
            raise self.damage.entry(entry.number, "is another one", f"It was written as entry {note['number']}.")
        known, before = self._seals[(entry.number - 1) % _REMEMBERED]
        follows = note.get("previous")
        if known == entry.number - 1 and follows not in (None, *before.split()):
            detail = f"It follows an entry that was sealed as {follows}; entry {known} is sealed as {before}."
            raise self.damage.entries(known, entry.number, "do not follow each other", detail)

    def _refuse_foreign(self, entry: Entry) -> None:
        number = entry.number
        if entry.changes_data and number > 0:
            engine = entry.info.get("engineInfo", "unknown engine")
            raise self.damage.entry(
                number,
                "was not written by Headwater",
                f"It changes rows ({engine}) that carry no stamp.",
                "Only append through Headwater. Move the foreign entry away if nothing was appended after it.",
            )
        if not any(name in _ACTIONS for action in entry.actions for name in action):
            raise self.damage.entry(number, "was not written by Headwater", "It holds no action of a Delta log.")

    def after(self, number: int) -> Iterator[Entry]:
        """The entries behind a number, in order, up to the end of the log."""
        while (entry := self.read(number + 1)) is not None:
            yield entry
            number += 1

    def head(self) -> int | None:
        """The number of the newest entry; None if there is no log here. A hole before it is refused."""
        state = self.last_checkpoint()
        numbers = self._listed(f"{state or 0:020d}")
        if not numbers and state is None:
            return None
        first = min(numbers, default=state or 0)
        if state is None and first > 0:
            state = self._newest_checkpoint()
        self._refuse_holes(0 if state is None else min(state + 1, first), numbers)
        if not numbers and state is not None:
            if self._checkpoint_sum(state) is None:
                raise self._pointer_damaged(f"there is no checkpoint {state}")
            raise self.damage.missing(state, state, f"Checkpoint {state} is there.")
        return max(numbers)

    def numbers(self) -> list[int]:
        """The numbers of all entries that are there, in order."""
        return self._listed("")

    def _listed(self, after: str) -> list[int]:
        names = self.storage.list(FOLDER, after=after)
        return [int(matched[1]) for name in names if (matched := _ENTRY.match(name))]

    def _refuse_holes(self, first: int, numbers: Sequence[int]) -> None:
        """Refuse entries that don't follow each other.

        While some are being added a listing may miss an earlier one, so each is asked for by its name.
        """
        if not numbers or len(numbers) == max(numbers) - first + 1:
            return
        there = set(numbers)
        missing = [number for number in range(first, max(numbers)) if number not in there]
        holes = [number for number in missing if self.storage.read(path_of(number)) is None]
        if holes:
            raise self.damage.missing(holes[0], holes[-1], f"Entry {max(numbers)} is there.")

    def refuse_hole_behind(self, head: int, *, listed: bool = False) -> None:
        """Refuse to go on at a head behind which the next entry is missing and later ones are there.

        The second next alone is looked for, which costs next to nothing; with `listed`, all.
        """
        if listed:
            later = self._listed(f"{head:020d}.json")
        else:
            later = [head + 2] if self.storage.looks(path_of(head + 2)) is not None else []
        if later and max(later) > head + 1:
            self._refuse_holes(head + 1, later)

    def first(self) -> int:
        """The oldest entry that is still there as a file; older ones live on in a checkpoint."""
        return min(self._listed(""), default=0)

    def table(self) -> DeltaTable:
        """The log as `deltalake` sees it, at its newest entry, each entry of which was checked.

        The version is named: while entries are being added, a listing may show a later one and miss an earlier.
        """
        head, state = self.head(), self.checkpoint()
        for number in range(0 if state is None else state + 1, (-1 if head is None else head) + 1):
            self.read(number)
        return DeltaTable(self.storage.url, version=head, storage_options=self.storage.options)

    def base(self) -> DeltaTable | None:
        """The log as of its newest checkpoint, which was checked; None if it has none, or `deltalake` can't see it."""
        number = self.checkpoint() if self.storage.sees_deltalake else None
        if number is None:
            return None
        try:
            return DeltaTable(self.storage.url, version=number, storage_options=self.storage.options)
        except (DeltaError, OSError) as cause:
            raise self.damage.checkpoint(number, f"{cause}.") from cause

    def checkpoint(self) -> int | None:
        """The number of the newest checkpoint, if it is unaltered as far as its checksum was noted."""
        number = self.last_checkpoint()
        if number is None and self.first() > 0:
            number = self._newest_checkpoint()
        if number is None:
            return None
        expected, actual = read_note(_STATE, self.storage.read(_checksum_path(number))), self._checkpoint_sum(number)
        if actual is None and expected is None:
            raise self._pointer_damaged(f"there is no checkpoint {number}")
        if expected not in (None, actual):
            what = "It is missing." if actual is None else "Its bytes are not those that were written."
            raise self.damage.checkpoint(number, what)
        return number

    def note_checkpoint(self, number: int) -> None:
        """Note the checksum of a checkpoint that was written."""
        actual = self._checkpoint_sum(number)
        if actual is not None:
            self.storage.write(_checksum_path(number), noted(_STATE, actual))

    def forget_checkpoint(self, number: int) -> None:
        """Delete a checkpoint that a later one has made superfluous; nothing if there is none."""
        if self.storage.read(_checksum_path(number)) is not None:
            for name in self._checkpoint_parts(number):
                self.storage.delete(f"{FOLDER}/{name}")
            self.storage.delete(_checksum_path(number))

    def _checkpoint_parts(self, number: int) -> list[str]:
        names = self.storage.list(FOLDER, after=f"{number:020d}.checkpoint")
        return [name for name in names if (matched := _CHECKPOINT.match(name)) and int(matched[1]) == number]

    def _checkpoint_sum(self, number: int) -> str | None:
        parts = self._checkpoint_parts(number)
        sums = [(name, checksum(self.storage.read(f"{FOLDER}/{name}") or b"")) for name in parts]
        return " ".join(f"{name} {value:08x}" for name, value in sums) if parts else None

    def _newest_checkpoint(self) -> int | None:
        names = self.storage.list(FOLDER)
        return max((int(matched[1]) for name in names if (matched := _CHECKPOINT.match(name))), default=None)

    def last_checkpoint(self) -> int | None:
        """The number up to which the newest checkpoint holds the log's state."""
        data = self.storage.read(f"{FOLDER}/_last_checkpoint")
        if data is None:
            return None
        try:
            return int(json.loads(data)["version"])
        except (ValueError, KeyError, TypeError) as cause:
            raise self._pointer_damaged(f"it does not name a version, {cause}") from cause

    def _pointer_damaged(self, reason: str) -> LogDamaged:
        return LogDamaged(
            f'the checkpoint pointer of the log at "{self.storage.url}" is damaged',
            detail=f"{FOLDER}/_last_checkpoint is only a hint: {reason}. No event is lost by that.",
            hint=f"`headwater repair {self.damage.name or 'TOPIC'}` writes it anew.",
            path=f"{self.storage.url}/{FOLDER}/_last_checkpoint",
            topic=self.damage.name,
        )


def _parse(data: bytes) -> Iterator[Action]:
    for line in data.splitlines():
        if line.strip():
            action = json.loads(line)
            if not isinstance(action, dict):
                raise ValueError("an action is an object")
            yield action


def path_of(number: int) -> str:
    """Where an entry is, relative to the topic."""
    return f"{FOLDER}/{number:020d}.json"


def _checksum_path(number: int) -> str:
    return f"{BESIDE}/{number:020d}.checkpoint"
