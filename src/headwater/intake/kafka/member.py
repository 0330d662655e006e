"""The name of a member of a consumer group, the same again when its process is started again.

The brokers give a member that comes back under its name the partitions that it had, at once; without a name, those of a
process that was killed would rest until it has been silent for the session's time. A name is *claimed* by a lock on a
file, which ends with the process: the first one that is free is taken.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from itertools import count
from pathlib import Path

from headwater.errors import FolderUnavailable


@contextmanager
def claimed_name(folder: Path, group: str, stream: str) -> Iterator[str]:
    """A name that no other process has, of this machine and this folder, for as long as the block lasts."""
    digest = blake2b(f"{folder.resolve()}\0{group}\0{stream}".encode(), digest_size=6).hexdigest()
    for number in count(1):
        descriptor = _opened(folder / f"member-{digest}-{number}")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        try:
            yield f"{socket.gethostname()}-{digest}-{number}"
        finally:
            os.close(descriptor)
        return


def _opened(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as cause:
        raise FolderUnavailable(
            f'file "{path.name}" of the project could not be written',
            detail=f"{cause.strerror or cause}. Nothing was taken in since.",
            hint="See that the disk has room and that the folder may be written to.",
            file=str(path),
        ) from cause
