"""The witness of a log's head: that its newest entry was there, though its file may be gone.

A chain shows that an entry in the middle is missing or altered; nothing follows the last one. So every commit is noted
beside the log as well, without waiting for the disk. A witness that can't be read says nothing, and is written anew.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta

from headwater.log.entry import BESIDE, EntryLog
from headwater.log.seal import noted, read_note
from headwater.log.storage import Storage

PATH = f"{BESIDE}/head"
_KIND = "head"
FAR_EVERY = timedelta(minutes=1)
"""The interval at which the head of a log in an object store is noted, where a note takes as long as a commit."""


@dataclass(frozen=True)
class Witnessed:
    """An entry that was there, and what it was known by."""

    number: int
    seal: str

    def as_bytes(self) -> bytes:
        """As it is noted; always of the same length, so that one is written over another."""
        return noted(_KIND, f"{self.number:020d} {self.seal}")

    @classmethod
    def from_bytes(cls, data: bytes | None) -> Witnessed | None:
        """The head that was noted; None if none was, or not whole."""
        number, _, seal = (read_note(_KIND, data) or "").partition(" ")
        return cls(int(number), seal) if seal else None

    def require(self, entries: EntryLog, head: int) -> None:
        """Refuse entries whose end is gone, or another than it was; `head` is the newest that is there."""
        if self.number > head:
            seen_at = f"Entry {self.number} was there, as {entries.storage.url}/{PATH} says."
            raise entries.damage.missing(head + 1, self.number, seen_at)
        seal = entries.seal_at(self.number)
        if seal not in (None, self.seal):
            detail = f"It was sealed as {self.seal}, and is now as {seal}."
            raise entries.damage.entry(self.number, "was replaced", detail)


class Witness:
    """Notes the head of one log."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._far = "://" in storage.url
        self._noted_at = 0.0

    def note(self, number: int, seal: str) -> None:
        """Note that an entry is there."""
        if self._far and time.monotonic() - self._noted_at < FAR_EVERY.total_seconds():
            return
        self._noted_at = time.monotonic()
        self._storage.jot(PATH, Witnessed(number, seal).as_bytes())

    def read(self) -> Witnessed | None:
        """The newest entry that was noted."""
        return Witnessed.from_bytes(self._storage.read(PATH))
