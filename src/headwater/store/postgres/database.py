"""The server: connections that are made when they are needed and kept for the next who needs one.

A transaction brings its own settings along, so that the store works behind a pooler that gives each transaction another
connection of the server's.
"""

# names are ours, or quoted
from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from headwater.errors import StoreDamaged
from headwater.store.postgres.failures import at_connecting, meaning, too_old
from headwater.store.spelling import literal, quoted

NEEDED = 150_000
"""The first PostgreSQL with all that is used: NULLS NOT DISTINCT."""
FORMAT = 1
ALL = 4_711
"""The advisory lock for what concerns all views of a database."""
DEFAULTS = {"connect_timeout": "10", "application_name": "headwater", "keepalives_idle": "30", "keepalives_count": "3"}
BOOKKEEPING = """
CREATE TABLE IF NOT EXISTS headwater_format (format integer NOT NULL);
INSERT INTO headwater_format SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM headwater_format);
CREATE TABLE IF NOT EXISTS headwater_versions (
  view text NOT NULL, version integer NOT NULL, fingerprint text NOT NULL, columns bytea NOT NULL, key text NOT NULL,
  emit text NOT NULL, shape text NOT NULL, created_at timestamptz NOT NULL, trimmed bigint,
  PRIMARY KEY (view, version));
CREATE TABLE IF NOT EXISTS headwater_epochs (
  view text NOT NULL, version integer NOT NULL, epoch bigint NOT NULL, holder text NOT NULL,
  taken_at timestamptz NOT NULL, PRIMARY KEY (view, version));
CREATE TABLE IF NOT EXISTS headwater_batches (
  view text NOT NULL, version integer NOT NULL, batch bigint NOT NULL, commits json NOT NULL,
  watermark timestamptz NOT NULL, applied_at timestamptz NOT NULL, changes bigint NOT NULL,
  PRIMARY KEY (view, version, batch));
CREATE TABLE IF NOT EXISTS headwater_ledger (
  view text NOT NULL, version integer NOT NULL, name text NOT NULL, count bigint NOT NULL,
  PRIMARY KEY (view, version, name));
CREATE TABLE IF NOT EXISTS headwater_promoted (view text NOT NULL PRIMARY KEY, version integer NOT NULL);
"""
Connection = psycopg.Connection[tuple[Any, ...]]


class Database:
    """A schema of a database. `parameters` are libpq's, beside those of the URL."""

    def __init__(
        self,
        url: str,
        schema: str,
        parameters: Mapping[str, str],
        *,
        lock_timeout: timedelta,
        statement_timeout: timedelta,
        silence_timeout: timedelta,
    ) -> None:
        self._parameters: dict[str, Any] = DEFAULTS | conninfo_to_dict(url) | dict(parameters)
        self.schema = schema
        self.place = _place(self._parameters)
        self._statement_timeout = statement_timeout
        self._settings = {
            "search_path": quoted(schema),
            "timezone": "UTC",
            "datestyle": "ISO, YMD",
            "intervalstyle": "iso_8601",
            "bytea_output": "hex",
            "extra_float_digits": "1",
            "standard_conforming_strings": "on",
            "client_min_messages": "warning",
            "lock_timeout": _milliseconds(lock_timeout),
            "idle_in_transaction_session_timeout": _milliseconds(silence_timeout),
        }
        self._guard = threading.Lock()
        self._idle: list[Connection] = []
        self._is_prepared = False

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction: all of it at the end, or nothing."""
        self._ensure_prepared()
        with self._transaction("READ WRITE", "written") as connection:
            yield connection

    @contextmanager
    def reading(self, longest: timedelta | None = None) -> Iterator[Connection]:
        """A transaction that can't write, whose statements all see the same commit, and none of which takes longer."""
        self._ensure_prepared()
        timeout = {} if longest is None else {"statement_timeout": _milliseconds(longest)}
        with self._transaction("ISOLATION LEVEL REPEATABLE READ READ ONLY", "read", timeout) as connection:
            yield connection

    @contextmanager
    def answering(self) -> Iterator[Connection]:
        """A transaction for somebody else's statement: it can't write, not for ever run, and leaves nothing behind."""
        self._ensure_prepared()
        timeout = {"statement_timeout": _milliseconds(self._statement_timeout)}
        with self._transaction("READ ONLY", "read", timeout) as connection:
            try:
                yield connection
            finally:
                if not connection.closed:
                    connection.execute("ROLLBACK")
                    connection.execute("DISCARD ALL")
                    connection.execute("BEGIN")

    @contextmanager
    def _transaction(self, mode: str, what: str, more: Mapping[str, str] | None = None) -> Iterator[Connection]:
        settings = self._settings | dict(more or {})
        local = (f"SET LOCAL {name} = {_setting(name, text)}" for name, text in settings.items())
        connection = self._begun("; ".join((f"BEGIN {mode}", *local)))
        try:
            yield connection
            connection.execute("COMMIT")
        except psycopg.Error as cause:
            raise meaning(self.place, cause, what) from cause
        finally:
            self._give_back(connection)

    def _begun(self, begin: str) -> Connection:
        """A connection in a transaction. One that was kept may have been cut off since; then the next is tried."""
        while (kept := self._pop()) is not None:
            try:
                kept.execute(begin)
                return kept
            except psycopg.Error:
                kept.close()
        fresh = self._connect()
        try:
            fresh.execute(begin)
        except psycopg.Error as cause:
            fresh.close()
            raise meaning(self.place, cause, "reached") from cause
        return fresh

    def _pop(self) -> Connection | None:
        with self._guard:
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: Connection) -> None:
        """Keep a connection for the next; one that is in the middle of something is brought to its end."""
        try:
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
        except psycopg.Error:
            connection.close()
        with self._guard:
            if not connection.closed:
                self._idle.append(connection)

    def _connect(self) -> Connection:
        try:
            connection = psycopg.connect(**self._parameters, autocommit=True, prepare_threshold=None)
        except psycopg.Error as cause:
            raise at_connecting(self.place, cause) from cause
        if connection.info.server_version < NEEDED:
            found = connection.info.server_version // 10_000
            connection.close()
            raise too_old(self.place, found, NEEDED // 10_000)
        return connection

    def _ensure_prepared(self) -> None:
        """Make the schema and its bookkeeping, unless they are there."""
        if self._is_prepared:
            return
        with self._transaction("READ WRITE", "read") as connection:
            there = connection.execute("SELECT to_regclass('headwater_promoted')").fetchone()
            if there is None or there[0] is None:
                connection.execute(f"SELECT pg_advisory_xact_lock({ALL})")
                self._ensure_schema(connection)
                connection.execute(BOOKKEEPING)
            found = connection.execute("SELECT format FROM headwater_format").fetchall()
        if found != [(FORMAT,)]:
            raise StoreDamaged(
                f'the store "{self.place}" has a format that this version of Headwater doesn\'t know',
                detail=f"It has format {', '.join(str(row[0]) for row in found) or 'none'}, known is {FORMAT}. "
                "Nothing was written.",
                hint="Run the version of Headwater that wrote it, or a newer one.",
                path=self.place,
            )
        self._is_prepared = True

    def _ensure_schema(self, connection: Connection) -> None:
        there = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (self.schema,)).fetchone()
        if there is None:
            connection.execute(f"CREATE SCHEMA {quoted(self.schema)}")

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with self._guard:
            for connection in self._idle:
                connection.close()
            self._idle.clear()


def lock(connection: Connection, view: str) -> None:
    """Let nobody else create, promote or drop versions of a view until the transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(current_schema() || '.' || %s))", (ALL, view))


def _setting(name: str, text: str) -> str:
    return text if name == "search_path" else literal(text)


def _milliseconds(duration: timedelta) -> str:
    return str(max(int(duration.total_seconds() * 1000), 1))


def _place(parameters: Mapping[str, Any]) -> str:
    """What to call the database in messages: without user and password."""
    host, port = parameters.get("host") or parameters.get("hostaddr"), parameters.get("port")
    where = f"{host}:{port}" if host and port else str(host or "")
    return f"postgresql://{where}/{parameters.get('dbname') or ''}"
