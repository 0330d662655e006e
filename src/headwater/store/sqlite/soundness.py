"""The soundness of a SQLite file, which is as it was left or not: SQLite itself keeps no checksum of its pages.

When a process closes a file that it has written, the file's checksum is noted beside it, with what every transaction of
ours changes in the file's header. The next process that opens the file while nobody writes compares: one that has the
header that was noted must have the checksum as well. One that was written since and never closed, by a process that was
killed, is looked through by SQLite (`PRAGMA quick_check`), which finds what is broken in its structure, not in a value.
"""

from __future__ import annotations

import mmap
import os
import sqlite3
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from headwater.log.seal import checksum, noted, read_note

_KIND = "sqlite"
_HEADER = 100
_CHANGING = (slice(24, 28), slice(40, 44), slice(60, 64))
"""Of the header: the counter of changes, that of the schema, and our own (`user_version`)."""
_AT_ONCE = 64 << 20


def count_transaction(connection: sqlite3.Connection) -> None:
    """Let the transaction that has begun be seen in the file's header."""
    (count,) = connection.execute("PRAGMA user_version").fetchone()
    connection.execute(f"PRAGMA user_version = {(count + 1) % (1 << 31)}")


def note_sum(path: Path, connection: sqlite3.Connection) -> None:
    """Note the checksum of a file that is about to be closed, if nobody else has it open for writing."""
    with suppress(OSError, sqlite3.Error):  # without it, the file is looked through the next time
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        before = _header(path)
        if busy or not is_at_rest(path) or before is None:
            return
        text = f"{before} {_sum(path):08x}"
        if is_at_rest(path) and _header(path) == before:
            _beside(path).write_bytes(noted(_KIND, text))


def forget_sum(path: Path) -> None:
    """Forget what was noted of a file that is about to be written."""
    with suppress(OSError):
        _beside(path).unlink(missing_ok=True)


def what_is_wrong(path: Path) -> str | None:
    """The fault of a file; None if it is as it was left, is being written, or isn't there."""
    header = _header(path)
    if header is None or not is_at_rest(path):
        return None
    seen, _, expected = (read_note(_KIND, _read(_beside(path))) or "").rpartition(" ")
    if seen == header:
        actual = f"{_sum(path):08x}"
        return None if actual == expected else f"Its checksum is {actual}, and it was left with {expected}."
    return _looked_through(path)


def put_aside(path: Path, now: datetime) -> Path:
    """Move a file away with all that belongs to it; returns where it is."""
    aside = path.with_name(f"{path.name}.damaged-{now.astimezone(UTC):%Y%m%dT%H%M%S%f}")
    path.rename(aside)
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    _beside(path).unlink(missing_ok=True)
    return aside


def is_at_rest(path: Path) -> bool:
    """Tells whether all that was written is in the file itself: its write-ahead log is empty or gone."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size == 0
    except FileNotFoundError:
        return True


def _looked_through(path: Path) -> str | None:
    connection = sqlite3.connect(f"file:{path.absolute()}?mode=ro", uri=True)
    try:
        (first,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        return None if first == "ok" else f"{first}."
    except sqlite3.OperationalError:
        return None  # it can't be asked now; who uses it says what is wrong
    except sqlite3.DatabaseError as cause:
        return f"{cause}."
    finally:
        connection.close()


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sum")


def _header(path: Path) -> str | None:
    """The part of a file's header that tells its states apart, and its size; None if it has none yet."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER)
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return None
    return f"{size}-{'-'.join(header[part].hex() for part in _CHANGING)}" if len(header) == _HEADER else None


def _sum(path: Path) -> int:
    total = 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        view = memoryview(mapped)
        for start in range(0, len(view), _AT_ONCE):
            with view[start : start + _AT_ONCE] as part:
                total = checksum(part, total)
        view.release()
    return total


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
