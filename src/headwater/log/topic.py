"""A topic's log: where events enter, once, in numbered commits, each row stamped as it comes in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa

from headwater.errors import ArgumentRefused, HeadwaterError
from headwater.log import producer
from headwater.log.append import Appended, Request, draft, share_commit
from headwater.log.clock import Clock
from headwater.log.counts import Counts
from headwater.log.entry import EntryLog
from headwater.log.group import Group
from headwater.log.journal import Journal, Now, Proposal, instant, microseconds
from headwater.log.snapshot import Snapshot
from headwater.log.storage import Storage
from headwater.model import Topic, spell_duration

LOCAL_SOURCE = "local"


def wall_clock() -> datetime:
    """The time now, with its zone."""
    return datetime.now(UTC)


class TopicLog:
    """The log of one topic. Thread-safe; several processes may hold one each on the same storage.

    Its `listeners` are called with the number of each commit that this object makes, before another one is made.

    >>> from headwater.log import open_storage
    >>> from headwater.model import Column, Stream
    >>> log = TopicLog(Stream(name="words", columns=(Column("word", pa.string()),)), open_storage("memory://words"))
    >>> log.append(pa.table({"word": ["river", "delta"]})).commit
    1
    """

    def __init__(self, topic: Topic, storage: Storage, *, now: Now = wall_clock) -> None:
        self.topic = topic
        self.storage = storage
        self.now = now
        self._journal = Journal(topic, storage, now)
        self.listeners = self._journal.listeners
        self._group: Group[Request, Appended] = Group(self._serve)
        self._prepared = False

    # What is there

    @property
    def head(self) -> int:
        """The number of the newest entry; -1 while there is no log."""
        return self._refreshed().head

    @property
    def clock(self) -> Clock:
        """The clock after the newest commit."""
        return self._refreshed().clock

    @property
    def watermark(self) -> datetime:
        """No event before this instant is expected any more; 1970 while nothing is known."""
        return instant(self.clock.watermark)

    @property
    def unknown(self) -> Counts:
        """The number of events so far that had each field that no column declares."""
        return self._refreshed().unknown

    @property
    def entries(self) -> EntryLog:
        """The log entry by entry."""
        return self._journal.entries

    @property
    def identity(self) -> str | None:
        """The name that tells this log from another one that was made in its place; None while there is no log."""
        recorded = self.snapshot().recorded
        return recorded.identity if recorded else None

    def position(self, producer: str) -> int | None:
        """Up to where the log has taken in what a producer sends; None if it has nothing of it."""
        with self._group.turn:
            self._journal.refresh()
            return self._journal.producers.position(producer) if self._journal.head >= 0 else None

    def standing(self, of: str | None = None) -> producer.Standing:
        """The standing of the log for a producer; for the last one that has left a mark, unless one is named."""
        with self._group.turn:
            self._journal.refresh()
            head = self._journal.head
            return self._journal.producers.standing(of, head) if head >= 0 else producer.Standing(0)

    def snapshot(self) -> Snapshot:
        """The data files as of now."""
        with self._group.turn:
            return self._journal.snapshot()

    def reload(self) -> Snapshot:
        """The data files as of now, read from the start: for when maintenance has deleted some of those known."""
        with self._group.turn:
            self._journal.forget_snapshot()
            return self._journal.snapshot()

    def _refreshed(self) -> Journal:
        with self._group.turn:
            self._journal.refresh()
            return self._journal

    # Appending

    def append(
        self,
        rows: pa.Table,
        *,
        source: str | pa.Array = LOCAL_SOURCE,
        sequence: tuple[str, int] | None = None,
        history: bool = False,
        arrived_at: datetime | None = None,
        moves: Sequence[producer.Move] = (),
        unknown: Counts | None = None,
    ) -> Appended:
        """Append rows and return when they are durable.

        `rows` has the topic's columns, `_id` where identity is declared, and `_op` for a table. `source` is one name,
        or one per row. `sequence` is (producer, number): the same one again appends nothing and is answered with the
        first commit. A `history` load is stamped as a whole, with the watermark before it. `moves` are written in the
        same entry as the rows; `Fenced` if one of them doesn't begin at the log's `position` of its producer. `unknown`
        counts the fields of the events that no column declares.
        """
        if not rows.num_rows and sequence is None and not moves:
            return Appended(self.topic.name, self.head, 0, self.watermark)
        request = Request.of(rows, source, microseconds(arrived_at or self.now()))
        numbered = None if sequence is None else producer.Sequence(*sequence, producer.digest(rows))
        return self._group.submit(
            replace(request, sequence=numbered, history=history, moves=tuple(moves), unknown=unknown or {})
        )

    def tick(self, to: datetime | None = None) -> Appended:
        """Move time on without rows: the watermark to an instant, or as far as the silence of its sources allows.

        In the time of arrival it is now, so that windows over `_arrived_at` that have ended close.
        """
        limit = self.topic.max_ahead
        if to is not None and limit is not None and microseconds(to) > microseconds(self.now() + limit):
            raise ArgumentRefused(
                f'the watermark of "{self.topic.name}" can\'t move to {to.isoformat()}',
                detail=f"That is more than max_ahead ({spell_duration(limit)}) ahead of now: all that comes before it "
                "would be late.",
                hint="Give an earlier instant, or declare a larger max_ahead.",
                topic=self.topic.name,
            )
        now = microseconds(self.now())
        watermark = None if to is None else microseconds(to)
        return self._move(
            lambda clock: (clock.tick(now) if watermark is None else clock.advance(watermark)).pass_on(now)
        )

    def tick_silence(self) -> Appended:
        """Tick if that moves the watermark, or lets a source be idle; else leave the log as it is."""
        now = microseconds(self.now())
        return self._move(lambda clock: clock if (after := clock.tick(now)) == clock else after.pass_on(now))

    def pass_time(self, beyond: int | None = None) -> Appended:
        """Tell how late it is in the time of arrival, and leave the watermark where it is.

        With `beyond` (microseconds) it is told only if something could still arrive at that instant or before it.
        """
        now = microseconds(self.now())
        return self._move(lambda clock: clock.pass_on(now) if beyond is None else clock.pass_beyond(beyond, now))

    def expect(self, sources: Sequence[str]) -> Appended:
        """Wait for these sources before they have sent anything: each holds the watermark until it is idle."""
        now = microseconds(self.now())
        return self._move(lambda clock: clock.expect(sources, now))

    def create(self) -> None:
        """Make the log, unless it is there."""
        with self._group.turn:
            self._prepare()

    def commit(self, propose: Callable[[int, Clock], Proposal | None]) -> tuple[int, Proposal] | None:
        """Commit what `propose` makes of the next free number and the clock there; None if it has nothing to commit.

        It is asked again, for the next number, whenever another writer was faster.
        """
        with self._group.turn:
            self._prepare()
            return self._journal.commit(propose)

    def check_moves(self, moves: Sequence[producer.Move]) -> None:
        """`Fenced` if one of them doesn't begin where the log stands; for what `propose` makes, before it is made."""
        for move in moves:
            self._journal.producers.check(self.topic.name, move)

    # How a commit is made

    def _prepare(self) -> None:
        if not self._prepared:
            self._journal.prepare()
            self._prepared = True

    def _move(self, change: Callable[[Clock], Clock]) -> Appended:
        with self._group.turn:
            self._prepare()
            self._journal.refresh()

            def propose(_: int, clock: Clock) -> Proposal | None:
                changed = change(clock)
                return None if changed == clock else Proposal("tick", changed, {"rows": 0}, (), "TICK")

            self._journal.commit(propose)
            return Appended(self.topic.name, self._journal.head, 0, instant(self._journal.clock.watermark))

    def _serve(self, requests: Sequence[Request]) -> list[Appended | BaseException]:
        """Commit a group: together, but for history loads and a producer's second request, which get their own."""
        self._prepare()
        answers: dict[int, Appended | BaseException] = {}
        while waiting := [index for index in range(len(requests)) if index not in answers]:
            self._commit_next(requests, waiting, answers)
        return [answers[index] for index in range(len(requests))]

    def _commit_next(
        self, requests: Sequence[Request], waiting: list[int], answers: dict[int, Appended | BaseException]
    ) -> None:
        """Commit as many of the waiting requests as can go together, and answer them."""
        drafted: list[tuple[int, Appended]] = []

        def propose(number: int, clock: Clock) -> Proposal | None:
            answers.update((index, known) for index in waiting if (known := self._known(requests[index])) is not None)
            chosen = share_commit({index: requests[index] for index in waiting if index not in answers})
            if not chosen:
                return None
            proposal, receipts = draft(self.topic, self.storage, number, clock, list(chosen.values()), self.now())
            drafted[:] = zip(chosen, receipts, strict=True)
            return proposal

        if self._journal.commit(propose):
            answers.update(drafted)

    def _known(self, request: Request) -> Appended | HeadwaterError | None:
        """The answer to a request that needs no commit: a repetition, or a refusal."""
        try:
            self.check_moves(request.moves)
            if request.sequence is None:
                return None
            commit = self._journal.producers.find(self.topic.name, request.sequence)
        except HeadwaterError as refused:
            return refused
        if commit is None:
            return None
        watermark = instant(self._journal.clock.watermark)
        return Appended(self.topic.name, commit, request.rows.num_rows, watermark, repeated=True)
