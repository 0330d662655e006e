"""A store in a database: what is the same for every database, whatever its SQL.

A version's rows are in the table `<view>__v<version>`; the view's own name is an SQL view over the promoted version.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from headwater.store.bookkeeping import Bookkeeping
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
    """How a column is kept."""

    @property
    def decode(self) -> Callable[[Any], pa.Array]:
        """Makes values of what the database has; `Unfit` if someone else wrote it."""


class Layout(Protocol):
    """How a version is laid out."""

    @property
    def target(self) -> Target:
        """The version."""

    @property
    def codecs(self) -> Sequence[Codec]:
        """How each column is kept."""


L = TypeVar("L", bound=Layout)


class TableStore(ABC, Generic[L]):
    """The part of a `Store` that every database shares; `place` is what it is called in messages."""

    def __init__(
        self,
        place: str,
        database: Database,
        books: Bookkeeping,
        layout: Callable[[Target], L],
        changes_retention: timedelta,
        now: Callable[[], datetime],
    ) -> None:
        self.place = place
        self._books = books
        self._retention = changes_retention
        self._now = now
        self._connections = database
        self._make_layout = layout
        self._layouts: dict[Target, L] = {}

    @abstractmethod
    def _fetch(self, connection: Any, layout: L, span: Span | None) -> Sequence[Any]:
        """A version's rows, column by column, as the database has them."""

    @abstractmethod
    def _can(self, connection: Any, layout: L, part: Condition | Order) -> bool:
        """Whether the database does this part of a selection exactly as Spark would."""

    @abstractmethod
    def _select(self, connection: Any, layout: L, selection: Selection) -> Iterator[Sequence[Any]]:
        """The wanted columns of chosen rows, part by part, as the database has them."""

    @abstractmethod
    def _next_changes(self, connection: Any, layout: L, since: int | None) -> tuple[int, pa.Table] | None:
        """The first batch after `since` that changed something, and what; None if there is none yet."""

    @abstractmethod
    def _remove(self, connection: Any, layout: L) -> None:
        """Remove the tables of a version, once nothing is being written to it."""

    def _lock(self, connection: Any, view: str) -> None:
        """Let nobody else create, promote or drop versions of a view until the transaction ends.

        Nothing, where only one transaction at a time can write.
        """

    def position(self, view: str, version: int) -> Position | None:
        """How far a version has come."""
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
            self._remove(connection, self._layout_in(connection, view, version))
            self._books.forget_version(connection, view, version)

    def read(self, view: str, version: int | None = None, span: Span | None = None) -> pa.Table:
        """The rows of a version, by default of the promoted one, with exactly the declared types; all, or of a span."""
        with self._connections.reading() as connection:
            number = self._books.promoted_of(connection, view) if version is None else version
            if number is None:
                raise none_promoted(view)
            layout = self._layout_in(connection, view, number)
            columns = self._fetch(connection, layout, span)
        try:
            arrays = [codec.decode(column) for codec, column in zip(layout.codecs, columns, strict=True)]
        except Unfit as cause:
            raise altered(self.place, view, number) from cause
        return pa.Table.from_arrays(arrays, schema=layout.target.schema)

    @contextmanager
    def snapshot(self, longest: timedelta | None = None) -> Iterator[Snapshot]:
        """The store as it is now, in one transaction."""
        with self._connections.reading(longest) as connection:
            yield _Transaction(self, connection)

    def changes(self, view: str, version: int, since: Position | int | None = None) -> Iterator[pa.Table]:
        """What the batches after `since` changed. No transaction is held while the caller works on a table."""
        last = since.batch if isinstance(since, Position) else since
        while True:
            with self._connections.reading() as connection:
                found = self._next_changes(connection, self._layout_in(connection, view, version), last)
            if found is None:
                return
            last = found[0]
            yield found[1]

    def close(self) -> None:
        """Let go of the connections."""
        self._connections.close()

    def _layout(self, target: Target) -> L:
        if target not in self._layouts:
            self._layouts[target] = self._make_layout(target)
        return self._layouts[target]

    def _layout_in(self, connection: Any, view: str, version: int) -> L:
        return self._layout(self._books.target_of(connection, view, version))


@dataclass
class _Transaction:
    """A `Snapshot` in a transaction of a database."""

    store: TableStore[Any]
    connection: Any

    def served(self, view: str) -> Served | None:
        """The promoted version of a view."""
        books = self.store._books
        number = books.promoted_of(self.connection, view)
        if number is None:
            return None
        target = books.target_of(self.connection, view, number)
        return Served(target, books.position_of(self.connection, view, number))

    def can(self, served: Served, part: Condition | Order) -> bool:
        """Whether the database does this part of a selection exactly as Spark would."""
        return self.store._can(self.connection, self.store._layout(served.target), part)

    def rows(self, served: Served, selection: Selection) -> Iterator[pa.Table]:
        """The rows that a selection chooses."""
        layout = self.store._layout(served.target)
        columns = selection.of(served.target.columns)
        codecs = [codec for codec, one in zip(layout.codecs, served.target.columns, strict=True) if one in columns]
        schema = pa.schema([column.field for column in columns])
        for part in self.store._select(self.connection, layout, selection):
            try:
                arrays = [codec.decode(values) for codec, values in zip(codecs, part, strict=True)]
            except Unfit as cause:
                raise altered(self.store.place, served.target.view, served.target.version) from cause
            yield pa.Table.from_arrays(arrays, schema=schema)
