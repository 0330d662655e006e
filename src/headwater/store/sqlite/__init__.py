"""Views in a SQLite file: the store that needs no server.

A version's rows are in the table `<view>__v<version>`; the view's own name is an SQL view over the promoted version.
One process at a time writes a view; any client may read the file meanwhile and never waits. The file must be on a disk
of this machine: SQLite's locks can't be relied on over a network.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from headwater.model import Emit
from headwater.store.protocol import Batch, Position, Span, Target, Version
from headwater.store.refusals import (
    altered,
    batch_refused,
    fenced,
    is_promoted,
    name_taken,
    none_promoted,
    other_commits,
    other_plan,
    was_dropped,
)
from headwater.store.sqlite import bookkeeping, changelog
from headwater.store.sqlite.answers import answer
from headwater.store.sqlite.database import Database
from headwater.store.sqlite.layout import Layout
from headwater.store.sqlite.names import changes_of, check_name, images_of, quoted, table_of
from headwater.store.sqlite.rows import Columns, deletes_of, grouped, upserts_of
from headwater.store.unfit import Unfit

CHANGES_RETENTION = timedelta(days=7)
BUSY_TIMEOUT = timedelta(seconds=10)


def _wall_clock() -> datetime:
    return datetime.now(UTC)


class SqliteStore:
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
        now: Callable[[], datetime] = _wall_clock,
    ) -> None:
        self.path = path
        self._retention = changes_retention
        self._now = now
        self._database = Database(path, busy_timeout)
        self._layouts: dict[Target, Layout] = {}

    def open(self, target: Target, fingerprint: str) -> int:
        """Take the next epoch of a version; create what is missing."""
        check_name(target.view)
        layout = self._layout(target)
        with self._database.writing() as connection:
            found = bookkeeping.recorded(connection, target.view, target.version)
            if found is None:
                self._create(connection, layout, fingerprint)
            else:
                self._check(connection, target, fingerprint, *found)
            for columns in target.serving.indexes:
                connection.execute(layout.index(*columns))
            return bookkeeping.take_epoch(connection, target.view, target.version, self._now())

    def _create(self, connection: sqlite3.Connection, layout: Layout, fingerprint: str) -> None:
        target = layout.target
        for name in (table_of, images_of, changes_of):
            self._check_free(connection, name(target.view, target.version))
        for statement in layout.create():
            connection.execute(statement)
        bookkeeping.record_version(connection, target, fingerprint, layout.create(), self._now())

    def _check_free(self, connection: sqlite3.Connection, name: str, kind: str = "") -> None:
        """Refuse to use a name that something else in the file has; something of that kind may have it."""
        taken = connection.execute("SELECT type FROM sqlite_schema WHERE name = ? COLLATE NOCASE", (name,)).fetchone()
        if taken is not None and taken[0] != kind:
            raise name_taken(str(self.path), taken[0], name)

    def _check(
        self, connection: sqlite3.Connection, target: Target, fingerprint: str, before: str, statements: list[str]
    ) -> None:
        """Refuse a version that was made by another plan, or that someone else has altered since."""
        same = bookkeeping.target_of(connection, target.view, target.version) == target
        if before != fingerprint or not same:
            raise other_plan(str(self.path), target, fingerprint, before, same)
        present = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema")}
        if not present.issuperset(statements):
            raise altered(str(self.path), target.view, target.version)

    def apply(self, target: Target, epoch: int, batch: Batch) -> bool:
        """Write a batch: rows, position, ledger and changelog at once, or nothing."""
        layout = self._layout(target)
        upserts = upserts_of(layout, batch)
        deletes = deletes_of(layout, batch, upserts)
        with self._database.writing() as connection:
            self._check_epoch(connection, target, epoch)
            if self._was_applied(connection, target, batch):
                return False
            before = changelog.last_change(connection, layout)
            self._write(connection, layout, batch, upserts, deletes)
            changes = (before, changelog.last_change(connection, layout))
            bookkeeping.record_batch(connection, target, batch.position, self._now(), changes)
            bookkeeping.add_to_ledger(connection, target, batch.ledger)
            changelog.trim(connection, layout, self._now() - self._retention)
        return True

    def _check_epoch(self, connection: sqlite3.Connection, target: Target, epoch: int) -> None:
        newest, holder, since = bookkeeping.epoch_of(connection, target.view, target.version)
        if newest != epoch:
            raise fenced(target, epoch, newest, holder, since)
        if bookkeeping.recorded(connection, target.view, target.version) is None:
            raise was_dropped(target)

    def _was_applied(self, connection: sqlite3.Connection, target: Target, batch: Batch) -> bool:
        newest = bookkeeping.position_of(connection, target.view, target.version)
        if newest is None or batch.position.batch > newest.batch:
            return False
        known = bookkeeping.position_of(connection, target.view, target.version, batch.position.batch)
        if known is not None and dict(known.commits) != dict(batch.position.commits):
            raise other_commits(target, batch, known)
        return True

    def _write(
        self,
        connection: sqlite3.Connection,
        layout: Layout,
        batch: Batch,
        upserts: Columns,
        deletes: list[tuple[object, ...]],
    ) -> None:
        try:
            if deletes:
                connection.executemany(layout.delete, deletes)
            (last,) = connection.execute(layout.last_row).fetchone()
            whole = len(upserts[0]) // layout.group * layout.group
            connection.executemany(layout.write_group, grouped(upserts, layout.group))
            connection.executemany(layout.write, zip(*(column[whole:] for column in upserts), strict=True))
            connection.execute(layout.log_inserts, (last,))
        except sqlite3.IntegrityError as cause:
            final = "UNIQUE" in str(cause) and layout.target.emit is Emit.FINAL
            reason = "A settled row comes a second time" if final else "A row doesn't fit the declared columns"
            raise batch_refused(layout.target, batch, f"{reason} ({cause}).") from cause

    def position(self, view: str, version: int) -> Position | None:
        """How far a version has come."""
        with self._database.reading() as connection:
            return bookkeeping.position_of(connection, view, version)

    def ledger(self, view: str, version: int) -> dict[str, int]:
        """The sums of all batches' counts."""
        with self._database.reading() as connection:
            return bookkeeping.ledger_of(connection, view, version)

    def promote(self, view: str, version: int) -> None:
        """Let the view's own name stand for this version, in one step."""
        with self._database.writing() as connection:
            layout = self._layout(bookkeeping.target_of(connection, view, version))
            self._check_free(connection, view, "view")
            connection.execute(f"DROP VIEW IF EXISTS {quoted(view)}")
            connection.execute(layout.alias)
            bookkeeping.record_promoted(connection, view, version)

    def promoted(self, view: str) -> int | None:
        """The version that the view's name stands for."""
        with self._database.reading() as connection:
            return bookkeeping.promoted_of(connection, view)

    def versions(self, view: str) -> tuple[Version, ...]:
        """Every version that is there, in the order of their numbers."""
        with self._database.reading() as connection:
            return bookkeeping.versions_of(connection, view)

    def drop(self, view: str, version: int) -> None:
        """Remove a version and all that belongs to it."""
        with self._database.writing() as connection:
            if bookkeeping.recorded(connection, view, version) is None:
                return
            if bookkeeping.promoted_of(connection, view) == version:
                raise is_promoted(view, version)
            for statement in self._layout(bookkeeping.target_of(connection, view, version)).drop():
                connection.execute(statement)
            bookkeeping.forget_version(connection, view, version)

    def query(self, sql: str, limit: int | None = None) -> pa.Table:
        """Answer one statement in SQLite's SQL; it is impossible to write with it."""
        with self._database.reading() as connection:
            return answer(connection, sql, limit)

    def read(self, view: str, version: int | None = None, span: Span | None = None) -> pa.Table:
        """The rows of a version, by default of the promoted one, with exactly the declared types; all, or of a span."""
        with self._database.reading() as connection:
            number = bookkeeping.promoted_of(connection, view) if version is None else version
            if number is None:
                raise none_promoted(view)
            layout = self._layout(bookkeeping.target_of(connection, view, number))
            rows = connection.execute(*layout.select(span)).fetchall()
        columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in layout.codecs]
        try:
            arrays = [codec.decode(values) for codec, values in zip(layout.codecs, columns, strict=True)]
        except Unfit as cause:
            raise altered(str(self.path), view, number) from cause
        return pa.Table.from_arrays(arrays, schema=layout.target.schema)

    def index(self, view: str, version: int, column: str) -> None:
        """Let spans of a column be found without reading all rows."""
        with self._database.reading() as connection:
            layout = self._layout(bookkeeping.target_of(connection, view, version))
        with self._database.writing() as connection:
            connection.execute(layout.index(column))

    def changes(self, view: str, version: int, since: Position | int | None = None) -> Iterator[pa.Table]:
        """What the batches after `since` changed. No transaction is held while the caller works on a table."""
        last = since.batch if isinstance(since, Position) else since
        while True:
            with self._database.reading() as connection:
                layout = self._layout(bookkeeping.target_of(connection, view, version))
                found = changelog.next_changes(connection, layout, last)
            if found is None:
                return
            last = found[0]
            yield found[1]

    def close(self) -> None:
        """Let go of the connection that writes."""
        self._database.close()

    def _layout(self, target: Target) -> Layout:
        return self._layouts.setdefault(target, Layout(target))
