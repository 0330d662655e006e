"""A table or an outbox of PostgreSQL as an inlet: its one source is the slot, the position the end of a transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from headwater.intake.dead import NO_LETTERS
from headwater.intake.decode import Decoder
from headwater.intake.positions import History, SourcePositions
from headwater.intake.postgres.capture import Capture, join
from headwater.intake.postgres.change import Share
from headwater.intake.postgres.contents import NEWEST, NUMBERED, contents_of, refuse_other_way
from headwater.intake.postgres.database import Database, spell
from headwater.intake.postgres.slot import Slot
from headwater.intake.postgres.tap import Tap
from headwater.intake.protocol import Inlet, Piece, Wait
from headwater.log.bulk import with_source
from headwater.log.counts import Counts, together
from headwater.model import Postgres, Topic

QUIET = 16 * 1024 * 1024
"""So many bytes of WAL may hold nothing for a table before its log notes the position, so that they can be let go."""
SNAPSHOT = "snapshot"
_STEP, _SOON = 0.1, 0.005


class PostgresInlet(Inlet):
    """The changes of one table."""

    def __init__(self, topic: Topic, slot: Slot) -> None:
        assert isinstance(topic.intake, Postgres)
        self._topic = topic
        self._declared = topic.intake
        self._slot = slot
        self._database = Database(slot.address, f'the intake of "{topic.name}"', topic.name)
        self._tap: Tap | None = None
        self._target: int | None = None
        self._is_due = False

    # Beginning and ending

    def open(self, positions: SourcePositions, *, alone: bool) -> None:
        """Begin where the log stands, or with a snapshot, which is one commit."""
        database = self._database
        with database.connected() as connection:
            database.check_rights(connection)
        self._contents = contents_of(self._topic, database, positions.log)
        self._contents.look()
        refuse_other_way(database, positions, NUMBERED, "queries")
        at = positions.position(self._slot.name)
        newest = positions.position(NEWEST) or 0
        again = self._declared.gaps == "snapshot"
        table, query = self._contents.table.name, self._contents.query
        marks = [mark for mark in positions.log.standing().marks if mark.position == at]
        self._stands: Mapping[str, int] | None = marks[-1].stands if marks else None
        self._tap = Tap(
            self._topic.name,
            table,
            at,
            newest,
            self._topic.max_ahead,
            again=again,
            query=query,
            stands=self._stands,
        )
        self._capture: Capture = join(self._slot, database, self._tap)
        if self._tap.begins_with_rows:
            self._take_snapshot(positions, self._tap)
            at = self._tap.start
        assert at is not None
        positions.take_up({self._slot.name: at})
        self._position, self._newest = at, self._tap.newest
        self._capture.durable(self._tap, at)
        if alone:
            with database.connected() as connection:
                self._target = database.head(connection)
                database.beat(connection)

    def _take_snapshot(self, positions: SourcePositions, tap: Tap) -> None:
        decoder = Decoder(self._topic)
        source = self._slot.name
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
            return History({source: tap.start}, dead, together(unknown), {NEWEST: tap.newest}, tap.stands)

        positions.begin_with_history(parts(), then, f"{SNAPSHOT} of {source}", [source])

    def close(self) -> None:
        """Let go of the slot, when no other table needs it."""
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
        return self._contents.changes(self._slot.name, share.transactions, self._position)

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
        return {NEWEST: self._newest}

    @property
    def stands(self) -> Mapping[str, int] | None:
        """The positions of the tables of the slot at the cut."""
        return self._stands

    def taken(self, positions: Mapping[str, int]) -> None:
        """Let PostgreSQL forget what the log has."""
        assert self._tap is not None
        self._capture.durable(self._tap, positions[self._slot.name])

    @property
    def behind(self) -> Sequence[str]:
        """The slot, while there is more in WAL than we have heard of."""
        assert self._tap is not None
        return [self._slot.name] if self._capture.is_behind or not self._tap.is_empty else []

    def look(self) -> None:
        """See how far WAL has gone on, and whether the columns of the table are those that are declared."""
        self._capture.look()
        if self._declared.columns == "stop":
            self._contents.look()

    def spell(self, source: str, position: int) -> str:  # noqa: ARG002
        """A position as PostgreSQL writes it."""
        return spell(position)
