"""Capture: one Debezium for all tables of a slot, whose changes it hands to the intakes of these.

It first takes a snapshot of the tables whose logs have nothing: by a slot of its own that is gone afterwards, so that
the snapshot shows exactly what was there at that slot's beginning. Then it reads the slot, transaction by transaction.
What is behind the position of a table's log is handed on; PostgreSQL is told of the least position that all logs have.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial

from headwater.errors import HeadwaterError, SourceReplaced, SourceUnavailable
from headwater.intake.postgres.change import Change, Cut
from headwater.intake.postgres.cutting import Cutting
from headwater.intake.postgres.database import Database
from headwater.intake.postgres.debezium import Debezium, by_queries, properties_of
from headwater.intake.postgres.slot import Slot
from headwater.intake.postgres.tap import Tap
from headwater.intake.postgres.times import Times, loosest
from headwater.intake.protocol import Again
from headwater.waiting import wait_for

_logger = logging.getLogger("headwater.intake")

GATHERING = timedelta(seconds=2)
"""The time that the first table waits for the others of its slot."""
FREE = timedelta(seconds=15)
"""The time that a slot may take to be free when its reader is gone."""
QUIET = 65_536
"""So many bytes of WAL may hold nothing for the tables of a slot before it is given an empty transaction."""
_ROWS = 5_000


class Capture:
    """The reader of a slot, from the first tap to the last one."""

    def __init__(self, slot: Slot, database: Database) -> None:
        self._slot = slot
        self._database = database
        self._guard = threading.Lock()
        self._joined = threading.Condition(self._guard)
        self._taps: dict[str, Tap] = {}
        self._cutting = Cutting(self._taps)
        self._has_begun = self._is_over = False
        self._joined_at = time.monotonic()
        self._debezium: Debezium | None = None
        self._acknowledged = 0
        self._beaten_at = self._looked_at = 0.0
        self._finished = threading.Event()
        self.is_behind = True

    def add(self, tap: Tap) -> bool:
        """Take up a tap; False if it has begun without it."""
        with self._guard:
            if self._has_begun or self._is_over or tap.topic in self._taps:
                return False
            tap.leave = partial(self._leave, tap)
            self._taps[tap.topic] = tap
            self._joined_at = time.monotonic()
            self._joined.notify_all()
            return True

    def start(self) -> None:
        """Begin to read, in a thread."""
        threading.Thread(target=self._run, name="headwater-capture", daemon=True).start()

    def end(self, error: BaseException) -> None:
        """End it: every tap gets this error."""
        with self._guard:
            self._is_over = True
            self._joined.notify_all()
            taps, debezium = list(self._taps.values()), self._debezium
        for tap in taps:
            tap.fail(error)
        if debezium is not None:
            debezium.stop()

    def wait(self) -> None:
        """Wait until it has ended."""
        self._finished.wait()

    def durable(self, tap: Tap, position: int) -> None:
        """Say up to where a log has its table; PostgreSQL is told what all of them have."""
        with self._guard:
            tap.durable = position
            least = self._least()
            if self._debezium is not None and least > self._acknowledged:
                self._acknowledged = least
                self._debezium.acknowledge(least)

    def cut(self, tap: Tap) -> bool:
        """End the share of a tap, and those of all others, at one place; False while one has not taken its last."""
        return self._cutting.cut(tap)

    def look(self, every: timedelta = timedelta(seconds=4)) -> None:
        """Now and then: see whether WAL holds more than we have heard of, and ask for a sign if it does."""
        if time.monotonic() - self._looked_at < every.total_seconds():
            return
        self._looked_at = time.monotonic()
        with self._database.connected() as connection:
            head = self._database.head(connection)
            self.is_behind = head - self._cutting.reached > QUIET
            if self.is_behind and head - self._beaten_at > QUIET:
                self._database.beat(connection)
                self._beaten_at = head

    # Reading

    def _run(self) -> None:
        try:
            self._gather()
            self._prepare()
            self._start()
            self._take_snapshot([tap for tap in self._taps.values() if tap.start is None])
            self._stream()
        except BaseException as error:
            self.end(error)
        finally:
            self._finish()

    def _gather(self) -> None:
        """Wait until the tables of the slot are there, or no other one comes."""
        with self._joined:
            while not self._is_over and len(self._taps) < len(self._slot.tables):
                left = self._joined_at + GATHERING.total_seconds() - time.monotonic()
                if left <= 0:
                    break
                self._joined.wait(left)
            self._has_begun = True
            if self._is_over:
                raise Again

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

    def _refuse_gap(self, gap: SourceReplaced) -> None:
        """Raise, unless all tables may begin with a new snapshot."""
        if not all(tap.again for tap in self._taps.values()):
            raise gap
        _logger.warning("%s; its tables begin with a new snapshot", gap.summary)

    def _wait_until_free(self) -> None:
        slot, database = self._slot, self._database

        def reader() -> int | None:
            with database.connected() as connection:
                found = database.slot(connection, slot.name)
            return None if found is None else found.reader

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
        debezium = self._debezium
        assert debezium is not None
        properties = properties_of(name, self._slot.publication, tables, snapshot=True)
        debezium.begin(properties | by_queries(queries))
        try:
            self._hand_rows(taps, made_at)
            debezium.end()
            with self._database.connected() as connection:
                found = self._database.slot(connection, name)
        finally:
            with suppress(HeadwaterError), self._database.connected() as connection:
                self._database.drop_slot(connection, name)
        assert found is not None
        cut = Cut(found.confirmed, made_at, {tap.topic: found.confirmed for tap in taps})
        for tap in taps:
            tap.begin(cut)

    def _hand_rows(self, taps: Sequence[Tap], made_at: int) -> None:
        """Hand the rows of a snapshot, of this time, to their taps, until Debezium has begun to read changes."""
        assert self._debezium is not None
        rows: dict[str, list[Change]] = {}

        def hand(table: str) -> None:
            for tap in taps:
                if tap.table == table:
                    tap.put_rows(rows[table])
            rows[table] = []

        for line in self._debezium.lines():
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
        debezium = self._debezium
        assert debezium is not None
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

    def _times(self) -> Times:
        return Times(loosest([tap.ahead for tap in self._taps.values()]))

    # The process

    def _start(self) -> None:
        debezium = Debezium(self._database, self._slot.java(), self._slot.log)
        with self._guard:
            self._debezium = debezium
            over = self._is_over
        if over:
            raise Again

    def _stop(self) -> None:
        with self._guard:
            debezium, self._debezium = self._debezium, None
        if debezium is not None:
            debezium.stop()

    def _leave(self, tap: Tap) -> None:
        with self._guard:
            is_last = self._cutting.leave(tap)
        if is_last:
            self.end(Again())
            self.wait()

    def _finish(self) -> None:
        """Stop, and let PostgreSQL forget what all logs have."""
        self._stop()
        with self._guard:
            least = self._least()
        with suppress(HeadwaterError):
            if least:
                self._wait_until_free()
                with self._database.connected() as connection:
                    self._database.advance(connection, self._slot.name, least)
        self._finished.set()

    def _least(self) -> int:
        """The position that all logs of the slot have; 0 if one isn't known."""
        if self._taps.keys() < self._slot.tables.keys():
            return 0
        return min(tap.durable or 0 for tap in self._taps.values())


_captures: dict[tuple[str, str], Capture] = {}
_guard = threading.Lock()


def join(slot: Slot, database: Database, tap: Tap) -> Capture:
    """The reader of a slot that hands its changes to this tap too; one that has begun without it is begun anew."""
    key = slot.address, slot.name
    with _guard:
        before = _captures.get(key)
        if before is not None and before.add(tap):
            return before
        capture = _captures[key] = Capture(slot, database)
        capture.add(tap)
    if before is not None:
        before.end(Again())
        before.wait()
    capture.start()
    return capture
