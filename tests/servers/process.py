"""One server process: started, waited for until it answers, and stopped by its own pid."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

START_SECONDS = 120
STOP_SECONDS = 20


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def server_folder(user: str | None = None) -> Iterator[Path]:
    """A temporary folder for a server's files, owned by `user` if one is given."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-server-"))
    if user is not None:
        account = pwd.getpwnam(user)
        os.chown(folder, account.pw_uid, account.pw_gid)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def running(
    command: Sequence[str | Path],
    *,
    folder: Path,
    answers: Callable[[], bool],
    settings: Mapping[str, str] | None = None,
    user: str | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """The process of this command from when it `answers` to the end of the block; what it prints is in `output`."""
    output = folder / "output"
    with output.open("ab") as printed:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | (settings or {}),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            user=user,
            group=None if user is None else pwd.getpwnam(user).pw_gid,
            extra_groups=None if user is None else [],
        )
    try:
        _wait(process, answers, output)
        yield process
    finally:
        _stop(process)


def _wait(process: subprocess.Popen[bytes], answers: Callable[[], bool], output: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not answers():
        if process.poll() is not None or time.monotonic() > deadline:
            state = "did not answer in time" if process.returncode is None else f"ended with {process.returncode}"
            raise RuntimeError(f"{process.args[0]} {state}; it printed:\n{output.read_text(errors='replace')[-4000:]}")
        time.sleep(0.05)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def ask(port: int, request: bytes) -> bytes:
    """The first bytes that the server answers to this request; nothing if it isn't there yet."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(request)
            return connection.recv(4096)
    except OSError:
        return b""
