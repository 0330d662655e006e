"""A table or an outbox of a database as an inlet: its one source is where the changes of several tables are read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from headwater.intake.changes.capture import Capture
from headwater.intake.changes.change import Share
from headwater.intake.changes.contents import Contents
from headwater.intake.changes.tap import Tap
from headwater.intake.dead import NO_LETTERS
from headwater.intake.decode import Decoder
from headwater.intake.positions import History, SourcePositions
from headwater.intake.protocol import Inlet, Piece, Wait
from headwater.log.bulk import with_source
from headwater.log.counts import Counts, together
from headwater.model import Mysql, Postgres, Topic

NEWEST = "newest commit"
"""The name of the newest time of a commit, which the log keeps beside the position; no source can have it."""
QUIET = 16 * 1024 * 1024
"""So many bytes of changes may hold nothing for a table before its log notes the position, and they can be let go."""
SNAPSHOT = "snapshot"
_STEP, _SOON = 0.1, 0.005


class ChangesInlet(Inlet):
    """The changes of one table. `source` is the name of where they are read, with those of other tables."""

    def __init__(self, topic: Topic, source: str) -> None:
        assert isinstance(topic.intake, Postgres | Mysql)
        self._topic = topic
        self._declared = topic.intake
        self._source = source
        self._tap: Tap | None = None
        self._target: int | None = None
        self._is_due = False

    # What a database does its own way

    @abstractmethod
    def _see(self, positions: SourcePositions) -> Contents:
        """See that the database lets its changes be read, and that the table is the declared one."""

    @abstractmethod
    def _join(self, tap: Tap) -> Capture:
        """Let a tap be filled."""

    @abstractmethod
    def _head(self) -> int:
        """The position behind everything that the database has, and that is told of soon."""

    def _begin(self, positions: SourcePositions) -> int | None:
        """Where the log stands in the source; None if a snapshot has to come first."""
        return positions.position(self._source)

    def _also(self, position: int) -> Mapping[str, int]:  # noqa: ARG002
        """Numbers that the log keeps beside a position, and that a database needs to go on from there."""
        return {}

    # Beginning and ending

    def open(self, positions: SourcePositions, *, alone: bool) -> None:
        """Begin where the log stands, or with a snapshot, which is one commit."""
        self._contents = self._see(positions)
        at = self._begin(positions)
        newest = positions.position(NEWEST) or 0
        again = self._declared.gaps == "snapshot"
        marks = [mark for mark in positions.log.standing().marks if mark.position == at]
        self._stands: Mapping[str, int] | None = marks[-1].stands if marks else None
        self._tap = Tap(
            self._topic.name,
            self._contents.table,
            at,
            newest,
            self._topic.max_ahead,
            again=again,
            query=self._contents.query,
            stands=self._stands,
        )
        self._capture = self._join(self._tap)
        if self._tap.begins_with_rows:
            self._take_snapshot(positions, self._tap)
            at = self._tap.start
        assert at is not None
        positions.take_up({self._source: at})
        self._position, self._newest = at, self._tap.newest
        self._capture.durable(self._tap, at)
        if alone:
            self._target = self._head()

    def _take_snapshot(self, positions: SourcePositions, tap: Tap) -> None:
        decoder = Decoder(self._topic)
        source = self._source
        letters: list[pa.Table] = []
        unknown: list[Counts] = []
        first = 0
        self._contents.begin()

        def parts() -> Iterator[pa.Table]:
            nonlocal first
            for rows in tap.snapshot():
                piece = self._contents.rows(source, rows, first)
                first += len(rows)
                decoded = piece.decode(decoder, positions.log.now(), ())
                letters.append(decoded.dead)
                unknown.append(decoded.unknown)
                yield with_source(decoded.rows, source)
            for rest in self._contents.rest(decoder, tap.newest):
                yield with_source(rest, source)

        def then() -> History:
            assert tap.start is not None
            dead = pa.concat_tables([*letters, NO_LETTERS])
            beside = {NEWEST: tap.newest, **self._also(tap.start)}
            return History({source: tap.start}, dead, together(unknown), beside, tap.stands)

        positions.begin_with_history(parts(), then, f"{SNAPSHOT} of {source}", [source])

    def close(self) -> None:
        """Let go of the database, when no other table needs it."""
        if self._tap is not None:
            self._tap.close()

    # Reading

    def read(self, wait: Wait) -> Sequence[Piece]:
        """The transactions that came meanwhile, up to a cut; or the position alone, where it is to be noted."""
        assert self._tap is not None
        while True:
            step = _SOON if self._is_due else min(_STEP, wait.left.total_seconds())
            share = self._tap.take(step)
            if share is not None:
                return [self._piece(share)]
            is_last = wait.is_over
            self._is_due = self._is_due or is_last or self._tap.is_full or self._is_at_target
            if self._is_due and self._wants_cut and self._capture.cut(self._tap):
                continue
            self._is_due = self._is_due and self._wants_cut
            if is_last or self._is_at_target:
                return []

    def _piece(self, share: Share) -> Piece:
        self._is_due = False
        self._position, self._newest = share.cut.position, max(share.cut.newest, self._newest)
        self._stands = share.cut.stands
        return self._contents.changes(self._source, share.transactions, self._position)

    @property
    def _wants_cut(self) -> bool:
        """Tells whether there is something to commit: changes, or a position that is to be noted without any."""
        assert self._tap is not None
        if self._tap.has_open:
            return True
        passed, level = self._tap.passed(), self._tap.level
        return passed is not None and (passed - self._position > QUIET or (level is not None and passed >= level))

    @property
    def _is_at_target(self) -> bool:
        """Tells whether everything was handed on that was there when it was opened alone."""
        assert self._tap is not None
        return self._target is not None and self._tap.reached >= max(self._target, self._tap.level or 0)

    @property
    def is_drained(self) -> bool:
        """Tells whether everything was read that was there when it was opened alone."""
        assert self._tap is not None
        return self._is_at_target and self._tap.is_empty and self._tap.level is None

    # Around a commit

    @property
    def beside(self) -> Mapping[str, int]:
        """The newest time of a commit, behind which those that come go on."""
        return {NEWEST: self._newest, **self._also(self._position)}

    @property
    def stands(self) -> Mapping[str, int] | None:
        """The positions of the tables that are read together, at the cut."""
        return self._stands

    def taken(self, positions: Mapping[str, int]) -> None:
        """Let the database forget what the log has."""
        assert self._tap is not None
        self._capture.durable(self._tap, positions[self._source])

    @property
    def behind(self) -> Sequence[str]:
        """The source, while the database has more than we have heard of."""
        assert self._tap is not None
        return [self._source] if self._capture.is_behind or not self._tap.is_empty else []

    def look(self) -> None:
        """See how far the database has gone on, and whether the columns of the table are those that are declared."""
        self._capture.look()
        if self._declared.columns == "stop":
            self._contents.look()
