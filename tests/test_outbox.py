"""Events are written in the transaction of their writer, whatever it is written with."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.orm import Session

import headwater as hw
from headwater.errors import ArgumentRefused
from tests.servers.postgres import PostgresServer


@pytest.fixture
def outbox(postgres_server: PostgresServer) -> Iterator[hw.Outbox]:
    """An outbox of its own."""
    made = hw.Outbox(f"public.outbox_{uuid4().hex[:12]}")
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(made.definition.encode())
        yield made
        connection.execute(f"DROP TABLE {made.table}".encode())


def written(server: PostgresServer, outbox: hw.Outbox) -> list[tuple[Any, ...]]:
    """The events that are committed."""
    with psycopg.connect(server.url) as connection:
        query = f"SELECT id, aggregateid, payload::text FROM {outbox.table} ORDER BY number"
        return connection.execute(query.encode()).fetchall()


def test_an_event_is_there_iff_its_transaction_is_committed(postgres_server: PostgresServer, outbox: hw.Outbox) -> None:
    address = postgres_server.url.replace("postgresql://", "postgresql+psycopg://")
    with psycopg.connect(postgres_server.url) as plain:
        outbox.send(plain, "order", 1, "placed", {"total": Decimal("1.50"), "on": date(2026, 1, 1)}, id="psycopg")
        plain.commit()
        outbox.send(plain, "order", 1, "placed", {})
        plain.rollback()
    engine = sqlalchemy.create_engine(address)
    try:
        with engine.begin() as connection:
            outbox.send(connection, "order", 2, "placed", '{"n": 1}', id="connection")
        with Session(engine) as session:
            outbox.send(session, "order", 3, "placed", {"n": "%s"}, id="session")
            session.commit()
            outbox.send(session, "order", 4, "placed", {})
            session.rollback()
    finally:
        engine.dispose()
    assert written(postgres_server, outbox) == [
        ("psycopg", "1", '{"on": "2026-01-01", "total": 1.50}'),
        ("connection", "2", '{"n": 1}'),
        ("session", "3", '{"n": "%s"}'),
    ]


def test_a_connection_that_commits_each_statement_is_refused(
    postgres_server: PostgresServer, outbox: hw.Outbox
) -> None:
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        with pytest.raises(ArgumentRefused, match="outside of a transaction"):
            outbox.send(connection, "order", 1, "placed", {})
        with connection.transaction():
            key = outbox.send(connection, "order", 1, "placed", {})
    assert [row[0] for row in written(postgres_server, outbox)] == [key]
