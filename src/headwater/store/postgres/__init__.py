"""Views in a PostgreSQL database, for any client to query.

A version's rows are in the table `<view>__v<version>`; the view's own name is an SQL view over the promoted version. A
batch's rows, position, ledger and changelog are one transaction, in which the row of the version's epoch is locked:
whoever takes the next epoch waits for it, and who holds an older one is refused. PostgreSQL 15 or newer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import psycopg
import pyarrow as pa

from headwater.log.topic import wall_clock
from headwater.model import Emit
from headwater.store.options import CHANGES_RETENTION
from headwater.store.postgres import changelog, promotion
from headwater.store.postgres.answers import answer, declared_types
from headwater.store.postgres.bookkeeping import BOOKS, shape_of
from headwater.store.postgres.connections import Connection
from headwater.store.postgres.database import Database, lock
from headwater.store.postgres.names import check_names, images_of
from headwater.store.postgres.rows import Rows, patterns_of, rows_of
from headwater.store.postgres.selection import can, select
from headwater.store.postgres.staging import Staging
from headwater.store.postgres.together import write_together
from headwater.store.postgres.transfer import copied_out, copy_into
from headwater.store.postgres.version_tables import VersionTables
from headwater.store.protocol import Batch, Span, Target
from headwater.store.refusals import (
    altered,
    batch_refused,
    check_added,
    name_taken,
    other_plan,
)
from headwater.store.selection import Condition, Order, Selection
from headwater.store.spelling import changes_of, quoted, table_of
from headwater.store.tables import TableStore

LOCK_TIMEOUT = timedelta(seconds=30)
STATEMENT_TIMEOUT = timedelta(seconds=30)
SILENCE_TIMEOUT = timedelta(seconds=20)
_NOT_HELD = ("22", "23", "54")
"""Classes of SQLSTATE for values that can't be written: data exceptions, violated constraints, limits."""


class PostgresStore(TableStore[VersionTables]):
    """A `Store` in a schema of a PostgreSQL database; the schema is created when it is first used.

    `parameters` are libpq's, beside those of the URL and of the environment (PGHOST and so on). `lock_timeout` is how
    long a writer waits for another's lock, `statement_timeout` how long a `query` may take, and `silence_timeout` how
    long a transaction may be silent before the server ends it: a process that was stopped in the middle of one keeps
    its successor waiting no longer than that. `reader` is the URL of the role that answers `query`.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str = "public",
        parameters: Mapping[str, str] | None = None,
        reader: str | None = None,
        changes_retention: timedelta = CHANGES_RETENTION,
        lock_timeout: timedelta = LOCK_TIMEOUT,
        statement_timeout: timedelta = STATEMENT_TIMEOUT,
        silence_timeout: timedelta = SILENCE_TIMEOUT,
        now: Callable[[], datetime] = wall_clock,
    ) -> None:
        self._database = Database(
            url,
            schema,
            parameters or {},
            reader=reader,
            lock_timeout=lock_timeout,
            statement_timeout=statement_timeout,
            silence_timeout=silence_timeout,
        )
        super().__init__(self._database.place, self._database, BOOKS, VersionTables, changes_retention, now)

    def open(self, target: Target, fingerprint: str) -> int:
        """Take the next epoch of a version; create what is missing."""
        check_names(target)
        with self._database.writing() as connection:
            lock(connection, target.view)
            recorded = self._books.recorded(connection, target.view, target.version)
            if recorded is None:
                self._create(connection, self._tables(target), fingerprint)
            else:
                self._check(connection, target, fingerprint, *recorded)
            for columns in target.serving.indexes:
                connection.execute(self._tables(target).index(*columns))
            connection.execute(VersionTables(target).comment())  # targets that differ in comments are equal
            return self._books.take_epoch(connection, target.view, target.version, self._now())

    def _create(self, connection: Connection, tables: VersionTables, fingerprint: str) -> None:
        target = tables.target
        for name in (table_of, images_of, changes_of):
            self._check_free(connection, name(target.view, target.version))
        for statement in tables.create():
            connection.execute(statement)
        shape = shape_of(connection, _names(target))
        self._books.record_version(connection, target, fingerprint, shape, self._now())

    def _check_free(self, connection: Connection, name: str) -> None:
        """Refuse to use a name that something else in the schema has."""
        kind = promotion.kind_of(connection, name)
        if kind is not None:
            raise name_taken(self.place, kind, name)

    def _check(self, connection: Connection, target: Target, fingerprint: str, before: str, shape: str) -> None:
        """Refuse a version that was made by another plan, or that someone else has altered since."""
        same = self._books.target_of(connection, target.view, target.version) == target
        if before != fingerprint or not same:
            raise other_plan(self.place, target, fingerprint, before, same)
        if shape_of(connection, _names(target)) != shape:
            raise altered(self.place, target.view, target.version)

    def apply(self, target: Target, epoch: int, batch: Batch) -> bool:
        """Write a batch: rows, position, ledger and changelog at once, or nothing."""
        write = self.prepared(target, epoch, batch)
        with self._database.writing() as connection:
            write.stage(connection)
            return write.write(connection)

    def prepared(self, target: Target, epoch: int, batch: Batch) -> _Write:
        """Make ready what `apply` writes."""
        tables = self._tables(target)
        return _Write(self, epoch, batch, Staging(tables), rows_of(tables, batch))

    def write_together(self, prepared: Sequence[_Write]) -> list[Future[bool]]:
        """Write what was made ready in one transaction."""
        return write_together(self._database, prepared)

    def _apply(self, connection: Connection, epoch: int, batch: Batch, staging: Staging, rows: Rows) -> bool:
        """Write a batch whose rows are on the stage."""
        target = staging.tables.target
        if not self._books.is_new(connection, target, epoch, batch):
            return False
        with _refusing(target, batch):
            changes = self._write(connection, staging, batch, rows)
        self._books.record_batch(connection, target, batch.position, self._now(), [changes])
        self._books.add_to_ledger(connection, target, batch.ledger)
        if (now := self._due(target)) is not None:
            changelog.trim(connection, staging.tables, now - self._retention)
        return True

    def _write(self, connection: Connection, staging: Staging, batch: Batch, rows: Rows) -> int:
        """Write the rows that are on the stage, and their changes; how many changed."""
        tables, number = staging.tables, batch.position.batch
        if not tables.replaces:
            return min(connection.execute(statement).rowcount for statement in staging.add(number))
        changes = 0
        for pattern in patterns_of(rows.deletes):
            changes += connection.execute(staging.delete(number, pattern)).rowcount
        for pattern in patterns_of([rows.upserts[position] for position in tables.key]):
            connection.execute(staging.meet(pattern))
        logged, *written = [connection.execute(statement).rowcount for statement in staging.write_met(number)]
        check_added(tables.target, batch, written[-1])
        if sum(written) != logged:  # a row that was met isn't where it was: only someone else can have written it
            raise altered(self.place, tables.target.view, tables.target.version)
        return changes + logged

    def promote(self, view: str, version: int) -> None:
        """Let the view's own name stand for this version, in one step; what was granted on it stays granted."""
        with self._database.writing() as connection:
            lock(connection, view)
            tables = self._tables(self._books.target_of(connection, view, version))
            kind = promotion.kind_of(connection, view)
            if kind not in (None, "view"):
                raise name_taken(self.place, str(kind), view)
            self._database.grant(connection)
            promotion.swap(connection, tables, exists=kind is not None)
            self._database.grant(connection, view)
            self._books.record_promoted(connection, view, version)

    def query(self, sql: str, limit: int | None = None) -> pa.Table:
        """Answer one statement in PostgreSQL's SQL, as the reader; it is impossible to write with it."""
        with self._database.reading() as connection:
            declared = declared_types(connection)
        with self._database.answering() as connection:
            return answer(connection, sql, limit, declared)

    def _fetch(self, connection: Connection, tables: VersionTables, span: Span | None) -> list[pa.Array]:
        return copied_out(connection, tables.select(span), len(tables.codecs))

    def _can(self, connection: Connection, tables: VersionTables, part: Condition | Order) -> bool:  # noqa: ARG002
        return can(tables.target.type_of(part.column), part)

    def _select(self, connection: Connection, tables: VersionTables, selection: Selection) -> Iterator[list[pa.Array]]:
        width = len(selection.of(tables.target.columns))
        yield copied_out(connection, select(tables, selection), width)

    def _next_changes(
        self, connection: Connection, tables: VersionTables, since: int | None
    ) -> tuple[int, pa.Table] | None:
        return changelog.next_changes(connection, tables, since)

    def _lock(self, connection: Connection, view: str) -> None:
        lock(connection, view)

    def _remove(self, connection: Connection, tables: VersionTables) -> None:
        self._books.epoch_of(
            connection, tables.target.view, tables.target.version
        )  # a batch that is applied goes first
        for statement in tables.drop():
            connection.execute(statement)

    def index(self, view: str, version: int, column: str) -> None:
        """Let spans of a column be found without reading all rows."""
        with self._database.writing() as connection:
            lock(connection, view)
            connection.execute(self._tables(self._books.target_of(connection, view, version)).index(column))


@dataclass(frozen=True)
class _Write:
    """A batch that is ready to be written: by an epoch, with its rows as they are copied to the stage."""

    store: PostgresStore
    epoch: int
    batch: Batch
    staging: Staging
    rows: Rows

    @property
    def order(self) -> tuple[str, int]:
        """The version that is locked."""
        target = self.staging.tables.target
        return target.view, target.version

    def stage(self, connection: Connection) -> None:
        """Put the rows on the stage, before the epoch is locked: who is stopped here keeps nobody waiting."""
        with _refusing(self.staging.tables.target, self.batch):
            _put_on(connection, self.staging, self.rows)

    def write(self, connection: Connection) -> bool:
        """Write what is on the stage."""
        return self.store._apply(connection, self.epoch, self.batch, self.staging, self.rows)


@contextmanager
def _refusing(target: Target, batch: Batch) -> Iterator[None]:
    """Turn what PostgreSQL says about a batch's values into a refusal of the batch."""
    try:
        yield
    except psycopg.Error as cause:
        if not (cause.sqlstate or "").startswith(_NOT_HELD):
            raise
        final = cause.sqlstate == "23505" and target.emit is Emit.FINAL
        reason = "A settled row comes a second time" if final else "PostgreSQL can't hold one of its rows"
        told = cause.diag.message_primary or str(cause)
        raise batch_refused(target, batch, f"{reason} ({told}).") from cause


def _put_on(connection: Connection, staging: Staging, rows: Rows) -> None:
    connection.execute(staging.prepare())
    copy_into(connection, staging.stage, range(len(staging.tables.columns)), rows.upserts)
    if rows.deletes:
        copy_into(connection, staging.gone, staging.tables.key, rows.deletes)


def _names(target: Target) -> list[str]:
    return [quoted(name(target.view, target.version)) for name in (table_of, images_of)]
