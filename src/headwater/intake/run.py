"""Running an intake: from an inlet into the log, each event exactly once.

A *session* is one life of an inlet. It begins where the log stands, and each of its commits has the rows and the
positions of all sources in one entry: so a session that ends in the middle, by an error or by a kill, is forgotten, and
the next one goes on from what the log says. If two processes read the same source, the log refuses one of the two when
it comes to commit, which begins anew.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

import pyarrow as pa

from headwater.errors import Fenced, FolderUnavailable, HeadwaterError
from headwater.intake.breaker import Breaker
from headwater.intake.decode import Decoded, Decoder
from headwater.intake.positions import SourcePositions
from headwater.intake.protocol import Again, Inlet, Piece, Taken, Wait
from headwater.log import TopicLog
from headwater.log.counts import together, told
from headwater.model import Intake as Declared
from headwater.waiting import Backoff, Halting

_logger = logging.getLogger("headwater.intake")

LOOK_EVERY = timedelta(seconds=5)
"""The interval at which an inlet looks at how everything is, and a silent stream's watermark may move on."""
_BACKOFF = Backoff()


class Intake:
    """The intake of one stream or table. One thread at a time."""

    def __init__(
        self,
        log: TopicLog,
        dead: TopicLog,
        open_inlet: Callable[[], Inlet],
        *,
        committed: Callable[[TopicLog, int], None] = lambda _, __: None,
        waits: Callable[[str, HeadwaterError | None], None] = lambda _, __: None,
    ) -> None:
        """`committed` is told of each commit; `waits` of what keeps a run waiting, and (None) that it goes on."""
        assert log.topic.intake is not None
        self.declared: Declared = log.topic.intake
        self.log = log
        self.dead = dead
        self.decoder = Decoder(log.topic)
        self.committed = committed
        self.waits = waits
        self.is_going_on = False
        self.breaker = Breaker(log.topic.name, self.declared.max_dead)
        self._open_inlet = open_inlet

    def drain(self) -> Taken:
        """Take in everything up to where each source ends now, and return; `Fenced` if another process takes in."""
        rows = dead = 0
        unknown: dict[str, int] = {}
        while True:
            with self._session(alone=True) as session:
                finished = session.drain()
                taken = session.taken
                rows, dead = rows + taken.rows, dead + taken.dead
                unknown = told(together([unknown, taken.unknown]))
                if finished:
                    return replace(taken, rows=rows, dead=dead, unknown=unknown)

    def run(self, halt: Halting) -> None:
        """Take in whatever comes, until the halt is wanted; an inlet may share its sources with other processes.

        What may pass by itself is waited for; the rest raises.
        """
        failures = 0
        while not halt.is_wanted:
            try:
                with self._session(alone=False) as session:
                    session.run(halt)
            except HeadwaterError as failed:
                if not failed.transient and not isinstance(failed, Fenced):
                    raise
                failures = 0 if self.is_going_on else failures
                self.is_going_on = False
                failures += 1
                pause = _BACKOFF.after(failures, chance=1)
                _logger.warning("%s; trying again in %s s", failed.summary, pause.total_seconds())
                self.waits(self.log.topic.name, failed)
                halt.wait(pause)

    @contextmanager
    def _session(self, *, alone: bool) -> Iterator[_Session]:
        inlet = self._open_inlet()
        positions = SourcePositions(self.declared.connector, self.log, self.dead)
        try:
            inlet.open(positions, alone=alone)
            yield _Session(self, inlet, positions)
        except OSError as cause:
            raise _unwritten(self.log.topic.name, cause) from cause
        finally:
            inlet.close()


@dataclass(frozen=True)
class _Part:
    """A piece, and what became of its events."""

    piece: Piece
    decoded: Decoded


class _Session:
    def __init__(self, intake: Intake, inlet: Inlet, positions: SourcePositions) -> None:
        self._intake = intake
        self._inlet = inlet
        self._positions = positions
        self._log = intake.log
        self._looked_at = time.monotonic()
        self._rows, self._letters = positions.history
        self._unknown: dict[str, int] = dict(positions.history_unknown)

    @property
    def taken(self) -> Taken:
        sources = self._positions.sources
        positions = {at: sources[at].log for at in sorted(sources)}
        spelled = {at: self._inlet.spell(at, position) for at, position in positions.items()}
        return Taken(self._log.topic.name, self._rows, self._letters, positions, spelled, unknown=self._unknown)

    def drain(self) -> bool:
        """Read up to the ends that were found at the beginning; False if another session must go on."""
        try:
            while not self._inlet.is_drained:
                self._commit(self._inlet.read(Wait(self._intake.declared.commit_every)))
        except Again:
            return False
        return True

    def run(self, halt: Halting) -> None:
        """Read until the halt is wanted, or another session must go on."""
        try:
            while not halt.is_wanted:
                self._commit(self._inlet.read(Wait(self._intake.declared.commit_every, halt)))
                self._look()
        except Again:
            return

    # Committing

    def _commit(self, pieces: Sequence[Piece]) -> None:
        """Append what was read: dead letters first, then the rows with the positions, in one entry."""
        reached = {piece.source: piece.after for piece in pieces}
        moves = self._positions.moves(reached, self._inlet.beside, self._inlet.stands)
        if not moves:
            return
        # asked after the events were read: if the inlet is still the one it was, they are from it
        self._inlet.check()
        arrived_at = self._log.now()
        parts = [_Part(piece, self._decode(piece, arrived_at)) for piece in pieces]
        self._refuse_poison(parts)
        dead = [part for part in parts if part.decoded.dead.num_rows]
        dead_moves = self._positions.dead_moves(reached, dict.fromkeys(part.piece.source for part in dead))
        if dead:
            for part in dead:
                self._inlet.bury(part.piece, part.decoded.dead)
            letters = [(part.piece.source, part.decoded.dead) for part in dead]
            self._intake.dead.append(
                joined(letters), source=sources_of(letters), arrived_at=arrived_at, moves=dead_moves
            )
        self._expect_laggards()
        rows = [(part.piece.source, part.decoded.rows) for part in parts]
        unknown = together(part.decoded.unknown for part in parts)
        appended = self._log.append(
            joined(rows), source=sources_of(rows), arrived_at=arrived_at, moves=moves, unknown=unknown
        )
        self._unknown = told(together([self._unknown, unknown]))
        self._positions.moved(moves, dead_moves)
        self._count(appended.rows, sum(part.decoded.dead.num_rows for part in dead))
        self._inlet.taken(reached)
        self._intake.committed(self._log, appended.commit)

    def _decode(self, piece: Piece, arrived_at: datetime) -> Decoded:
        without = self._positions.buried(piece.source, piece.where)
        return piece.decode(self._intake.decoder, arrived_at, without)

    def _refuse_poison(self, parts: Sequence[_Part]) -> None:
        """Append nothing if far too much of it is dead."""
        letters = [part.decoded.dead for part in parts if part.decoded.dead.num_rows]

        def reasons() -> list[str]:
            return list(islice((dead["reason"][0].as_py() for dead in letters), 3))

        rows = sum(part.decoded.rows.num_rows for part in parts)
        self._intake.breaker.check(rows, sum(dead.num_rows for dead in letters), reasons)

    def _count(self, rows: int, letters: int) -> None:
        self._rows += rows
        self._letters += letters
        self._intake.breaker.passed(rows, letters)
        if not self._intake.is_going_on:
            self._intake.is_going_on = True
            self._intake.waits(self._log.topic.name, None)

    def _expect_laggards(self) -> None:
        """Keep a source that isn't at its end from being taken for idle: it is we who are behind, not it."""
        if self._log.topic.idle is not None and self._inlet.behind:
            self._log.expect(sorted(self._inlet.behind))

    # Silence

    def _look(self) -> None:
        """Now and then: let the watermark move on if every source is at its end, whoever reads it."""
        every = min(LOOK_EVERY, self._log.topic.idle or LOOK_EVERY).total_seconds()
        if time.monotonic() - self._looked_at < every:
            return
        self._looked_at = time.monotonic()
        self._inlet.look()
        if self._log.topic.idle is None:
            return
        if self._inlet.behind:
            self._expect_laggards()
        else:
            self._log.tick_silence()


def joined(parts: Sequence[tuple[str, pa.Table]]) -> pa.Table:
    """The rows of several sources, one behind the other."""
    return pa.concat_tables([part for _, part in parts])


def sources_of(parts: Sequence[tuple[str, pa.Table]]) -> pa.Array:
    """The source of each row of several sources."""
    named = [pa.repeat(pa.scalar(source), part.num_rows) for source, part in parts]
    return pa.concat_arrays([pa.array([], pa.string()), *named])


def _unwritten(topic: str, cause: OSError) -> FolderUnavailable:
    return FolderUnavailable(
        f'the intake of "{topic}" could not read or write a file',
        detail=f"{cause}. What is in the log stays, and the intake goes on from there.",
        hint="See that there is room in the project's folder and in that for temporary files, and who may write there.",
        topic=topic,
    )
