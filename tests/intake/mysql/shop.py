"""A project that takes in tables of a database of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pymysql

import headwater as hw
from headwater.intake.protocol import Taken
from headwater.project import Project
from tests.servers.mariadb import MariadbServer


class Database:
    """An empty database of a server."""

    def __init__(self, server: MariadbServer) -> None:
        self._server = server
        self.name = f"shop_{uuid4().hex[:12]}"
        self.url = f"{server.url}/{self.name}"
        with closing(server.connect()) as connection:
            connection.cursor().execute(f"CREATE DATABASE {self.name} CHARACTER SET utf8mb4")

    def connect(self) -> pymysql.Connection:
        """A connection."""
        return self._server.connect(self.name)

    def run(self, *statements: str) -> None:
        """Run statements, each as a transaction of its own unless they say otherwise."""
        with closing(self.connect()) as connection:
            for statement in statements:
                connection.cursor().execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def drop(self) -> None:
        """Drop it."""
        self.run(f"DROP DATABASE {self.name}")


class Shop:
    """The project."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database, self.folder = database, folder
        (folder / "headwater.toml").write_text('name = "shop"')

    def declare(self, name: str, columns: str, options: str = "") -> None:
        """Declare a table that takes in the one of that name."""
        source = f"connector = 'mysql', url = '${{SHOP_DB}}', table = '{name}', commit_every = '20 milliseconds'"
        (self.folder / f"{name}.sql").write_text(
            f"CREATE TABLE {name} ({columns}) WITH ({source}{options and ', '}{options});"
        )

    def take_in(self, *names: str) -> list[Taken]:
        """Take in what is there, as a process of its own would."""
        with hw.open(self.folder) as project:
            return project.take_in(*names)

    @contextmanager
    def opened(self) -> Iterator[Project]:
        """The project."""
        with hw.open(self.folder) as project:
            yield project

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        """The rows that the table comes to."""
        with hw.open(self.folder) as project:
            return table_rows(project, name)

    def dead(self, name: str) -> list[str]:
        """The reasons of its dead letters."""
        with hw.open(self.folder) as project:
            return [str(reason) for reason in project.dead(name)["reason"].to_pylist()]


def table_rows(project: Project, name: str, columns: Sequence[str] = ("*",)) -> list[tuple[Any, ...]]:
    """The rows of a table, sorted by what they spell."""
    rows = project.query(f"SELECT {', '.join(columns)} FROM {name}")
    return sorted((tuple(row.values()) for row in rows.to_pylist()), key=str)


@contextmanager
def taking_in(project: Project) -> Iterator[None]:
    """An intake that takes in whatever comes meanwhile; none may stop."""
    stopped: list[Exception] = []
    with project.intakes.running(lambda _topic, _error: None, stopped.append):
        yield
    assert stopped == []
