"""A Redis server that keeps nothing on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.servers.process import ask, free_port, running, server_folder


@dataclass(frozen=True)
class RedisServer:
    """A running server without a password."""

    port: int

    @property
    def url(self) -> str:
        """The address that Redis clients take."""
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self, line: str) -> str:
        """The server's answer to one inline command, as it is on the wire."""
        return ask(self.port, f"{line}\r\n".encode()).decode().strip()


@contextlib.contextmanager
def start_redis(program: Path, *settings: str) -> Iterator[RedisServer]:
    """Run redis-server in a temporary folder; `settings` such as `--maxmemory`, `1mb` come last."""
    server = RedisServer(free_port())
    with server_folder() as folder:
        command = [program, "--port", str(server.port), "--bind", "127.0.0.1", "--save", "", "--dir", folder, *settings]
        with running(command, folder=folder, answers=lambda: server.command("PING") == "+PONG"):
            yield server
