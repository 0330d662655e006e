"""Writes of several views in one transaction: what one of them fails of is undone alone, by a savepoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol, TypeVar

import psycopg

from headwater.errors import HeadwaterError
from headwater.store.postgres.connections import Connection
from headwater.store.postgres.database import Database
from headwater.store.postgres.failures import meaning

T = TypeVar("T")


class Write(Protocol):
    """A batch of a view that was made ready to be written."""

    @property
    def order(self) -> tuple[str, int]:
        """The place among others: all who write several lock in this order, so that no two wait for each other."""

    def stage(self, connection: Connection) -> None:
        """Bring its rows. Nobody waits for what this locks."""

    def write(self, connection: Connection) -> bool:
        """Write what was brought; False if it was there."""


def write_together(database: Database, writes: Sequence[Write]) -> list[Future[bool]]:
    """Write batches in one transaction; if that fails as a whole, each in one of its own."""
    queued = [(Future[bool](), write) for write in writes]
    _write_all(database, queued)
    return [future for future, _ in queued]


def _write_all(database: Database, queued: Sequence[tuple[Future[bool], Write]]) -> None:
    try:
        with database.writing() as connection:
            outcomes = _outcomes(database.place, connection, [write for _, write in queued])
    except Exception as failure:
        if len(queued) == 1:
            queued[0][0].set_exception(failure)
            return
        for one in queued:
            _write_all(database, [one])
        return
    for (future, _), outcome in zip(queued, outcomes, strict=True):
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


def _outcomes(place: str, connection: Connection, writes: Sequence[Write]) -> list[bool | Exception]:
    """The outcome of each write, if the transaction is committed.

    All bring their rows before the first locks anything: a process that is stopped meanwhile keeps nobody waiting.
    """
    staged: list[Exception | None] = [_attempted(place, connection, write.stage) for write in writes]
    outcomes: dict[int, bool | Exception] = {}
    for number in sorted(range(len(writes)), key=lambda number: writes[number].order):
        refused = staged[number]
        outcomes[number] = _attempted(place, connection, writes[number].write) if refused is None else refused
    return [outcomes[number] for number in range(len(writes))]


def _attempted(place: str, connection: Connection, act: Callable[[Connection], T]) -> T | Exception:
    """Do a part; what it fails of is undone."""
    try:
        with connection.transaction():
            return act(connection)
    except psycopg.Error as cause:
        failure = meaning(place, cause, "written")
        failure.__cause__ = cause
        return failure
    except HeadwaterError as failure:
        return failure
