"""The server: transactions of the role that writes, and of the one that answers statements of others.

A transaction brings its own settings along, so that the store works behind a pooler that gives each transaction another
connection of the server's.
"""

# names are ours, or quoted
from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from headwater.errors import StoreDamaged
from headwater.store.postgres.connections import Connection, Connections
from headwater.store.postgres.failures import meaning
from headwater.store.postgres.reader import check_reader, grant, no_reader
from headwater.store.refusals import too_long
from headwater.store.spelling import literal, quoted

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


class Database:
    """A schema of a database. `parameters` are libpq's, beside those of the URL.

    `reader` is the URL of the role that executes statements of others; without one, there is none to do so.
    """

    def __init__(
        self,
        url: str,
        schema: str,
        parameters: Mapping[str, str],
        *,
        reader: str | None,
        lock_timeout: timedelta,
        statement_timeout: timedelta,
        silence_timeout: timedelta,
    ) -> None:
        own: dict[str, Any] = DEFAULTS | conninfo_to_dict(url) | dict(parameters)
        self.schema = schema
        self.place = _place(own)
        self._own = Connections(self.place, own)
        self._reader = _Reader(self.place, own, reader) if reader else None
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
            try:
                yield connection
            except psycopg.errors.QueryCanceled:
                if longest is None:
                    raise
                raise too_long(longest) from None

    @contextmanager
    def answering(self) -> Iterator[Connection]:
        """A transaction for somebody else's statement: it can't write, not for ever run, and leaves nothing behind."""
        if self._reader is None:
            raise no_reader(self.place)
        self._grant_all(self._reader)
        timeout = {"statement_timeout": _milliseconds(self._statement_timeout)}
        with self._transaction("READ ONLY", "read", timeout, self._reader.connections) as connection:
            try:
                yield connection
            finally:
                if not connection.closed:
                    connection.execute("ROLLBACK")
                    connection.execute("DISCARD ALL")
                    connection.execute("BEGIN")

    @contextmanager
    def _transaction(
        self,
        mode: str,
        what: str,
        more: Mapping[str, str] | None = None,
        connections: Connections | None = None,
    ) -> Iterator[Connection]:
        connections = connections or self._own
        settings = self._settings | dict(more or {})
        local = (f"SET LOCAL {name} = {_setting(name, text)}" for name, text in settings.items())
        connection = connections.begun("; ".join((f"BEGIN {mode}", *local)))
        try:
            yield connection
            connection.execute("COMMIT")
        except psycopg.Error as cause:
            raise meaning(self.place, cause, what) from cause
        finally:
            connections.give_back(connection)

    def grant(self, connection: Connection, *views: str) -> None:
        """Let the reader, if there is one, use the schema, and read views that were made."""
        if self._reader is not None:
            grant(connection, self.schema, self._reader.role, views)

    def _grant_all(self, reader: _Reader) -> None:
        """Let the reader read the views that were there before it was declared."""
        if reader.is_granted:
            return
        with self.writing() as connection:
            self.grant(connection, *(row[0] for row in connection.execute("SELECT view FROM headwater_promoted")))
        reader.is_granted = True

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
            formats = connection.execute("SELECT format FROM headwater_format").fetchall()
        if formats != [(FORMAT,)]:
            raise StoreDamaged(
                f'the store "{self.place}" has a format that this version of Headwater doesn\'t know',
                detail=f"It has format {', '.join(str(row[0]) for row in formats) or 'none'}, known is {FORMAT}. "
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
        self._own.close()
        if self._reader is not None:
            self._reader.connections.close()


class _Reader:
    """The role that executes statements of others, on the server of the one that writes unless its URL says another."""

    def __init__(self, place: str, own: Mapping[str, Any], url: str) -> None:
        named = conninfo_to_dict(url)
        mine = {name: value for name, value in own.items() if name not in ("user", "password", "passfile")}
        if not named.get("user"):
            raise psycopg.ProgrammingError("the URL of the reader names no user")
        self.role = str(named["user"])
        self.connections = Connections(place, mine | named, lambda connection: check_reader(place, connection))
        self.is_granted = False


def lock(connection: Connection, view: str) -> None:
    """Let nobody else create, promote or drop versions of a view until the transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(current_schema() || '.' || %s))", (ALL, view))


def _setting(name: str, text: str) -> str:
    return text if name == "search_path" else literal(text)


def _milliseconds(duration: timedelta) -> str:
    return str(max(int(duration.total_seconds() * 1000), 1))


def _place(parameters: Mapping[str, Any]) -> str:
    """The name of the database in messages: without user and password."""
    host, port = parameters.get("host") or parameters.get("hostaddr"), parameters.get("port")
    where = f"{host}:{port}" if host and port else str(host or "")
    return f"postgresql://{where}/{parameters.get('dbname') or ''}"
