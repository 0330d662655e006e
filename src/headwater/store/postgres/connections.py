"""Connections to a server as one user: made when they are needed, and kept for the next who needs one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import psycopg

from headwater.store.postgres.failures import at_connecting, meaning, too_old

NEEDED = 150_000
"""The first PostgreSQL with all that is used: NULLS NOT DISTINCT."""
Connection = psycopg.Connection[tuple[Any, ...]]


class Connections:
    """Connections with `parameters` of libpq; `place` is what messages call the database.

    `check` may refuse a connection, when it is made, by an error of ours.
    """

    def __init__(
        self, place: str, parameters: Mapping[str, Any], check: Callable[[Connection], None] = lambda _: None
    ) -> None:
        self._place = place
        self._parameters = parameters
        self._check = check
        self._guard = threading.Lock()
        self._idle: list[Connection] = []

    def begun(self, begin: str) -> Connection:
        """A connection in a transaction. One that was kept may have been cut off since; then the next is tried."""
        while (kept := self._pop()) is not None:
            try:
                kept.execute(begin)
                return kept
            except psycopg.Error:
                kept.close()
        fresh = self._connect()
        try:
            self._check(fresh)
            fresh.execute(begin)
        except psycopg.Error as cause:
            fresh.close()
            raise meaning(self._place, cause, "reached") from cause
        except BaseException:
            fresh.close()
            raise
        return fresh

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next; one that is in the middle of something is brought to its end."""
        try:
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
        except psycopg.Error:
            connection.close()
        with self._guard:
            if not connection.closed:
                self._idle.append(connection)

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with self._guard:
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def _pop(self) -> Connection | None:
        with self._guard:
            return self._idle.pop() if self._idle else None

    def _connect(self) -> Connection:
        try:
            connection = psycopg.connect(**self._parameters, autocommit=True, prepare_threshold=None)
        except psycopg.Error as cause:
            raise at_connecting(self._place, cause) from cause
        if connection.info.server_version < NEEDED:
            version = connection.info.server_version // 10_000
            connection.close()
            raise too_old(self._place, version, NEEDED // 10_000)
        return connection
