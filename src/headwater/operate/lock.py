"""A lock of the operating system, so that one run at a time does something; it is gone when its process is.

A holder gives a sign of life, the time of the lock's file, as long as it runs. One that gives none for its *lease* (its
process was stopped, or hangs as a whole) loses the lock to the next that asks: the heir puts a file of its own in the
place of the old one. The former holder goes on where it was when it wakes up, so whatever the lock stands for must
fence it off, as the epochs of stores do.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO

from headwater.errors import HeadwaterError
from headwater.operate.meanwhile import meanwhile
from headwater.operate.record import written
from headwater.store.refusals import this_process

LEASE = timedelta(seconds=30)
_SIGNS = 4
"""So many signs of life are given within a lease: a machine that is busy may delay one."""
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


@dataclass(frozen=True)
class Held:
    """A lock that is held; `inherited` if it was taken from a holder that gave no sign of life for its lease."""

    path: Path
    file: IO[str]
    inherited: bool

    def heir(self) -> str | None:
        """The process that has taken the lock away; None while it is still held."""
        if _is_at(self.path, self.file):
            return None
        try:
            return _signed(self.path.read_text(encoding="utf-8")) or "another process"
        except OSError:
            return "another process"


@contextmanager
def locked(path: Path, busy: Callable[[str], HeadwaterError], lease: timedelta = LEASE) -> Iterator[Held]:
    """Hold the lock at a path.

    If another process has it, the error that `busy` makes of its holder's name comes at once; if its file can't be
    made, as on a disk that is full, `FolderUnavailable`. On a disk that has no locks several can hold it: nothing may
    depend on it but who is told to wait.
    """
    with written(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        held = _acquire(path, busy, lease)
    with held.file:
        _sign(held.file)
        with _alive(held.file, lease):
            yield held


def _sign(file: IO[str]) -> None:
    """Say in a lock's file who holds it, at no instant nobody. It is held without that, too."""
    line = f"{this_process()}\n".encode()
    with suppress(OSError):
        os.pwrite(file.fileno(), line, 0)
        os.ftruncate(file.fileno(), len(line))


def _signed(text: str) -> str:
    """The process that a lock's file names: behind its line may be the rest of a longer one."""
    return text.partition("\n")[0].strip()


def _acquire(path: Path, busy: Callable[[str], HeadwaterError], lease: timedelta) -> Held:
    while True:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+", encoding="utf-8")
        if _lock(file):
            if _is_at(path, file):
                return Held(path, file, inherited=False)
            file.close()  # an heir has put another file in its place
            continue
        with file:
            if _silent_for(file) >= lease and (inherited := _inherit(path, file)) is not None:
                return Held(path, inherited, inherited=True)
            file.seek(0)
            raise busy(_signed(file.read()))


def _inherit(path: Path, silent: IO[str]) -> IO[str] | None:
    """A file of the heir's own in the place of a silent holder's; None if another heir is at it or was faster."""
    with path.with_name(f"{path.name}.heir").open("a+") as guard:
        if not (_lock(guard) and _is_at(path, silent)):
            return None
        staged = path.with_name(f"{path.name}.new")
        file = staged.open("w+", encoding="utf-8")
        _lock(file)
        staged.replace(path)
        return file


def _lock(file: IO[str]) -> bool:
    """Tells whether the lock of a file is this process's now; on a disk that has no locks, it always is."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as cause:
        if cause.errno not in _NO_LOCKS:
            raise
    return True


def _is_at(path: Path, file: IO[str]) -> bool:
    """Tells whether a path still leads to a file that was opened there."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _silent_for(file: IO[str]) -> timedelta:
    """The time since the holder of a lock gave a sign of life."""
    return timedelta(seconds=time.time() - os.fstat(file.fileno()).st_mtime)


@contextmanager
def _alive(file: IO[str], lease: timedelta) -> Iterator[None]:
    """Give signs of life while the lock is held."""
    with meanwhile("giving a sign of life", lambda: os.utime(file.fileno()), lease / _SIGNS):
        yield
