"""The desk of a run: where other processes of the same user ask it for what needs Spark.

Spark takes seconds to start, and a run has it. The desk is a Unix socket below the project. What is asked for and what
is answered are Python's own values, so both sides look first whether the other is a process of the same user: such a
one could as well change the declarations, which are code.

A desk takes a request at once, and answers when it is done. Whoever asks does the work himself if there is no desk, if
it doesn't take the request, or if its process ends before it has answered.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import socket
import struct
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from headwater.errors import HeadwaterError

PATIENCE = timedelta(seconds=2)
"""A desk that doesn't take a request for so long belongs to a process that hangs."""
_LONGEST = 100
"""A socket's path may have so many bytes."""
_TAKEN = "taken"
_WAITING = 16


@dataclass(frozen=True)
class Request:
    """Something to be done for a view, by the program that both sides must be, with the plan that both must have."""

    what: str
    view: str
    arguments: Mapping[str, Any]
    fingerprints: Mapping[str, str]
    program: str = field(default_factory=lambda: version("headwater"))


@dataclass(frozen=True)
class Answer:
    """The outcome of a request: a value, or the error that its own process is to raise."""

    value: Any = None
    error: HeadwaterError | None = None


class Declined(Exception):
    """The run can't do what is asked for as whoever asks would do it."""


def desk_of(home: Path) -> Path:
    """The socket of the project whose own folder this is; elsewhere, if its path would be too long."""
    path = home / "desk"
    if len(os.fsencode(path)) <= _LONGEST:
        return path
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"headwater-{os.getuid()}-{name}")


def ask(path: Path, request: Request) -> Answer | None:
    """The answer of the run that has a desk here; None if there is none, or it has not answered."""
    try:
        with _connected(path) as connection:
            connection.send(request)
            if connection.poll(PATIENCE.total_seconds()) and connection.recv() == _TAKEN:
                answer = connection.recv()
                return answer if isinstance(answer, Answer) else None
    except (OSError, EOFError, pickle.PickleError, AttributeError, ImportError):  # nobody is there, or not any more
        pass
    return None


class Desk:
    """Answers requests within a `with` block, each in a thread of its own; `do` may raise `Declined`.

    One run of a project has the desk; another one that is there at the same time has none.
    """

    def __init__(self, path: Path, do: Callable[[Request], Any]) -> None:
        self._path = path
        self._do = do
        self._socket: socket.socket | None = None
        self._over = threading.Event()

    def __enter__(self) -> Self:
        with suppress(OSError):
            self._open()
        return self

    def __exit__(self, *_: object) -> None:
        if self._socket is None:
            return
        self._over.set()
        with suppress(OSError), _connected(self._path):  # wakes the thread that waits for the next
            pass
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _open(self) -> None:
        try:
            with _connected(self._path):
                return  # another run is there
        except OSError:
            self._path.unlink(missing_ok=True)  # one that was there has died
        self._path.parent.mkdir(parents=True, exist_ok=True)
        opened = socket.socket(socket.AF_UNIX)
        try:
            opened.bind(str(self._path))
            self._path.chmod(0o600)
            opened.listen(_WAITING)
        except OSError:
            opened.close()
            raise
        self._socket = opened
        threading.Thread(target=self._go_on, args=(opened,), name="headwater-desk", daemon=True).start()

    def _go_on(self, opened: socket.socket) -> None:
        while True:
            try:
                accepted, _ = opened.accept()
            except OSError:
                return
            if self._over.is_set():
                accepted.close()
                return
            threading.Thread(target=self._serve, args=(accepted,), name="headwater-asked", daemon=True).start()

    def _serve(self, accepted: socket.socket) -> None:
        with suppress(OSError, EOFError, pickle.PickleError, AttributeError, ImportError):
            is_ours = _is_same_user(accepted)
            with Connection(accepted.detach()) as connection:
                if is_ours:
                    self._take(connection)

    def _take(self, connection: Connection) -> None:
        request = connection.recv()
        if not isinstance(request, Request) or request.program != version("headwater"):
            return
        connection.send(_TAKEN)
        connection.send(self._answer(request))

    def _answer(self, request: Request) -> Answer | None:
        try:
            return Answer(self._do(request))
        except HeadwaterError as error:
            return Answer(error=error)
        except Exception:  # declined, or a mistake of ours, which whoever asks meets as well, and tells
            return None


def _connected(path: Path) -> Connection:
    connecting = socket.socket(socket.AF_UNIX)
    try:
        connecting.settimeout(PATIENCE.total_seconds())
        connecting.connect(str(path))
        connecting.settimeout(None)
        if not _is_same_user(connecting):
            raise ConnectionRefusedError(f"{path} belongs to another user")
    except BaseException:
        connecting.close()
        raise
    return Connection(connecting.detach())


def _is_same_user(connected: socket.socket) -> bool:
    """Tells whether the process at the other end is of this user; where nobody can say, the socket's own rights do."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", credentials)
    return bool(user == os.getuid())
