"""A lock of the operating system, so that one run at a time does something; it is gone when its process is."""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headwater.errors import HeadwaterError
from headwater.store.refusals import this_process

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


@contextmanager
def locked(path: Path, busy: Callable[[str], HeadwaterError]) -> Iterator[None]:
    """Hold the lock at a path; at once the error that `busy` makes of its holder's name, if another process has it.

    On a disk that has no locks several can hold it: nothing may depend on it but who is told to wait.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as cause:
            file.seek(0)
            raise busy(file.read().strip()) from cause
        except OSError as cause:
            if cause.errno not in _NO_LOCKS:
                raise
        file.truncate(0)
        file.write(f"{this_process()}\n")
        file.flush()
        yield
