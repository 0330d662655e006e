"""An outbox that is asked by queries, of a database that lets nobody read its log of changes.

A transaction has a number, its *xid*, from its first write on, and may be committed long after one with a larger xid.
So no row is read whose xid isn't below all that still run: what is there below that mark stays as it is, and is read
as a *range* of xids, from the `floor`, below which all was read, to the `ceiling`. Within a range rows come in the
order in which they were written (`number`), which for rows of one aggregate, whose writers wait for each other, is that
of their commits: of two such transactions the later one ends in the same range, or in a later one.

The position of the log grows with each row: it is the number of the last one and a `shift`, which grows where a range
begins with a number that is smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any

import psycopg
from psycopg import sql

from headwater.errors import SourceReplaced
from headwater.intake.changes.inlet import NEWEST
from headwater.intake.positions import SourcePositions
from headwater.intake.postgres.contents import NUMBERED, check_outbox, known_events, refuse_other_way
from headwater.intake.postgres.database import Database, SourceTable, address_of
from headwater.intake.postgres.outbox import OutboxCodec, OutboxEvent, OutboxPiece
from headwater.intake.protocol import Inlet, Piece, Wait
from headwater.model import Postgres, Topic
from headwater.outbox import COLUMNS, POLLED

AT_ONCE = 5_000
"""The most rows of a piece."""
_QUIET = 100_000
"""So many xids may have nothing for the stream before the log notes the floor, so that it isn't searched again."""
_NO_NUMBER = -(2**63)


class PolledOutbox(Inlet):
    """The events of one type of aggregates; the source is the table."""

    def __init__(self, topic: Topic) -> None:
        assert isinstance(topic.intake, Postgres)
        self._declared = topic.intake
        self._codec = OutboxCodec(topic)
        self._database = Database(address_of(topic), f'the intake of "{topic.name}"', topic.name)
        self._open = ExitStack()
        self._target: int | None = None
        self._known: set[str] = set()

    # Beginning and ending

    def open(self, positions: SourcePositions, *, alone: bool) -> None:
        """Begin where the log stands, in the range that it was in."""
        with self._asking():
            self._begin(positions, alone)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as cause:
            raise self._database.failure(cause) from cause

    def _begin(self, positions: SourcePositions, alone: bool) -> None:
        self._connection = self._open.enter_context(self._database.connected())
        table = self._database.table(self._connection, self._declared.table)
        check_outbox(self._database, table, (*COLUMNS, *POLLED))
        refuse_other_way(self._database, positions, NEWEST, "a slot")
        self._source, self._query = table.name, self._query_of(table)
        self._server = self._server_of()
        mark = self._mark()
        self._floor, self._ceiling, self._shift = (positions.position(name) or 0 for name in self._names)
        position = positions.position(self._source)
        if position is not None and (positions.position(self._names[0]) is None or mark < self._floor):
            self._begin_anew(positions, mark)
        if not self._floor:
            self._known = known_events(positions.log, self._declared)
        self._position = position or 0
        self._number = self._position - self._shift if self._ceiling > self._floor else _NO_NUMBER
        self._noted = self._floor
        positions.write({name: at for name, at in self.beside.items() if positions.position(name) is None})
        positions.take_up({self._source: self._position})
        self._target = mark if alone else None

    def _begin_anew(self, positions: SourcePositions, mark: int) -> None:
        """Read the table from its beginning, as another server counts its transactions otherwise."""
        if self._declared.gaps != "snapshot" or mark < self._floor:
            raise SourceReplaced(
                f'the outbox "{self._source}" of {self._database.title} is in another server',
                detail="Its transactions aren't counted on from those that the log has, so what comes behind the log "
                "can't be told. What the log has stays.",
                hint="Declare gaps = 'snapshot': all rows that are there and that the log doesn't have are then taken "
                "in, by the ids of their events."
                if mark >= self._floor
                else "Restore the server with its transactions, or declare a stream of another name.",
                topic=positions.stream,
            )

    def _server_of(self) -> int:
        """The server, so that another one is told from it; 0 if it doesn't tell."""
        try:
            return int(self._row("SELECT system_identifier FROM pg_control_system()")[0])
        except psycopg.errors.InsufficientPrivilege:
            return 0

    def _mark(self) -> int:
        """The xid below which no transaction runs."""
        return int(self._row("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")[0])

    def _row(self, query: str) -> tuple[Any, ...]:
        row = self._connection.execute(query.encode()).fetchone()
        assert row is not None
        return row

    def _query_of(self, table: SourceTable) -> sql.Composed:
        headers = sql.SQL("headers::text" if "headers" in table.columns else "NULL")
        made_at = sql.SQL("created_at" if "created_at" in table.columns else "clock_timestamp()")
        return sql.SQL(
            "SELECT number, id::text, aggregateid::text, type::text, payload::text, {}, "
            "(xid::text::bigint & 4294967295)::text, (extract(epoch FROM {}) * 1000000)::bigint FROM {} "
            "WHERE aggregatetype = %s AND xid >= %s::text::xid8 AND xid < %s::text::xid8 AND number > %s "
            "ORDER BY number LIMIT %s"
        ).format(headers, made_at, table.identifier)

    def close(self) -> None:
        """Let go of the connection."""
        self._open.close()

    # Reading

    def read(self, wait: Wait) -> Sequence[Piece]:
        """The next rows of the range, or of a new one; the position alone, when the floor has moved far."""
        pause = self._declared.poll or timedelta(0)
        with self._asking():
            while not (events := self._next()):
                if wait.is_over or self.is_drained:
                    return self._note()
                wait.pause(pause)
        return [self._piece(events)]

    def _next(self) -> list[tuple[int, OutboxEvent]]:
        """The next rows; when there are none, the floor is where the ceiling was."""
        if self._ceiling == self._floor:
            self._ceiling = self._mark()
            self._number = _NO_NUMBER
        if self._ceiling == self._floor:
            return []
        parameters = (self._declared.outbox, str(self._floor), str(self._ceiling), self._number, AT_ONCE)
        events = self._connection.execute(self._query, parameters).fetchall()
        rows = [(int(row[0]), OutboxEvent(*row[1:])) for row in events]
        if rows:
            if self._number == _NO_NUMBER:
                self._shift = max(self._shift, self._position - rows[0][0] + 1)
            self._number = rows[-1][0]
            self._position = self._number + self._shift
        if len(rows) < AT_ONCE:
            self._floor = self._ceiling
        return rows

    def _piece(self, events: Sequence[tuple[int, OutboxEvent]]) -> OutboxPiece:
        self._noted = self._floor
        new = [(number, event) for number, event in events if event.id not in self._known]
        if self._floor:
            self._known = set()
        return OutboxPiece(self._source, self._source, self._position, new, self._codec)

    def _note(self) -> Sequence[Piece]:
        if self._floor - self._noted < _QUIET:
            return []
        self._position, self._shift = self._position + 1, self._shift + 1
        return [self._piece([])]

    @property
    def is_drained(self) -> bool:
        """Tells whether everything was read that no running transaction was before, when it was opened alone."""
        return self._target is not None and self._floor >= self._target

    @property
    def _names(self) -> tuple[str, str, str]:
        return f"floor in {self._server}", f"ceiling in {self._server}", NUMBERED

    @property
    def beside(self) -> Mapping[str, int]:
        """The range, and the shift of positions from numbers."""
        return dict(zip(self._names, (self._floor, self._ceiling, self._shift), strict=True))

    @property
    def behind(self) -> Sequence[str]:
        """The table, while a range isn't read to its end."""
        return [self._source] if self._ceiling > self._floor else []
