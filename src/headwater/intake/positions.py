"""The positions of the log in the sources of an intake.

The *position* of a source is that of the producer `connector:source` in the log, moved in the entries that have the
rows. The log of dead letters keeps its own position of each source, written before that of the log. After a crash
between the two it is ahead, and the letters in between are there already: they are *buried*, and passed by when their
events are read again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import EventsLost
from headwater.intake.dead import Letter, table_of
from headwater.intake.layout import layout_of
from headwater.log import Move, TopicLog
from headwater.log.bulk import load_sources
from headwater.log.counts import Counts
from headwater.log.read import read


@dataclass
class SourcePosition:
    """A source that is read: the log's position, that of its dead letters, and what is buried between them."""

    log: int
    dead: int | None
    buried: dict[str, frozenset[int]] = field(default_factory=dict)

    @property
    def is_behind_its_letters(self) -> bool:
        """Tells whether a crash has left letters behind the log's position."""
        return self.dead is not None and self.dead > self.log


@dataclass(frozen=True)
class History:
    """The rest of a history, beside its rows: the positions behind it, and what of it can't be read.

    `unknown` counts the fields that no column declares; `beside` are numbers that are kept beside the positions, and
    `stands` says where other topics of the source stand.
    """

    positions: Mapping[str, int]
    letters: pa.Table
    unknown: Counts = field(default_factory=dict)
    beside: Mapping[str, int] = field(default_factory=dict)
    stands: Mapping[str, int] | None = None


class SourcePositions:
    """The sources of one intake as the logs know them. Not thread-safe.

    `sources` are those that are read; `history` are the rows and dead letters that came before all of them.
    """

    def __init__(self, connector: str, log: TopicLog, dead: TopicLog) -> None:
        self._connector = connector
        self._log = log
        self._dead = dead
        self.sources: dict[str, SourcePosition] = {}
        self.history = (0, 0)
        self.history_unknown: Counts = {}

    @property
    def stream(self) -> str:
        """The stream or table that is taken in."""
        return self._log.topic.name

    @property
    def log(self) -> TopicLog:
        """The log of that stream or table."""
        return self._log

    def position(self, name: str) -> int | None:
        """Up to where the log has a source, or what it has kept under another name; None if it has nothing."""
        return self._log.position(self._producer(name))

    def write(self, positions: Mapping[str, int], expected: Iterable[str] = ()) -> None:
        """Write positions down without rows, all or none; `expected` sources hold the watermark until they are idle.

        For what is decided once: where a source begins, or which one it is.
        """
        known = {name: self.position(name) for name in positions}
        moves = [Move(self._producer(name), known[name], to) for name, to in positions.items() if known[name] != to]
        if moves:
            self._log.append(layout_of(self._log.topic).schema.empty_table(), moves=moves)
        sources = list(expected)
        if sources:
            self._log.expect(sources)

    def take_up(self, starts: Mapping[str, int]) -> None:
        """Read these sources from now on, from these positions; where the log stands elsewhere it is written down.

        A source is waited for by the watermark from here on, until it is idle.
        """
        self.write(starts, starts)
        for source, start in starts.items():
            self.sources[source] = SourcePosition(start, self._dead.position(self._producer(source)))

    def begin_with_history(
        self, parts: Iterable[pa.Table], then: Callable[[], History], mark: str, sources: Sequence[str]
    ) -> None:
        """Append a history, with the positions behind it in the same entry: all of it, or nothing.

        `parts` are rows with a column `_source`; `then` is asked for the rest when they have all been read. `mark` is
        the name of a position that counts how often it was done. The sources hold the watermark until they are idle.
        """

        dead = 0
        known = {name: self.position(name) for name in (*sources, mark)}
        unknown: Counts = {}

        def moves() -> list[Move]:
            nonlocal dead, unknown
            history = then()
            unknown = history.unknown
            dead = history.letters.num_rows
            if dead:
                before = self._dead.position(self._producer(mark))
                done = Move(self._producer(mark), before, (before or 0) + 1)
                self._dead.append(history.letters, source=history.letters["source"].combine_chunks(), moves=[done])
            self._log.expect(list(sources))
            moves = [
                Move(self._producer(name), known.get(name), to, history.stands)
                for name, to in history.positions.items()
            ]
            moves.append(Move(self._producer(mark), known[mark], (known[mark] or 0) + 1))
            return moves + self._beside(history.beside)

        loaded = load_sources(self._log, parts, moves, lambda: unknown)
        self.history, self.history_unknown = (loaded.rows, dead), unknown

    def buried_in_history(self, mark: str, source: str, where: str) -> Collection[int]:
        """The numbers of events that a history left as dead letters before the process was killed."""
        return () if self._dead.position(self._producer(mark)) is None else self._buried(source, where)

    def let_go(self, sources: Iterable[str]) -> None:
        """Read these sources no more."""
        for source in sources:
            self.sources.pop(source, None)

    def record_loss(self, source: str, first: int, end: int, reason: str) -> None:
        """Record that events are gone, from a position to before another, as one dead letter; once, if repeated."""
        dead = self._dead.position(self._producer(source))
        if dead is not None and dead >= end:
            return
        letters = table_of([Letter(0, b"", reason, EventsLost, f"{source}:{first}-{end - 1}")], source)
        self._dead.append(letters, source=source, moves=[Move(self._producer(source), dead, end)])

    def buried(self, source: str, where: str) -> Collection[int]:
        """The numbers of events that a dead letter has although the log isn't there yet: `where:number`."""
        position = self.sources[source]
        if not position.is_behind_its_letters:
            return ()
        if where not in position.buried:
            position.buried[where] = self._buried(source, where)
        return position.buried[where]

    def _buried(self, source: str, where: str) -> frozenset[int]:
        letters = read(self._dead, columns=["source", "position"])
        letters = letters.filter(pc.equal(letters["source"], source))
        mine = letters.filter(pc.starts_with(letters["position"], f"{where}:"))
        texts = pc.utf8_slice_codeunits(mine["position"], len(where) + 1).to_pylist()
        return frozenset(int(text) for text in texts if text.isdigit())

    # Moving

    def moves(
        self, reached: Mapping[str, int], beside: Mapping[str, int], stands: Mapping[str, int] | None = None
    ) -> list[Move]:
        """The moves of the log's positions to these, and of what is kept beside them; none, if no position moves."""
        sources = self.sources
        moves = [
            Move(self._producer(at), sources[at].log, to, stands) for at, to in reached.items() if to != sources[at].log
        ]
        return moves + (self._beside(beside) if moves else [])

    def _beside(self, numbers: Mapping[str, int]) -> list[Move]:
        known = {name: self.position(name) for name in numbers}
        return [Move(self._producer(name), known[name], to) for name, to in numbers.items() if known[name] != to]

    def dead_moves(self, reached: Mapping[str, int], sources: Iterable[str]) -> list[Move]:
        """The moves of the dead letters' positions to these, for some sources."""
        return [
            Move(self._producer(at), self.sources[at].dead, max(reached[at], self.sources[at].dead or 0))
            for at in sources
        ]

    def moved(self, moves: Iterable[Move], dead_moves: Iterable[Move]) -> None:
        """Say that these have been made."""
        by_producer = {self._producer(source): position for source, position in self.sources.items()}
        for move in moves:
            if move.producer in by_producer:
                by_producer[move.producer].log = move.after
        for move in dead_moves:
            by_producer[move.producer].dead = move.after

    def _producer(self, name: str) -> str:
        return f"{self._connector}:{name}"
