"""The outbox of a database: a table in which a transaction leaves the events that shall be known once it is committed.

A *row* is an event of an *aggregate*, the thing that it happened to: an order, an account. The table is the one that
Debezium's event router knows, and two more columns tell a reader without replication where it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from headwater.errors import ArgumentRefused
from headwater.json_text import spell

COLUMNS = ("id", "aggregatetype", "aggregateid", "type", "payload")
"""The columns that every outbox has."""
POLLED = ("xid", "number")
"""The columns that one has which is read by queries."""
_DEFINITION = """CREATE TABLE IF NOT EXISTS {table} (
  id text PRIMARY KEY,
  aggregatetype text NOT NULL,
  aggregateid text NOT NULL,
  type text NOT NULL,
  payload jsonb NOT NULL,
  headers jsonb,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  number bigint GENERATED ALWAYS AS IDENTITY
)"""
_IDLE = 0
"""The status of a connection that is in no transaction."""


@dataclass(frozen=True)
class Outbox:
    """An outbox in PostgreSQL, into which events are written in a transaction of the caller's.

    >>> Outbox("crm.outbox").insert("order", 7, "placed", {"total": 12}, id="e-1")[1]
    ('e-1', 'order', '7', 'placed', '{"total":12}', None)
    """

    table: str = "public.outbox"

    @property
    def definition(self) -> str:
        """The statement that creates the table; the user who writes needs INSERT on it, and the intake SELECT."""
        return _DEFINITION.format(table=self.table)

    def insert(
        self,
        aggregatetype: str,
        aggregateid: object,
        type: str,  # noqa: A002  # the name of the column
        payload: Mapping[str, Any] | str,
        *,
        headers: Mapping[str, Any] | None = None,
        id: str | None = None,  # noqa: A002
    ) -> tuple[str, tuple[str | None, ...]]:
        """The statement that writes an event, and its parameters in the style of psycopg.

        A payload that is a string is JSON already. Without an `id` the event has a new one.
        """
        query = (
            f"INSERT INTO {self.table} (id, aggregatetype, aggregateid, type, payload, headers) "  # noqa: S608
            "VALUES (%s, %s, %s, %s, %s, %s)"
        )
        text = payload if isinstance(payload, str) else spell(payload)
        told = None if headers is None else spell(headers)
        return query, (id or str(uuid4()), aggregatetype, str(aggregateid), type, text, told)

    def send(
        self,
        connection: Any,
        aggregatetype: str,
        aggregateid: object,
        type: str,  # noqa: A002
        payload: Mapping[str, Any] | str,
        *,
        headers: Mapping[str, Any] | None = None,
        id: str | None = None,  # noqa: A002
    ) -> str:
        """Write an event in the transaction that a connection is in, and return its id.

        The connection is one of psycopg, a connection of SQLAlchemy, or a session. Nobody hears of the event unless the
        transaction is committed. One that commits each statement by itself is refused.
        """
        query, parameters = self.insert(aggregatetype, aggregateid, type, payload, headers=headers, id=id)
        execute, inner = _opened(connection)
        if getattr(inner, "autocommit", False) and inner.info.transaction_status == _IDLE:
            raise ArgumentRefused(
                "an event is written outside of a transaction",
                detail="The connection commits each statement by itself, so the event would be known whatever becomes "
                "of the rest.",
                hint="Write it inside of `with connection.transaction():`, beside what it tells of.",
            )
        execute(query, parameters)
        event = parameters[0]
        assert event is not None
        return event


def definition_of(column: str) -> str:
    """The definition of a column of an outbox.

    >>> definition_of("type")
    'type text NOT NULL'
    """
    lines = (line.strip().rstrip(",") for line in _DEFINITION.splitlines())
    return next(line for line in lines if line.startswith(f"{column} "))


def _opened(connection: Any) -> tuple[Any, Any]:
    """The function that executes a statement in the style of its driver, and the driver's own connection."""
    if not hasattr(connection, "exec_driver_sql"):
        if not callable(getattr(connection, "connection", None)):
            return connection.execute, connection
        connection = connection.connection()  # a session's
    return connection.exec_driver_sql, connection.connection.driver_connection
