"""A store in a database: what is the same for every database, whatever its SQL.

A version's rows are in the table `<view>__v<version>`; the view's own name is an SQL view over the promoted version.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from headwater.store.bookkeeping import Bookkeeping
from headwater.store.protocol import Position, Span, Target, Version
from headwater.store.refusals import altered, is_promoted, none_promoted
from headwater.store.unfit import Unfit


class Database(Protocol):
    """The connections to a database."""

    def reading(self) -> AbstractContextManager[Any]:
        """A transaction that can't write, whose statements all see the same commit."""

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
