"""Declaring commits lost: the log says so by name, with a reason, and goes on.

Rows of a data file that is gone are let go of by an entry of kind `lost`, which says how many they were. An entry that
is gone gets one in its place, which *stands for* it: the entry after it asks for the seal of the one that was there.
What was in it, rows and producers' sequences, is lost with it; how many rows isn't known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headwater.errors import ArgumentRefused, LogDamaged
from headwater.log import producer
from headwater.log.clock import Clock
from headwater.log.damage import spell_commits
from headwater.log.entry import BESIDE, FOLDER, Entry, EntryLog, path_of
from headwater.log.folded import FoldedSnapshots
from headwater.log.journal import Now, Proposal, milliseconds
from headwater.log.repair import refuse_unhurt
from headwater.log.scrub import Hurt, scrub
from headwater.log.storage import Storage
from headwater.log.topic import TopicLog
from headwater.log.witness import PATH, Witness
from headwater.model import Table, Topic

LOST_ROWS, LOST_ENTRIES = "headwater#lost-rows", "headwater#lost-entries"
"""The producers under whose names the log keeps how many rows, and how many entries, were declared lost so far."""


@dataclass(frozen=True)
class Lost:
    """The losses that a log has declared: rows of which it is known, and entries of which it isn't."""

    rows: int = 0
    entries: int = 0


def declare_lost(topic: Topic, storage: Storage, commits: Sequence[int], reason: str, now: Now) -> Lost:
    """Declare hurt commits of a log lost; returns what went with them."""
    scrubbed = scrub(storage, topic.name)
    refuse_unhurt(topic.name, scrubbed, commits)
    hurt = [each for each in scrubbed.hurt if _is_of(each, commits)]
    entries = sorted({int(each.path[-25:-5]) for each in hurt if _is_entry(each)})
    for number in entries:
        _replace_entry(storage, topic.name, number, reason, milliseconds(now()))
    files = [each.path for each in hurt if not _is_entry(each)]
    if isinstance(topic, Table):  # its state may have been folded from them
        FoldedSnapshots(topic, storage, None).forget()
    return _let_go(TopicLog(topic, storage, now=now), files, entries, reason)


def lost_of(log: TopicLog) -> Lost:
    """The losses that a log has declared so far."""
    return Lost(log.position(LOST_ROWS) or 0, log.position(LOST_ENTRIES) or 0)


def _is_entry(hurt: Hurt) -> bool:
    return hurt.path.startswith(FOLDER) and hurt.path.endswith(".json")


def _is_of(hurt: Hurt, commits: Sequence[int]) -> bool:
    first, _, last = hurt.commits.partition("-")
    return bool(first) and all(number in commits for number in range(int(first), int(last or first) + 1))


def _replace_entry(storage: Storage, name: str, number: int, reason: str, at: int) -> None:
    """Put an entry in the place of one that is gone, with the clock of the one before."""
    entries = EntryLog(storage, name)
    before, after = _clocked(entries, number - 1), _believed(entries, number + 1)
    if before is None or number == 0:
        raise ArgumentRefused(
            f'entry {number} of "{name}" can\'t be declared lost',
            detail="It says what the log is, or no entry before it has the clock. Nothing was changed.",
            hint=f"Put it back from a backup: `headwater repair {name} --from URL`.",
            topic=name,
        )
    data = storage.read(path_of(number))
    if data is not None:
        storage.write(f"{BESIDE}/damaged/{number:020d}.json", data)
        storage.delete(path_of(number))
    stands_for = (after.note or {}).get("previous") if after else None
    note: dict[str, Any] = {"kind": "lost", "rows": 0, "reason": reason, "stands_for": stands_for}
    clock = (before.note or {})["clock"]
    EntryLog(storage, name).write(number, {**note, "clock": clock}, (), operation="DECLARE LOST", at=at)
    seen = Witness(storage).read()
    if seen is not None and seen.number <= number:
        storage.delete(PATH)


def _clocked(entries: EntryLog, number: int) -> Entry | None:
    """The newest entry up to a number that has the clock."""
    for at in range(number, -1, -1):
        entry = _believed(entries, at)
        if entry is not None and (entry.note or {}).get("clock"):
            return entry
    return None


def _believed(entries: EntryLog, number: int) -> Entry | None:
    try:
        return EntryLog(entries.storage).read(number)
    except LogDamaged:
        return None


def _let_go(log: TopicLog, paths: Sequence[str], entries: Sequence[int], reason: str) -> Lost:
    """Let go of data files that are gone, in an entry that says what is lost, and how much was so far."""
    before = lost_of(log)
    gone = [file for path, file in log.snapshot().files.items() if path in paths]
    at, lost = milliseconds(log.now()), Lost(sum(file.rows for file in gone), len(entries))
    removed = [{"remove": {"path": file.path, "deletionTimestamp": at, "dataChange": True}} for file in gone]
    totals = [
        producer.Sequence(LOST_ROWS, before.rows + lost.rows, None),
        producer.Sequence(LOST_ENTRIES, before.entries + lost.entries, None),
    ]
    commits = [*(spell_commits(*file.commits) for file in gone), *map(str, entries)]
    note = {"rows": 0, "lost": asdict(lost), "commits": commits, "reason": reason}

    def propose(number: int, clock: Clock) -> Proposal:
        actions = [*producer.as_actions(totals, number, at), *removed]
        return Proposal("lost", clock, note | {"producers": producer.as_note(totals)}, actions, "DECLARE LOST")

    log.commit(propose)
    return lost
