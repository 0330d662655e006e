"""A project that takes in tables of a database of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

import headwater as hw
from headwater.intake.protocol import Taken
from headwater.project import Project
from tests.patience import until


class Database:
    """An empty database of a server; its slots go with it."""

    def __init__(self, server: str) -> None:
        self._server = server
        self.name = f"shop_{uuid4().hex[:12]}"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {self.name}".encode())
        self.url = f"{server.rpartition('/')[0]}/{self.name}"

    def run(self, *statements: str) -> None:
        """Run statements, each as a transaction of its own."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def run_at(self, at: str, *statements: str) -> None:
        """Run statements as one transaction that tells this time of its commit, as one that was replicated does."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            with suppress(psycopg.errors.UniqueViolation):
                connection.execute("SELECT pg_replication_origin_create(%s)", (self.name,))
            connection.execute("SELECT pg_replication_origin_session_setup(%s)", (self.name,))
            with connection.transaction():
                connection.execute("SELECT pg_replication_origin_xact_setup('0/1', %s)", (at,))
                for statement in statements:
                    connection.execute(statement.encode())

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()

    def drop(self) -> None:
        """Drop it with its slots."""
        with psycopg.connect(self._server, autocommit=True) as connection:
            until(lambda: not self._slots_left(connection))
            connection.execute(f"DROP DATABASE {self.name} WITH (FORCE)".encode())

    def _slots_left(self, connection: psycopg.Connection[Any]) -> bool:
        """Drop the slots that nobody reads, and end who reads the others."""
        slots = "FROM pg_replication_slots WHERE database = %s"
        names = connection.execute(f"SELECT slot_name {slots}".encode(), (self.name,)).fetchall()
        connection.execute(f"SELECT pg_terminate_backend(active_pid, 1000) {slots}".encode(), (self.name,))
        for (name,) in names:
            with suppress(psycopg.errors.ObjectInUse):
                connection.execute("SELECT pg_drop_replication_slot(%s)", (name,))
        return bool(names)


class Shop:
    """The project. Its slot is called by the database."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database, self.folder = database, folder
        (folder / "headwater.toml").write_text(f'name = "{database.name}"')
        self.slot = f"headwater_{database.name}"

    def declare(self, name: str, columns: str, options: str = "", table: str | None = None) -> None:
        """Declare a table that takes in the one of that name."""
        source = f"connector = 'postgres', url = '${{SHOP_DB}}', table = '{table or f'public.{name}'}'"
        soon = "commit_every = '20 milliseconds'"
        (self.folder / f"{name}.sql").write_text(
            f"CREATE TABLE {name} ({columns}) WITH ({source}, {soon}{options and ', '}{options});"
        )

    def stream(self, name: str, columns: str, options: str = "", *, polled: bool = False) -> None:
        """Declare a stream that takes in the events of aggregates of type `order` from the outbox."""
        source = "connector = 'postgres', url = '${SHOP_DB}', table = 'public.outbox'"
        way = "poll = '20 milliseconds', " if polled else ""
        soon = "commit_every = '20 milliseconds'"
        (self.folder / f"{name}.sql").write_text(
            f"CREATE STREAM {name} ({columns}) WITH ({source}, {way}{soon}{options and ', '}{options});"
        )

    def take_in(self, *names: str) -> list[Taken]:
        """Take in what is there, as a process of its own would."""
        with hw.open(self.folder) as project:
            return project.take_in(*names)

    def rows(self, name: str, columns: Sequence[str] | None = None) -> list[tuple[Any, ...]]:
        """The rows that the table comes to."""
        with hw.open(self.folder) as project:
            return table_rows(project, name, columns)

    @contextmanager
    def opened(self) -> Iterator[Project]:
        """The project."""
        with hw.open(self.folder) as project:
            yield project


def table_rows(project: Project, name: str, columns: Sequence[str] | None = None) -> list[tuple[Any, ...]]:
    """The rows of a table, sorted by what they spell."""
    rows = project.query(f"SELECT {'*' if columns is None else ', '.join(columns)} FROM {name}")
    return sorted((tuple(row.values()) for row in rows.to_pylist()), key=str)
