"""The capture of a slot: one Debezium for all tables of it.

A snapshot is taken by a slot of its own that is gone afterwards, so that it shows exactly what was there at that slot's
beginning. PostgreSQL is told of the least position that all logs have.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from headwater.errors import HeadwaterError, SourceUnavailable
from headwater.intake.changes.capture import Capture
from headwater.intake.changes.change import Change, Cut
from headwater.intake.changes.tap import Tap
from headwater.intake.postgres.database import Database
from headwater.intake.postgres.debezium import Debezium, by_queries, properties_of
from headwater.intake.postgres.slot import Slot
from headwater.intake.protocol import Again
from headwater.waiting import wait_for

FREE = timedelta(seconds=15)
"""The time that a slot may take to be free when its reader is gone."""
QUIET = 65_536
"""So many bytes of WAL may hold nothing for the tables of a slot before it is given an empty transaction."""
_ROWS = 5_000


class SlotCapture(Capture):
    """The reader of a slot."""

    def __init__(self, slot: Slot, database: Database) -> None:
        super().__init__(slot.tables)
        self._slot = slot
        self._database = database
        self._debezium: Debezium | None = None
        self._beaten_at = 0

    # Reading

    def _prepare(self) -> None:
        slot, database = self._slot, self._database
        with database.connected() as connection:
            database.ensure_publication(connection, slot.publication, slot.published)
            positions = [tap.start for tap in self._taps.values() if tap.start is not None]
            gap = database.gap(connection, slot.name, positions)
            if gap is not None:
                self._refuse_gap(gap)
                self._wait_until_free()
                database.drop_slot(connection, slot.name)
            database.ensure_slot(connection, slot.name)
            self._wait_until_free()
        for tap in self._taps.values():
            tap.decide(again=gap is not None)

    def _wait_until_free(self) -> None:
        slot, database = self._slot, self._database

        def reader() -> int | None:
            with database.connected() as connection:
                known = database.slot(connection, slot.name)
            return None if known is None else known.reader

        if not wait_for(lambda: reader() is None, FREE, every=timedelta(milliseconds=100)):
            raise SourceUnavailable(
                f'the slot "{slot.name}" of {database.title} is read by another process',
                detail=f"PostgreSQL has it in use by the process {reader()} of its own.",
                hint="One project reads a slot, in one process at a time: end the other one, or declare slot = '…'.",
                topic=database.topic,
            )

    def _take_snapshot(self, taps: Sequence[Tap]) -> None:
        if not taps:
            return
        name = self._slot.of_snapshot
        with self._database.connected() as connection:
            self._database.drop_slot(connection, name)
            times = self._times()
            for tap in taps:
                times.raise_to(tap.newest)
            made_at = times.of(self._database.clock(connection))
        tables = list(dict.fromkeys(tap.table for tap in taps))
        queries = {tap.table: tap.query for tap in taps if tap.query is not None}
        debezium = self._started()
        properties = properties_of(name, self._slot.publication, tables, snapshot=True)
        debezium.begin(properties | by_queries(queries))
        try:
            self._hand_rows(debezium, taps, made_at)
            debezium.end()
            with self._database.connected() as connection:
                slot = self._database.slot(connection, name)
        finally:
            with suppress(HeadwaterError), self._database.connected() as connection:
                self._database.drop_slot(connection, name)
        assert slot is not None
        cut = Cut(slot.confirmed, made_at, {tap.topic: slot.confirmed for tap in taps})
        for tap in taps:
            tap.begin(cut)

    def _hand_rows(self, debezium: Debezium, taps: Sequence[Tap], made_at: int) -> None:
        """Hand the rows of a snapshot, of this time, to their taps, until Debezium has begun to read changes."""
        rows: dict[str, list[Change]] = {}

        def hand(table: str) -> None:
            for tap in taps:
                if tap.table == table:
                    tap.put_rows(rows[table])
            rows[table] = []

        for line in debezium.lines():
            if line[0] == b"end" or line == [b"beat", b"stream"]:
                break
            if line[0] == b"change":
                change = Change.read(line[2:])
                if change.operation != "r":
                    break
                table = line[1].decode()
                rows.setdefault(table, []).append(change._replace(made_at=made_at))
                if len(rows[table]) == _ROWS:
                    hand(table)
        for table in rows:
            hand(table)

    def _stream(self) -> None:
        debezium = self._started()
        debezium.begin(properties_of(self._slot.name, self._slot.publication, self._slot.published, snapshot=False))
        if self._cutting.begin():
            with self._database.connected() as connection:
                self._database.beat(connection)
        times = self._times()
        changes: dict[str, list[Change]] = {}
        for line in debezium.lines():
            if line[0] == b"change":
                changes.setdefault(line[1].decode(), []).append(Change.read(line[2:]))
            elif line[0] == b"end":
                self._cutting.hand_on(int(line[1]), changes, times)
                changes = {}

    # The process

    def _started(self) -> Debezium:
        """Debezium, which is started where it isn't yet."""
        if self._debezium is None:
            debezium = Debezium(self._database, self._slot.java(), self._slot.log)
            with self._guard:
                self._debezium = debezium
                over = self._is_over
            if over:
                raise Again
        return self._debezium

    def _interrupt(self) -> None:
        with self._guard:
            debezium = self._debezium
        if debezium is not None:
            debezium.stop()

    def _acknowledge(self, least: int) -> None:
        if self._debezium is not None:
            self._debezium.acknowledge(least)

    def _look(self) -> None:
        """See whether WAL holds more than we have heard of, and ask for a sign if it does."""
        with self._database.connected() as connection:
            head = self._database.head(connection)
            self.is_behind = head - self._cutting.reached > QUIET
            if self.is_behind and head - self._beaten_at > QUIET:
                self._database.beat(connection)
                self._beaten_at = head

    def _stop(self, least: int) -> None:
        self._interrupt()
        if least:
            self._wait_until_free()
            with self._database.connected() as connection:
                self._database.advance(connection, self._slot.name, least)
