"""A PostgreSQL server with an empty database, that writes changes for logical decoding."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.servers.process import free_port, running, server_folder


@dataclass(frozen=True)
class PostgresServer:
    """A running server; its superuser `postgres` needs no password, nor does `reader`, who may read what is granted."""

    port: int
    programs: Path

    @property
    def url(self) -> str:
        """The address that psycopg, psql and SQLAlchemy take."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def reader_url(self) -> str:
        """The address for the role that executes statements of others."""
        return f"postgresql://reader@127.0.0.1:{self.port}/postgres"

    def query(self, sql: str) -> str:
        """What psql prints for this SQL: rows by line, columns by `|`."""
        command = [self.programs / "psql", self.url, "--no-psqlrc", "--tuples-only", "--no-align", "--command", sql]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@dataclass(frozen=True)
class FormattedPostgres:
    """A server that can be started and stopped several times; its data and its address stay."""

    server: PostgresServer
    folder: Path
    user: str | None

    @contextlib.contextmanager
    def running(self, *settings: str) -> Iterator[PostgresServer]:
        """The server, from when it answers to the end of the block; settings such as `fsync=on` come last."""
        programs, port, folder = self.server.programs, str(self.server.port), self.folder
        command = [programs / "postgres", "-D", folder / "data", "-p", port, "-k", folder, "-h", "127.0.0.1"]
        command += [part for setting in ("wal_level=logical", "fsync=off", *settings) for part in ("-c", setting)]
        ready = [programs / "pg_isready", "--quiet", "--host", "127.0.0.1", "--port", port]
        with running(command, folder=folder, user=self.user, answers=lambda: subprocess.run(ready).returncode == 0):
            if not self.server.query("SELECT 1 FROM pg_roles WHERE rolname = 'reader'"):
                self.server.query("CREATE ROLE reader LOGIN")
            yield self.server


@contextlib.contextmanager
def format_postgres(program: Path) -> Iterator[FormattedPostgres]:
    """A folder for the server that belongs to this `initdb`; as root it runs as `postgres`, since it refuses root."""
    programs = program.resolve().parent
    user = "postgres" if os.geteuid() == 0 else None
    with server_folder(user) as folder:
        data = folder / "data"
        initdb = [programs / "initdb", "--pgdata", data, "--username", "postgres", "--auth", "trust", "--no-sync"]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder, user=user)
        yield FormattedPostgres(PostgresServer(free_port(), programs), folder, user)


@contextlib.contextmanager
def start_postgres(program: Path, *settings: str) -> Iterator[PostgresServer]:
    """Make a folder and run the server that belongs to this `initdb` in it."""
    with format_postgres(program) as formatted, formatted.running(*settings) as server:
        yield server
