"""A MariaDB server with an empty database, that writes rows into its binary log."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pymysql

from tests.servers.process import free_port, running, server_folder

SETTINGS = ("--log-bin=binlog", "--binlog-format=ROW", "--binlog-row-metadata=FULL", "--server-id=1")
FAST = ("--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0", "--innodb-buffer-pool-size=32M", "--skip-name-resolve")


@dataclass(frozen=True)
class MariadbServer:
    """A running server; its user `root` needs no password."""

    port: int

    @property
    def url(self) -> str:
        """Its address, without a database."""
        return f"mysql://root@127.0.0.1:{self.port}"

    def connect(self, database: str | None = None) -> pymysql.Connection:
        """A connection."""
        return pymysql.connect(host="127.0.0.1", port=self.port, user="root", database=database, autocommit=True)


@dataclass(frozen=True)
class FormattedMariadb:
    """A server that can be started and stopped several times; its data and its address stay."""

    program: Path
    server: MariadbServer
    folder: Path
    user: str | None

    @contextlib.contextmanager
    def running(self, *settings: str) -> Iterator[MariadbServer]:
        """The server, from when it answers to the end of the block; settings such as `--log-bin=x` come last."""
        place = (
            f"--datadir={self.folder / 'data'}",
            f"--socket={self.folder / 'socket'}",
            f"--pid-file={self.folder / 'pid'}",
            f"--port={self.server.port}",
        )
        command = [self.program, "--no-defaults", *place, "--bind-address=127.0.0.1", *SETTINGS, *FAST, *settings]
        with running(command, folder=self.folder, user=self.user, answers=self._answers):
            yield self.server

    def _answers(self) -> bool:
        try:
            self.server.connect().close()
        except pymysql.Error:
            return False
        return True


@contextlib.contextmanager
def format_mariadb(program: Path) -> Iterator[FormattedMariadb]:
    """A folder for the server; as root it runs as `mysql`, since it refuses root."""
    user = "mysql" if os.geteuid() == 0 else None
    with server_folder(user) as folder:
        install = ["mariadb-install-db", "--no-defaults", f"--datadir={folder / 'data'}", "--skip-test-db"]
        install.append("--auth-root-authentication-method=normal")
        subprocess.run(install, check=True, capture_output=True, cwd=folder, user=user)
        yield FormattedMariadb(program, MariadbServer(free_port()), folder, user)


@contextlib.contextmanager
def start_mariadb(program: Path, *settings: str) -> Iterator[MariadbServer]:
    """Make a folder and run this server in it."""
    with format_mariadb(program) as formatted, formatted.running(*settings) as server:
        yield server
