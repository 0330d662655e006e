"""The capture of a binary log: one reader for all tables of a database that a project takes in."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress

import pymysql

from headwater.errors import SourceRefused, SourceReplaced
from headwater.intake.changes.capture import Capture
from headwater.intake.changes.change import Cut
from headwater.intake.changes.tap import Tap
from headwater.intake.changes.times import now
from headwater.intake.mysql.binlog import BinaryLog
from headwater.intake.mysql.database import AGAIN, Database
from headwater.intake.mysql.layout import LayoutUnknown
from headwater.intake.mysql.snapshot import at_one_place, rows_of
from headwater.intake.mysql.statement import Doubt
from headwater.intake.protocol import Again

_doubts: dict[str, int] = {}
"""The positions, by address, from which on rows don't tell all, so that tables begin with a snapshot behind them."""


class BinaryLogCapture(Capture):
    """The reader of a binary log."""

    def __init__(self, tables: Mapping[str, str], database: Database) -> None:
        super().__init__(tables)
        self._database = database
        self._connection: pymysql.Connection | None = None

    def _prepare(self) -> None:
        database = self._database
        doubt = _doubts.get(database.address, -1)
        with database.connected() as connection:
            gaps = {
                name: database.replaced("doesn't tell all", tap.start)
                if tap.start < doubt
                else database.gap(connection, tap.start)
                for name, tap in self._taps.items()
                if tap.start is not None
            }
        for gap in gaps.values():
            if gap is not None:
                self._refuse_gap(gap)
        for name, tap in self._taps.items():
            tap.decide(again=gaps.get(name) is not None)

    def _take_snapshot(self, taps: Sequence[Tap]) -> None:
        if not taps:
            return
        database = self._database
        times = self._times()
        for tap in taps:
            times.raise_to(tap.newest)
        with at_one_place(database) as (connection, position):
            made_at = times.of(now())
            for name in dict.fromkeys(tap.table for tap in taps):
                with database.connected() as other:
                    table = database.table(other, name)
                for rows in rows_of(connection, table, made_at):
                    for tap in taps:
                        if tap.table == name:
                            tap.put_rows(rows)
        cut = Cut(position, made_at, {tap.topic: position for tap in taps})
        for tap in taps:
            tap.begin(cut)

    def _stream(self) -> None:
        database = self._database
        self._cutting.begin()
        times = self._times()
        starts = [tap.start for tap in self._taps.values() if tap.start is not None]
        with database.connected() as connection:
            server = database.server(connection)
        tables = {tap.table for tap in self._taps.values()}  # as the server spells them
        try:
            binary_log = BinaryLog(self._opened(), server, tables, min(starts))
            for told in binary_log.told():
                self._cutting.hand_on(told.position, told.changes, times)
        except Doubt as doubt:
            raise self._doubted(doubt) from doubt
        except LayoutUnknown as unknown:
            raise self._unread(unknown) from unknown
        except (pymysql.Error, OSError) as cause:
            raise database.failure(cause) from cause
        raise database.failure(EOFError("the server has ended the connection"))

    def _doubted(self, doubt: Doubt) -> Exception:
        """Begin anew with a snapshot where all tables may, else an error."""
        _doubts[self._database.address] = doubt.position
        if all(tap.again for tap in self._taps.values()):
            return Again()
        return SourceReplaced(
            f"the binary log of {self._database.title} doesn't tell all that happened",
            detail=f"{doubt.reason}. What the logs have is what was there before.",
            hint=AGAIN,
            topic=self._database.topic,
        )

    def _unread(self, unknown: LayoutUnknown) -> SourceRefused:
        return self._database.refused(
            "can't read the binary log of its database",
            f"It has {unknown}. Nothing behind it was taken in.",
            "Set the server up as the page about intake says; what was written before that can be passed by with "
            "gaps = 'snapshot', after the files were purged.",
        )

    # The connection

    def _opened(self) -> pymysql.Connection:
        connection = self._database.connect()
        with self._guard:
            self._connection = connection
            over = self._is_over
        if over:
            raise Again
        return connection

    def _interrupt(self) -> None:
        with self._guard:
            connection = self._connection
        if connection is not None and connection._sock is not None:
            with suppress(OSError):
                connection._sock.shutdown(socket.SHUT_RDWR)

    def _look(self) -> None:
        with self._database.connected() as connection:
            self.is_behind = self._database.head(connection) > self._cutting.reached

    def _stop(self, least: int) -> None:  # noqa: ARG002
        if self._connection is not None:
            with suppress(pymysql.Error, OSError):
                self._connection.close()
