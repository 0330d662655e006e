"""Taking the next number: the whole concurrency protocol of the log.

A *proposal* is a commit in the making: made for one number and one state of the clock. It is written as that entry if
the number is still free. If another writer has taken it, what that writer wrote is taken in, a new proposal is made
for the next number, and so on. Nothing else coordinates writers, be they threads, processes or machines.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from headwater.errors import LogDamaged, LogUnavailable, TopicBusy, TopicChanged
from headwater.log import evolution, schema
from headwater.log.clock import Clock, Rules
from headwater.log.counts import Counts, total_of, with_total
from headwater.log.entry import BESIDE, FOLDER, Action, Entry, EntryLog, Kind, path_of
from headwater.log.producer import Producers
from headwater.log.snapshot import Snapshot, advance, load
from headwater.log.storage import Storage
from headwater.log.witness import Witness
from headwater.model import Topic

Now = Callable[[], datetime]
TRIES = 1000
"""The numbers that an append may lose to other writers before it gives up; each loss is another writer's success."""
TRUSTED = timedelta(hours=1)
"""The time for which the known head is gone on from; far shorter than entries are kept (`maintenance.KEEP_ENTRIES`)."""
LISTED = timedelta(minutes=1)
"""The interval of looking for entries behind a missing one; the missing one alone would look like the log's end."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Proposal:
    """A commit in the making. `files` were written for it, and are deleted if the number turns out to be taken."""

    kind: Kind
    clock: Clock
    note: Mapping[str, Any] = field(default_factory=dict)
    actions: Sequence[Action] = ()
    operation: str = "WRITE"
    files: Sequence[str] = ()


class Journal:
    """The head of a topic's log, as this process knows it: its number, its clock, its producers. Not thread-safe."""

    def __init__(self, topic: Topic, storage: Storage, now: Now) -> None:
        self.topic = topic
        self.entries = EntryLog(storage, topic.name, required=("kind", "clock"))
        self.witness = Witness(storage)
        self.producers = Producers(self.entries)
        self.now = now
        self.head = -1
        self.clock = Clock(Rules.of(topic))
        self.unknown: Counts = {}
        self._snapshot = Snapshot()
        self.listeners: set[Callable[[int], object]] = set()
        self._shape: int | None = None
        self._written_as: int | None = None
        self._known_at = time.time()
        self._listed_at = self._known_at

    def refresh(self) -> None:
        """Take in what other writers have committed since."""
        self._forget_if_old()
        if self.head < 0:
            self._find_head()
        for entry in self.entries.after(self.head):
            self._learn(entry)
        if self._known_at - self._listed_at > LISTED.total_seconds():
            self._listed_at = self._known_at
            self.entries.refuse_hole_behind(self.head, listed=True)

    def _forget_if_old(self) -> None:
        """Find the head anew after a long silence: entries behind the one known may have been let go of since.

        Else the number after it would look free, and a commit there would be lost in the middle of the log.
        """
        now, known_at = time.time(), self._known_at
        self._known_at = now
        if now - known_at > TRUSTED.total_seconds():
            self.head = -1
            self.producers = Producers(self.entries)
            self._snapshot = Snapshot()
            self._shape = None

    def snapshot(self) -> Snapshot:
        """The data files as of now."""
        self._forget_if_old()
        begin = self._snapshot.number < 0
        if self.head < 0:
            self.refresh()
        self._snapshot = load(self.entries, self.topic) if begin else advance(self._snapshot, self.entries, self.topic)
        return self._snapshot

    def forget_snapshot(self) -> None:
        """Read the snapshot anew next time: its files have been replaced."""
        self._snapshot = Snapshot()

    def prepare(self) -> None:
        """Make the log ready for commits: create it, or note what the declaration has changed about its columns."""
        self.refresh()
        if self.head < 0:
            at = milliseconds(self.now())
            self._write(0, Proposal("create", self.clock, {}, schema.creation(self.topic, at), "CREATE TABLE"))
            self.refresh()
        self._written_as = None
        self.commit(self._evolution)
        self._written_as = self._shape = self._recorded().shape.first

    def _evolution(self, number: int, clock: Clock) -> Proposal | None:
        change = evolution.evolved(self.topic, self._recorded(), number)
        if change is None:
            return None
        return Proposal("schema", clock, {}, [change.as_action(self.topic, milliseconds(self.now()))], "CHANGE COLUMNS")

    def _recorded(self) -> schema.Recorded:
        recorded = self.snapshot().recorded
        if recorded is None:
            raise self._damaged("No entry says which columns it has.")
        return recorded

    def _refuse_outdated(self) -> None:
        """Refuse to write in a shape that rows have no longer: another process has a newer declaration."""
        if self._written_as is None:
            return
        if self._shape is None:
            self._shape = self._recorded().shape.first
        if self._shape != self._written_as:
            raise TopicChanged(
                f'the declaration of "{self.topic.name}" was changed by another process',
                detail=f"Entry {self._shape} of its log says how rows are written since. Nothing was appended.",
                hint="Start this process again with the declaration that the other one has.",
                origin=self.topic.origin,
                topic=self.topic.name,
            )

    def commit(self, propose: Callable[[int, Clock], Proposal | None]) -> tuple[int, Proposal] | None:
        """Commit what `propose` makes of the next free number; None if it has nothing (any more) to commit."""
        with self.entries.storage.queue() as waited:
            if waited or time.time() - self._known_at > TRUSTED.total_seconds():
                self.refresh()
            if waited:
                self.entries.refuse_hole_behind(self.head)
            return self._commit(propose, alone=waited)

    def _commit(self, propose: Callable[[int, Clock], Proposal | None], *, alone: bool) -> tuple[int, Proposal] | None:
        for lost in range(TRIES):
            self._refuse_outdated()
            number = self.head + 1
            proposal = propose(number, self.clock)
            if proposal is None:
                return None
            try:
                if self._write(number, proposal):
                    return number, proposal
            except LogUnavailable:
                if alone:
                    self._let_go_unless_committed(number, proposal)
                raise
            self._let_go(proposal)
            time.sleep(random.uniform(0, min(lost, 20)) / 1000)  # noqa: S311  # spreads writers out, guards nothing
            self.refresh()
        raise TopicBusy(
            f'the log of "{self.topic.name}" was too busy to append to',
            detail=f"Other writers took the next commit {TRIES} times in a row. Nothing was appended.",
            hint="Repeat the call, or let fewer writers append larger batches.",
            topic=self.topic.name,
        )

    def _let_go_unless_committed(self, number: int, proposal: Proposal) -> None:
        """Let a commit that has failed leave nothing on a disk, which may be full; not if its entry is there."""
        with suppress(LogUnavailable):
            if self.entries.storage.read(path_of(number)) is None:
                self._let_go(proposal)

    def _let_go(self, proposal: Proposal) -> None:
        for path in proposal.files:
            self.entries.storage.delete(path)

    def _write(self, number: int, proposal: Proposal) -> bool:
        told = with_total(proposal.note, self.unknown)
        note = {"kind": proposal.kind, **told, "clock": proposal.clock.as_note()}
        at = milliseconds(self.now())
        if not self.entries.write(number, note, proposal.actions, operation=proposal.operation, at=at):
            return False
        self._learn_own(number, proposal)
        self.unknown = total_of(told)
        return True

    def _learn_own(self, number: int, proposal: Proposal) -> None:
        self.head, self.clock = number, proposal.clock
        self.witness.note(number, self.entries.seal_at(number) or "")
        self.producers.learn(number, proposal.note)
        for told in tuple(self.listeners):
            told(number)

    def _learn(self, entry: Entry) -> None:
        self.head = entry.number
        for action in entry.of("metaData"):
            self._shape = schema.Recorded.from_action(action).shape.first
        if entry.note is not None:
            self.producers.learn(entry.number, entry.note)
            self.clock = Clock.from_note(self.clock.rules, entry.note["clock"])
            self.unknown = total_of(entry.note)

    def _find_head(self) -> None:
        """Start at the newest entry; the clock is in the newest one that is not maintenance."""
        seen = self.witness.read()  # before the entries: what is noted meanwhile is not missing
        newest = self.entries.head()
        if newest is None:
            foreign = self._foreign_names()
            newest = self.entries.head() if foreign else None  # another writer may have begun the log meanwhile
            if newest is None and foreign:
                raise self._damaged(f"It holds {foreign[0]}, and no entries.")
        if seen is not None:
            seen.require(self.entries, -1 if newest is None else newest)
        self.entries.seal_at((-1 if newest is None else newest) - 1)  # the newest is checked against the one before
        for number in range(-1 if newest is None else newest, -1, -1):
            entry = self.entries.read(number)
            if entry is None:
                raise self.entries.damage.missing(number, number, f"Entry {newest} is there.")
            if entry.note is not None:
                self._learn(entry)
                break
        else:
            if newest is not None:
                raise self._damaged("It has no entry that Headwater wrote.")
        self.head = -1 if newest is None else newest

    def _foreign_names(self) -> list[str]:
        """The names that lie where a log would be; the folder of entries may be there, and empty, after a crash."""
        names = self.entries.storage.list("")
        return [name for name in names if not name.startswith((".", FOLDER, BESIDE))]

    def _damaged(self, detail: str) -> LogDamaged:
        url = self.entries.storage.url
        return LogDamaged(
            f'"{url}" is not the log of a topic',
            detail=f"{detail} It is left as it is.",
            hint="Move the folder away if it is not needed, or restore its _delta_log from a copy.",
            path=url,
        )


def microseconds(at: datetime) -> int:
    """An instant as the clock counts; a time without a zone is taken as UTC."""
    return ((at.replace(tzinfo=UTC) if at.tzinfo is None else at) - _EPOCH) // timedelta(microseconds=1)


def milliseconds(at: datetime) -> int:
    """An instant as Delta counts."""
    return microseconds(at) // 1000


def instant(count: int) -> datetime:
    """The instant of a count of microseconds."""
    return _EPOCH + timedelta(microseconds=count)
