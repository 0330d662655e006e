"""Workers: processes of their own that serve a project, so that reads and steps don't share an interpreter.

A run binds the address and hands the socket down; its workers take connections from it. What they know of the project
they have from where any other process has it: stores, log, and the desk of the run. A worker ends when the run does,
however that ends: the run holds the other end of its standard input, through which it tells of promotions too. One that
ends by itself is replaced.
"""

from __future__ import annotations

import logging
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import IO, Self

from headwater.config import ServeSettings
from headwater.errors import HeadwaterError, OperatorError
from headwater.operate.promotion import Promotion
from headwater.plan import Plan
from headwater.project import Project, open_project
from headwater.serve.server import Server, bound, is_in_the_clear, url_of
from headwater.serve.tls import certificate

_logger = logging.getLogger("headwater.run")
COMMAND = (sys.executable, "-P", "-c", "from headwater.serve.workers import main; main()")
READY, PROMOTED = "ready", "promoted"
_LOOK, _PAUSE = timedelta(milliseconds=200), timedelta(seconds=1)
"""The interval at which it is looked whether a worker has ended, and the pause before it is replaced."""
_END = 10
"""Seconds that workers are given to end."""


class Workers:
    """Serves a project by so many processes within a `with` block; `url` is where."""

    def __init__(self, project: Project, settings: ServeSettings) -> None:
        # the pages of a dashboard live in one process, and each request may come to another
        self._settings = settings.model_copy(update={"dashboard": settings.dashboard and settings.workers == 1})
        self._folder, self._followers = project.folder, project.declarations.followers
        certificate(project.folder, settings)
        self._socket = bound(settings)
        self.url = url_of(settings, self._socket)
        self._running: list[subprocess.Popen[str]] = []
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._replace, name="headwater-workers", daemon=True)

    @property
    def is_in_the_clear(self) -> bool:
        """Tells whether others reach the workers, and what they send can be read on the way."""
        return is_in_the_clear(self._settings)

    @property
    def processes(self) -> Sequence[int]:
        """The processes that serve."""
        return [worker.pid for worker in self._running]

    def __enter__(self) -> Self:
        self._running = [self._begin() for _ in range(self._settings.workers)]
        ready = [_is_ready(worker) for worker in self._running]
        if not all(ready):
            self._end()
            raise OperatorError("a worker did not start", hint="See what it said before this.")
        self._watch.start()
        self._followers.append(self._follow)
        return self

    def __exit__(self, *_: object) -> None:
        self._followers.remove(self._follow)
        self._ended.set()
        self._watch.join()
        self._end()

    def _begin(self) -> subprocess.Popen[str]:
        """A worker, told what to serve; signals of a terminal don't reach it."""
        worker = subprocess.Popen(  # noqa: S603
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=[self._socket.fileno()],
            start_new_session=True,
        )
        _tell(worker, pickle.dumps((self._folder, self._socket.fileno(), self._settings)).hex())
        return worker

    def _follow(self, _plan: Plan, _promotion: Promotion) -> None:
        """Let the workers take over the declarations that the run has taken over."""
        for worker in self._running:
            _tell(worker, PROMOTED)

    def _replace(self) -> None:
        """Replace workers that end."""
        while not self._ended.wait(_LOOK.total_seconds()):
            for number, worker in enumerate(self._running):
                if worker.poll() is None:
                    continue
                _logger.warning("a worker has ended with %s and is replaced", worker.returncode)
                _close(worker)
                if self._ended.wait(_PAUSE.total_seconds()):
                    return
                self._running[number] = self._begin()

    def _end(self) -> None:
        for worker in self._running:
            _close(worker)
        until = time.monotonic() + _END
        for worker in self._running:
            try:
                worker.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
        self._socket.close()


def _is_ready(worker: subprocess.Popen[str]) -> bool:
    """Wait until a worker serves; False if it has ended before."""
    return _of(worker.stdout).readline().strip() == READY


def _tell(worker: subprocess.Popen[str], line: str) -> None:
    with suppress(OSError, ValueError):  # it has ended, which is found by who watches
        _of(worker.stdin).write(f"{line}\n")
        _of(worker.stdin).flush()


def _close(worker: subprocess.Popen[str]) -> None:
    for stream in (worker.stdin, worker.stdout):
        with suppress(OSError):
            _of(stream).close()


def _of(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def main() -> None:
    """Serve what the first line of the standard input says, until it ends; the others tell of promotions."""
    folder, bound_as, settings = pickle.loads(bytes.fromhex(sys.stdin.readline()))  # noqa: S301  # our own words
    with open_project(folder) as project, Server(project, settings, socket.socket(fileno=bound_as)):
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()
        for line in sys.stdin:
            if line.strip() == PROMOTED:
                with suppress(HeadwaterError):  # they have changed again, and are not taken over by anyone
                    project.declarations.exchange()
