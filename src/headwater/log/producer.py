"""Idempotent producers: the same (producer, sequence) is appended once, however often it is sent.

A producer numbers what it sends. The log keeps its last number in a Delta `txn` action, in the same entry as the rows,
and the commit it went to in a second one, so that a repetition is answered with the first commit's number for as long
as the log exists. A digest of the content in the commit's note tells a repetition from a number used twice.

A *move* is for a producer that can read its input again from anywhere, such as a partition of Kafka: its number is the
*position* up to which the log has taken its input in. A move says from which position to which; it is refused if the
log stands elsewhere, so of two writers that read the same input one is told that it was overtaken. Where several
topics take in one input, such as the tables of a database, a move says where the others stand: that is a *mark*, from
which a cut through their logs is found (`log.cut`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from headwater.errors import Fenced, SequenceRefused
from headwater.log.entry import Action, EntryLog

_COMMIT_SUFFIX = "#commit"
_MARKS = 4096
"""So many marks are remembered, at least."""
_BACK, _FEW = 256, 16
"""So many entries before a checkpoint are looked through for marks, until there are a few."""


@dataclass(frozen=True)
class Sequence:
    """A number that a producer sent, and a digest of the content."""

    producer: str
    number: int
    digest: str | None
    stands: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Move:
    """From `before` (None: nothing was taken in yet) to `after`, in the same entry as the rows in between.

    `stands` has the position that the log of each topic of the same input has, once it is at `after` as well.
    """

    producer: str
    before: int | None
    after: int
    stands: Mapping[str, int] | None = None

    @property
    def sequence(self) -> Sequence:
        """The sequence as which the log keeps it."""
        return Sequence(self.producer, self.after, None, self.stands)


@dataclass(frozen=True, eq=False)
class Mark:
    """A commit that took its topic to a position of a producer, and where other topics stand there."""

    commit: int
    has_rows: bool
    producer: str
    position: int
    stands: Mapping[str, int]


@dataclass(frozen=True)
class Standing:
    """The head of a log, its position of a producer, and its marks of that in their order."""

    head: int
    producer: str | None = None
    position: int | None = None
    marks: tuple[Mark, ...] = ()

    def commit_at(self, position: int) -> int | None:
        """The last commit before the rows behind a position; None if it isn't known to end a commit."""
        if position == self.position:
            return self.head
        at = next((number for number, mark in enumerate(self.marks) if mark.position == position), None)
        if at is None:
            return None
        following = (mark.commit - 1 for mark in self.marks[at + 1 :] if mark.has_rows)
        return next(following, self.head)


@dataclass(frozen=True)
class _Last:
    number: int
    commit: int
    digest: str | None


def digest(rows: pa.Table) -> str:
    """A fingerprint of the rows, the same however they are chunked."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return hashlib.blake2b(sink.getvalue(), digest_size=12).hexdigest()


class Producers:
    """The last sequence of every producer of a topic that this process has met."""

    def __init__(self, entries: EntryLog) -> None:
        self._entries = entries
        self._last: dict[str, _Last | None] = {}
        self._marks: dict[int, Mark] = {}
        self._base: DeltaTable | None = None
        self._based = self._looked_back = False

    def learn(self, commit: int, note: Mapping[str, Any]) -> None:
        """Take in a commit that another writer, or we ourselves, have made."""
        for producer, (number, seen, *stands) in note.get("producers", {}).items():
            self._last[producer] = _Last(number, commit, seen)
            if stands:
                self._marks[commit] = Mark(commit, note["rows"] > 0, producer, number, stands[0])
        if len(self._marks) > 2 * _MARKS:
            self._marks = {commit: self._marks[commit] for commit in sorted(self._marks)[-_MARKS:]}

    def standing(self, producer: str | None, head: int) -> Standing:
        """The standing of a log with this head. Of marks it has those behind the newest checkpoint, or the last few."""
        if not self._looked_back:
            self._look_back()
        if producer is None and self._marks:
            producer = self._marks[max(self._marks)].producer
        if producer is None:
            return Standing(head)
        marks = (self._marks[commit] for commit in sorted(self._marks))
        mine = tuple(mark for mark in marks if mark.producer == producer)
        return Standing(head, producer, self.position(producer), mine)

    def find(self, topic: str, sequence: Sequence) -> int | None:
        """The commit that has this sequence already, or None if it is new. Refuses one that went back or was reused."""
        last = self._met(sequence.producer)
        if last is None or sequence.number > last.number:
            return None
        known = last if sequence.number == last.number else self._search(sequence, last)
        if known is not None and known.digest in (None, sequence.digest):
            return known.commit
        raise _refusal(topic, sequence, last, reused=known is not None)

    def position(self, producer: str) -> int | None:
        """The last number of a producer; None if it has none."""
        last = self._met(producer)
        return None if last is None else last.number

    def check(self, topic: str, move: Move) -> None:
        """Refuse a move that doesn't begin where the log stands."""
        position = self.position(move.producer)
        if position != move.before:
            raise _overtaken(topic, move, position)

    def _met(self, producer: str) -> _Last | None:
        if producer not in self._last:
            self._last[producer] = self._load(producer)
        return self._last[producer]

    def _search(self, sequence: Sequence, last: _Last) -> _Last | None:
        """Look for an older sequence in the entries that are still there; a producer's numbers only go up."""
        for number in range(last.commit - 1, self._entries.first() - 1, -1):
            entry = self._entries.read(number)
            sent = ((entry.note if entry else None) or {}).get("producers", {}).get(sequence.producer)
            if sent and sent[0] <= sequence.number:
                return _Last(sent[0], number, sent[1]) if sent[0] == sequence.number else None
        return None

    def _load(self, producer: str) -> _Last | None:
        """The newest sequence of a producer that this process meets for the first time."""
        if not self._based:
            self._read_base()
        table, last = self._base, self._last.get(producer)
        if last is not None or table is None:
            return last
        number = table.transaction_version(producer)
        commit = table.transaction_version(producer + _COMMIT_SUFFIX)
        if number is None or commit is None:
            return None
        origin = self._entries.read(commit)
        note = (origin.note if origin else None) or {}
        self.learn(commit, {"rows": 0, **note})
        return _Last(number, commit, note.get("producers", {}).get(producer, [None, None])[1])

    def _read_base(self) -> None:
        """Take in the newest checkpoint and every entry behind it, once; whatever comes later is learned."""
        self._base = self._entries.base()
        for entry in self._entries.after(self._base.version() if self._base else -1):
            self.learn(entry.number, entry.note or {})
        self._based = True

    def _look_back(self) -> None:
        """Look for the last marks before the newest checkpoint."""
        if not self._based:
            self._read_base()
        self._looked_back = True
        base = self._base.version() if self._base else -1
        known, self._last = self._last, {}
        for number in range(base, max(self._entries.first(), base - _BACK) - 1, -1):
            entry = self._entries.read(number) if len(self._marks) < _FEW else None
            self.learn(number, (entry.note if entry else None) or {})
        self._last = known


def as_actions(sequences: list[Sequence], commit: int, at: int) -> list[Action]:
    """The `txn` actions that record these sequences in a commit."""
    return [
        {"txn": {"appId": name, "version": version, "lastUpdated": at}}
        for sequence in sequences
        for name, version in ((sequence.producer, sequence.number), (sequence.producer + _COMMIT_SUFFIX, commit))
    ]


def as_note(sequences: list[Sequence]) -> dict[str, Any]:
    """The part of a commit's note that records these sequences."""
    return {
        sequence.producer: [sequence.number, sequence.digest, *([] if sequence.stands is None else [sequence.stands])]
        for sequence in sequences
    }


def _refusal(topic: str, sequence: Sequence, last: _Last, *, reused: bool) -> SequenceRefused:
    what = f"used sequence {sequence.number} again with other content" if reused else "went back in its sequence"
    return SequenceRefused(
        f'producer "{sequence.producer}" {what} in topic "{topic}"',
        detail=f"It sent {sequence.number}; its last is {last.number}, in commit {last.commit}. Nothing was appended.",
        hint="Number what a producer sends upwards, and repeat a number only with the same rows.",
        producer=sequence.producer,
        sequence=sequence.number,
        last=last.number,
    )


def _overtaken(topic: str, move: Move, position: int | None) -> Fenced:
    return Fenced(
        f'another run has taken over the intake of "{topic}"',
        detail=f'This one had read "{move.producer}" up to {move.before}; the log stands at {position}. Nothing was '
        "appended by this commit, and nothing is missing.",
        hint="Let one process take a topic in: stop one of the two.",
        topic=topic,
        producer=move.producer,
        position=position,
    )
