"""Views in a SQLite file: the store that needs no server.

A version's rows are in the table `<view>__v<version>`; the view's own name is an SQL view over the promoted version.
One process at a time writes a view; any client may read the file meanwhile and never waits. The file must be on a disk
of this machine: SQLite's locks can't be relied on over a network.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater.log.topic import wall_clock
from headwater.model import Emit
from headwater.store.names import images_of
from headwater.store.options import CHANGES_RETENTION
from headwater.store.protocol import Batch, Snapshot, Span, Target
from headwater.store.refusals import (
    altered,
    batch_refused,
    check_added,
    name_taken,
    other_plan,
)
from headwater.store.selection import Condition, Order, Selection
from headwater.store.spelling import changes_of, quoted, table_of
from headwater.store.sqlite import changelog
from headwater.store.sqlite.answers import answer
from headwater.store.sqlite.bookkeeping import BOOKS
from headwater.store.sqlite.database import Database, Reader, Write
from headwater.store.sqlite.formats import bring_forward
from headwater.store.sqlite.names import check_name
from headwater.store.sqlite.record import Copies
from headwater.store.sqlite.rows import Written, grouped, written_of
from headwater.store.sqlite.selection import can, distant, select, sorts_elsewhere
from headwater.store.sqlite.values import Codec
from headwater.store.sqlite.version_tables import VersionTables
from headwater.store.tables import R, TableStore, Transaction

BUSY_TIMEOUT = timedelta(seconds=10)
PART = 20_000
"""The number of rows that are read at a time."""


class SqliteStore(TableStore[VersionTables]):
    """A `Store` in a SQLite file, which is created when it is first used.

    The changelog keeps batches for `changes_retention` after they were applied. `busy_timeout` is how long a writer
    waits for another process's transaction.
    """

    def __init__(
        self,
        path: Path,
        *,
        changes_retention: timedelta = CHANGES_RETENTION,
        busy_timeout: timedelta = BUSY_TIMEOUT,
        now: Callable[[], datetime] = wall_clock,
    ) -> None:
        self.path = path
        self._database = Database(path, busy_timeout)
        super().__init__(str(path), self._database, BOOKS, VersionTables, changes_retention, now)

    def require_sound(self) -> None:
        """`StoreDamaged` if the file isn't as it was left."""
        self._database.require_sound(again=True)

    def put_aside(self) -> Path:
        """Move the damaged file away, so that views are rebuilt into a new one; returns where it is."""
        return self._database.put_aside(self._now())

    def open(self, target: Target, fingerprint: str) -> int:
        """Take the next epoch of a version; create what is missing."""
        check_name(target.view)
        tables = self._tables(target)
        with self._database.writing() as connection:
            recorded = self._books.recorded(connection, target.view, target.version)
            if recorded is None:
                self._create(connection, tables, fingerprint)
            else:
                self._check(connection, tables, fingerprint, *recorded)
            for columns in target.serving.indexes:
                connection.execute(tables.index(*columns))
            return self._books.take_epoch(connection, target.view, target.version, self._now())

    def _create(self, connection: sqlite3.Connection, tables: VersionTables, fingerprint: str) -> None:
        target = tables.target
        for name in (table_of, images_of, changes_of):
            self._check_free(connection, name(target.view, target.version))
        for statement in tables.create():
            connection.execute(statement)
        self._books.record_version(connection, target, fingerprint, json.dumps(tables.create()), self._now())

    def _check_free(self, connection: sqlite3.Connection, name: str, kind: str = "") -> None:
        """Refuse to use a name that something else in the file has; something of that kind may have it."""
        taken = connection.execute("SELECT type FROM sqlite_schema WHERE name = ? COLLATE NOCASE", (name,)).fetchone()
        if taken is not None and taken[0] != kind:
            raise name_taken(self.place, taken[0], name)

    def _check(
        self, connection: sqlite3.Connection, tables: VersionTables, fingerprint: str, before: str, statements: str
    ) -> None:
        """Refuse a version that was made by another plan, or that someone else has altered since."""
        target = tables.target
        same = self._books.target_of(connection, target.view, target.version) == target
        if before != fingerprint or not same:
            raise other_plan(self.place, target, fingerprint, before, same)
        present = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema")}
        if not present.issuperset(json.loads(statements)) or not bring_forward(connection, tables):
            raise altered(self.place, target.view, target.version)

    def apply(self, target: Target, epoch: int, batch: Batch) -> bool:
        """Write a batch: rows, position, ledger and changelog at once, or nothing."""
        done: bool = self._database.write(self.prepared(target, epoch, batch))
        return done

    def prepared(self, target: Target, epoch: int, batch: Batch) -> Write:
        """Make ready what `apply` writes."""
        tables = self._tables(target)
        written = written_of(tables, batch)

        def write(connection: sqlite3.Connection) -> bool:
            if not self._books.is_new(connection, target, epoch, batch):
                return False
            before = changelog.last_change(connection, tables)
            changes = (before, self._write(connection, tables, batch, written) if written.is_some else before)
            self._books.record_batch(connection, target, batch.position, self._now(), changes)
            self._books.add_to_ledger(connection, target, batch.ledger)
            if (now := self._due(target)) is not None:
                changelog.trim(connection, tables, now - self._retention)
            return True

        return write

    def write_together(self, prepared: Sequence[Write]) -> list[Future[bool]]:
        """Write what was made ready in one transaction."""
        return self._database.write_together(prepared)

    def _write(self, connection: sqlite3.Connection, tables: VersionTables, batch: Batch, written: Written) -> int:
        """Write rows and their changes; the number of the newest change."""
        try:
            if written.deletes:
                connection.executemany(tables.delete, written.deletes)
            (last,) = connection.execute(tables.last_row).fetchone()
            for part in written.parts:
                for size, rows in grouped(part, tables.group):
                    connection.executemany(tables.write(size), rows)
            if isinstance(tables.record, Copies):
                inserted = connection.execute(tables.record.copy_new, (last,)).rowcount
                check_added(tables.target, batch, inserted)
            return changelog.last_change(connection, tables)
        except sqlite3.IntegrityError as cause:
            final = "UNIQUE" in str(cause) and tables.target.emit is Emit.FINAL
            reason = "A settled row comes a second time" if final else "A row doesn't fit the declared columns"
            raise batch_refused(tables.target, batch, f"{reason} ({cause}).") from cause

    def promote(self, view: str, version: int) -> None:
        """Let the view's own name stand for this version, in one step."""
        with self._database.writing() as connection:
            tables = self._tables(self._books.target_of(connection, view, version))
            self._check_free(connection, view, "view")
            connection.execute(f"DROP VIEW IF EXISTS {quoted(view)}")
            connection.execute(tables.alias)
            self._books.record_promoted(connection, view, version)

    def query(self, sql: str, limit: int | None = None) -> pa.Table:
        """Answer one statement in SQLite's SQL; it is impossible to write with it."""
        with self._database.reading() as connection:
            return answer(connection, sql, limit)

    def snapshot_at_hand(self) -> AbstractContextManager[Snapshot] | None:
        """The file as it is now; None while it has not been looked at yet."""
        return self._at_hand() if self._database.is_prepared else None

    @contextmanager
    def _at_hand(self) -> Iterator[Snapshot]:
        with self._database.reading(waits=False) as connection:
            yield Transaction(self, connection)

    def _remembered(self, connection: Reader, asked: tuple[Any, ...], find: Callable[[], R]) -> R:
        return connection.remembered(asked, find)

    def _plain(self, codec: Codec, values: Any) -> Sequence[Any]:
        return codec.plain(values)

    def _fetch(self, connection: sqlite3.Connection, tables: VersionTables, span: Span | None) -> list[list[Any]]:
        rows = connection.execute(*tables.select(span)).fetchall()
        return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in tables.codecs]

    def _can(self, connection: sqlite3.Connection, tables: VersionTables, part: Condition | Order) -> bool:
        kind = tables.target.type_of(part.column)
        if isinstance(part, Order) and sorts_elsewhere(kind):
            return connection.execute(distant(tables, part.column)).fetchone() is None
        return can(kind, part)

    def _select(
        self, connection: sqlite3.Connection, tables: VersionTables, selection: Selection
    ) -> Iterator[list[tuple[Any, ...]]]:
        cursor = connection.execute(*select(tables, selection))
        cursor.arraysize = PART
        while rows := cursor.fetchmany():
            yield list(zip(*rows, strict=True))

    def _next_changes(
        self, connection: sqlite3.Connection, tables: VersionTables, since: int | None
    ) -> tuple[int, pa.Table] | None:
        return changelog.next_changes(connection, tables, since)

    def _remove(self, connection: sqlite3.Connection, tables: VersionTables) -> None:
        for statement in tables.names.drop():
            connection.execute(statement)

    def index(self, view: str, version: int, column: str) -> None:
        """Let spans of a column be found without reading all rows."""
        with self._database.reading() as connection:
            tables = self._tables(self._books.target_of(connection, view, version))
        with self._database.writing() as connection:
            connection.execute(tables.index(column))
