"""A store in a database: what is the same for every database, whatever its SQL.

A version's rows are in the table `<view>__v<version>`; the view's own name is an SQL view over the promoted version.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from headwater.store.bookkeeping import Bookkeeping
from headwater.store.plain import plain
from headwater.store.protocol import Position, Served, Snapshot, Span, Target, Version
from headwater.store.refusals import altered, is_promoted, none_promoted
from headwater.store.selection import Condition, Order, Selection
from headwater.store.unfit import Unfit


class Database(Protocol):
    """The connections to a database."""

    def reading(self, longest: timedelta | None = None) -> AbstractContextManager[Any]:
        """A transaction that can't write, whose statements all see the same commit, and none of which takes longer."""

    def writing(self) -> AbstractContextManager[Any]:
        """A transaction: all of it at the end, or nothing."""

    def close(self) -> None:
        """Let go of the connections."""


class Codec(Protocol):
    """The codec of a column."""

    @property
    def decode(self) -> Callable[[Any], pa.Array]:
        """Makes values of what the database has; `Unfit` if someone else wrote it."""


class VersionTables(Protocol):
    """The tables of a version."""

    @property
    def target(self) -> Target:
        """The version."""

    @property
    def codecs(self) -> Sequence[Codec]:
        """The codec of each column."""


T = TypeVar("T", bound=VersionTables)
TRIMS = 1000
"""The changelog is looked through so many times in the time that it is kept for."""
R = TypeVar("R")


class TableStore(ABC, Generic[T]):
    """The part of a `Store` that every database shares; `place` is what it is called in messages."""

    def __init__(
        self,
        place: str,
        database: Database,
        books: Bookkeeping,
        tables: Callable[[Target], T],
        changes_retention: timedelta,
        now: Callable[[], datetime],
    ) -> None:
        self.place = place
        self._books = books
        self._retention = changes_retention
        self._now = now
        self._connections = database
        self._make_tables = tables
        self._known: dict[Target, T] = {}
        self._trimmed: dict[tuple[str, int], datetime] = {}

    @abstractmethod
    def _fetch(self, connection: Any, tables: T, span: Span | None) -> Sequence[Any]:
        """A version's rows, column by column, as the database has them."""

    @abstractmethod
    def _can(self, connection: Any, tables: T, part: Condition | Order) -> bool:
        """Tells whether the database does this part of a selection exactly as Spark would."""

    @abstractmethod
    def _select(self, connection: Any, tables: T, selection: Selection) -> Iterator[Sequence[Any]]:
        """The wanted columns of chosen rows, part by part, as the database has them."""

    @abstractmethod
    def _next_changes(self, connection: Any, tables: T, since: int | None) -> tuple[int, pa.Table] | None:
        """The first batch after `since` that changed something, and what; None if there is none yet."""

    @abstractmethod
    def _remove(self, connection: Any, tables: T) -> None:
        """Remove the tables of a version, once nothing is being written to it."""

    def _remembered(self, connection: Any, asked: tuple[Any, ...], find: Callable[[], R]) -> R:  # noqa: ARG002
        """The answer of `find` in a transaction, which may be known from one that saw the same commit."""
        return find()

    def _plain(self, codec: Any, values: Any) -> Sequence[Any]:
        """Values of a column as JSON has them, made of what the database has."""
        return plain(codec.decode(values))

    def _lock(self, connection: Any, view: str) -> None:
        """Let nobody else create, promote or drop versions of a view until the transaction ends.

        Nothing, where only one transaction at a time can write.
        """

    def position(self, view: str, version: int) -> Position | None:
        """The position of a version."""
        with self._connections.reading() as connection:
            return self._books.position_of(connection, view, version)

    def ledger(self, view: str, version: int) -> dict[str, int]:
        """The sums of all batches' counts."""
        with self._connections.reading() as connection:
            return self._books.ledger_of(connection, view, version)

    def promoted(self, view: str) -> int | None:
        """The version that the view's name stands for."""
        with self._connections.reading() as connection:
            return self._books.promoted_of(connection, view)

    def versions(self, view: str) -> tuple[Version, ...]:
        """Every version that is there, in the order of their numbers."""
        with self._connections.reading() as connection:
            return self._books.versions_of(connection, view)

    def drop(self, view: str, version: int) -> None:
        """Remove a version and all that belongs to it."""
        with self._connections.writing() as connection:
            self._lock(connection, view)
            if self._books.recorded(connection, view, version) is None:
                return
            if self._books.promoted_of(connection, view) == version:
                raise is_promoted(view, version)
            self._remove(connection, self._tables_in(connection, view, version))
            self._books.forget_version(connection, view, version)

    def read(self, view: str, version: int | None = None, span: Span | None = None) -> pa.Table:
        """The rows of a version, by default of the promoted one, with exactly the declared types; all, or of a span."""
        with self._connections.reading() as connection:
            number = self._books.promoted_of(connection, view) if version is None else version
            if number is None:
                raise none_promoted(view)
            tables = self._tables_in(connection, view, number)
            columns = self._fetch(connection, tables, span)
        try:
            arrays = [codec.decode(column) for codec, column in zip(tables.codecs, columns, strict=True)]
        except Unfit as cause:
            raise altered(self.place, view, number) from cause
        return pa.Table.from_arrays(arrays, schema=tables.target.schema)

    @contextmanager
    def snapshot(self, longest: timedelta | None = None) -> Iterator[Snapshot]:
        """The store as it is now, in one transaction."""
        with self._connections.reading(longest) as connection:
            yield Transaction(self, connection)

    def snapshot_at_hand(self) -> AbstractContextManager[Snapshot] | None:
        """None: a database is asked over a connection."""
        return None

    def changes(self, view: str, version: int, since: Position | int | None = None) -> Iterator[pa.Table]:
        """The changes of the batches after `since`. No transaction is held while the caller works on a table."""
        last = since.batch if isinstance(since, Position) else since
        while True:
            with self._connections.reading() as connection:
                changes = self._next_changes(connection, self._tables_in(connection, view, version), last)
            if changes is None:
                return
            last, table = changes
            yield table

    def close(self) -> None:
        """Let go of the connections."""
        self._connections.close()

    def _due(self, target: Target) -> datetime | None:
        """The time, if the changelog of a version is to be looked through for what need not be kept any more.

        That is at its first batch and then now and then: to look takes longer than a small batch does.
        """
        now, version = self._now(), (target.view, target.version)
        if version in self._trimmed and now - self._trimmed[version] < self._retention / TRIMS:
            return None
        self._trimmed[version] = now
        return now

    def _tables(self, target: Target) -> T:
        if target not in self._known:
            self._known[target] = self._make_tables(target)
        return self._known[target]

    def _tables_in(self, connection: Any, view: str, version: int) -> T:
        return self._tables(self._books.target_of(connection, view, version))


@dataclass
class Transaction:
    """A `Snapshot` in a transaction of a database."""

    store: TableStore[Any]
    connection: Any

    def served(self, view: str) -> Served | None:
        """The promoted version of a view."""
        books = self.store._books
        return self.store._remembered(self.connection, ("served", view), lambda: books.served(self.connection, view))

    def ledger(self, served: Served) -> Mapping[str, int]:
        """The sums of all batches' counts."""
        named = (served.target.view, served.target.version)
        books = self.store._books
        return self.store._remembered(
            self.connection, ("ledger", *named), lambda: books.ledger_of(self.connection, *named)
        )

    def can(self, served: Served, part: Condition | Order) -> bool:
        """Tells whether the database does this part of a selection exactly as Spark would."""
        tables = self._tables(served)
        asked = ("can", served.target.view, served.target.version, part.column, getattr(part, "operator", None))
        return self.store._remembered(self.connection, asked, lambda: self.store._can(self.connection, tables, part))

    def _tables(self, served: Served) -> Any:
        target = served.target
        asked = ("tables", target.view, target.version)
        return self.store._remembered(self.connection, asked, lambda: self.store._tables(target))

    def rows(self, served: Served, selection: Selection) -> Iterator[pa.Table]:
        """The rows that a selection chooses."""
        schema = pa.schema([column.field for column in selection.of(served.target.columns)])
        for arrays in self._decoded(served, selection, lambda codec, values: codec.decode(values)):
            yield pa.Table.from_arrays(arrays, schema=schema)

    def plain(self, served: Served, selection: Selection) -> Iterator[Sequence[Sequence[Any]]]:
        """The same rows, as JSON has their values."""
        return self._decoded(served, selection, self.store._plain)

    def _decoded(self, served: Served, selection: Selection, decode: Callable[[Any, Any], Any]) -> Iterator[list[Any]]:
        """The columns of the rows that a selection chooses, part by part, as something makes them of what is kept."""
        tables, wanted = self._tables(served), selection.columns
        pairs = zip(tables.codecs, served.target.columns, strict=True)
        codecs = [codec for codec, column in pairs if wanted is None or column.name in wanted]
        for part in self.store._select(self.connection, tables, selection):
            try:
                yield [decode(codec, values) for codec, values in zip(codecs, part, strict=True)]
            except Unfit as cause:
                raise altered(self.store.place, served.target.view, served.target.version) from cause
