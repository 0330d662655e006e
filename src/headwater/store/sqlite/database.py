"""The database file: one connection that writes, any number that read, and what their failures mean.

The file is in WAL mode: a reader sees the last commit before it began and waits for nobody. A commit is synced to disk
before it returns (`synchronous = FULL`).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from headwater.errors import HeadwaterError, StoreDamaged, StoreUnavailable
from headwater.store.refusals import WHOLE_OR_NOTHING, too_long
from headwater.store.sqlite.soundness import count_transaction, forget_sum, note_sum, put_aside, what_is_wrong

NEEDED = (3, 38)
"""The first SQLite with all that is used: several ON CONFLICT clauses, JSON built in."""
FORMAT = 2
"""The format of the file: in 2, rows that are only added have no copies in the changelog, in 1 they have."""
BOOKKEEPING = """
CREATE TABLE IF NOT EXISTS headwater_format (format INTEGER NOT NULL);
INSERT INTO headwater_format SELECT 2 WHERE NOT EXISTS (SELECT 1 FROM headwater_format);
UPDATE headwater_format SET format = 2 WHERE format = 1;
CREATE TABLE IF NOT EXISTS headwater_versions (
  view TEXT NOT NULL, version INTEGER NOT NULL, fingerprint TEXT NOT NULL, columns BLOB NOT NULL, key TEXT NOT NULL,
  emit TEXT NOT NULL, statements TEXT NOT NULL, created_at TEXT NOT NULL, trimmed INTEGER,
  PRIMARY KEY (view, version)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS headwater_epochs (
  view TEXT NOT NULL, version INTEGER NOT NULL, epoch INTEGER NOT NULL, holder TEXT NOT NULL, taken_at TEXT NOT NULL,
  PRIMARY KEY (view, version)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS headwater_batches (
  view TEXT NOT NULL, version INTEGER NOT NULL, batch INTEGER NOT NULL, commits TEXT NOT NULL, watermark TEXT NOT NULL,
  applied_at TEXT NOT NULL, changes_after INTEGER NOT NULL, changes_to INTEGER NOT NULL,
  PRIMARY KEY (view, version, batch)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS headwater_ledger (
  view TEXT NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (view, version, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS headwater_promoted (
  view TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
"""


R = TypeVar("R")
T = TypeVar("T")
C = TypeVar("C", bound=sqlite3.Connection)
Write = Callable[[sqlite3.Connection], Any]
Tell = Callable[[Future[Any]], None]
"""Tells who waits what became of a write."""
STEPS = 100_000
"""SQLite looks at the clock after so many steps of its own."""
_PAUSE = 0.01
"""So many seconds pass until a reader looks again whether the file is still locked."""
STATEMENTS = 2_000
"""A connection keeps so many statements ready: some thirty for each view that is written."""
READERS = 16
"""The number of connections that that read are kept for the next reader."""


class Reader(sqlite3.Connection):
    """A connection that reads. It remembers what it was told of the commit that it sees."""

    _commit: int | None = None
    _known: dict[tuple[Any, ...], Any]

    def begin(self) -> None:
        """Begin a transaction; what was told of an earlier commit, by whatever process, is forgotten."""
        if not self.in_transaction:  # it has begun already if it only could not read
            self.execute("BEGIN")
        (commit,) = self.execute("PRAGMA data_version").fetchone()  # it begins to read, at this commit
        if commit != self._commit:
            self._commit, self._known = commit, {}

    def remembered(self, asked: tuple[Any, ...], find: Callable[[], R]) -> R:
        """The answer of `find` in the transaction, looked for once in a commit."""
        if asked not in self._known:
            self._known[asked] = find()
        found: R = self._known[asked]
        return found


class Database:
    """A SQLite file. The connection that writes is opened when something is first written."""

    def __init__(self, path: Path, busy_timeout: timedelta) -> None:
        self.path = path
        self._name = str(path)
        self._busy_timeout = busy_timeout
        self._lock = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self.is_prepared = False
        self._is_sound = False
        self._pool = threading.Lock()
        self._readers: list[tuple[tuple[int, int] | None, Reader]] = []
        self._queue: deque[tuple[Future[Any], Write]] = deque()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it at the end, or nothing. One at a time; other processes are waited for."""
        with self._lock, self._transaction() as connection:
            yield connection

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self.named("written"):
            if self._writer is None:
                self._writer = self._open_writer()
            connection = self._writer
            connection.execute("BEGIN IMMEDIATE")
            try:
                count_transaction(connection)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def write(self, write: Callable[[sqlite3.Connection], T]) -> T:
        """Write something, all of it or nothing, in a transaction that it shares with whoever waits for one as well.

        To sync a commit to the disk takes longer than to write a few rows: what several views have to write meanwhile
        is synced once. Each writes as if it were alone; what one of them fails of is undone, and is its own.
        """
        own: Future[T] = Future()
        self._queue.append((own, write))
        with self._lock:  # whoever had it before may have written this too
            if not own.done():
                self._write_all([self._queue.popleft() for _ in range(len(self._queue))])
        return own.result()

    def write_together(self, writes: Sequence[Write]) -> list[Future[Any]]:
        """Write several things in one transaction; what one of them fails of is undone, and is its own."""
        queued: list[tuple[Future[Any], Write]] = [(Future(), write) for write in writes]
        with self._lock:
            self._write_all(queued)
        return [future for future, _ in queued]

    def _write_all(self, queued: Sequence[tuple[Future[Any], Write]]) -> None:
        """Write what is queued in one transaction. If something fails, each is attempted, and if that fails as a whole,
        each in a transaction of its own.

        To be able to undo one of them alone takes two more statements, and nearly always none of them fails.
        """
        for attempt in [self._written, self._attempted][: len(queued)]:
            failure = self._write_by(attempt, queued)
            if not isinstance(failure, Exception):
                break
        if isinstance(failure, Exception) and len(queued) > 1:
            for one in queued:
                self._write_all([one])
        elif failure is not None:
            for future, _ in queued:
                future.set_exception(failure)

    def _write_by(
        self, attempt: Callable[[sqlite3.Connection, Write], Tell], queued: Sequence[tuple[Future[Any], Write]]
    ) -> BaseException | None:
        """Write what is queued in one transaction, and tell what became of each; what the transaction failed of."""
        try:
            with self._transaction() as connection:
                told = [attempt(connection, write) for _, write in queued]
        except BaseException as failure:
            return failure
        for (future, _), tell in zip(queued, told, strict=True):
            tell(future)
        return None

    def _attempted(self, connection: sqlite3.Connection, write: Write) -> Tell:
        """Write one of several; what it fails of is undone alone."""
        connection.execute("SAVEPOINT one")
        try:
            tell = self._written(connection, write)
        except Exception as failure:
            connection.execute("ROLLBACK TO one")
            cause = self._meaning(failure, "written") if isinstance(failure, sqlite3.Error) else failure
            tell = partial(Future.set_exception, exception=cause)
        connection.execute("RELEASE one")
        return tell

    def _written(self, connection: sqlite3.Connection, write: Write) -> Tell:
        return partial(Future.set_result, result=write(connection))

    @contextmanager
    def reading(self, longest: timedelta | None = None, *, waits: bool = True) -> Iterator[Reader]:
        """A connection of one's own that can't write, in a transaction: all its statements see the same commit.

        It is kept for the next reader, unless something went wrong or another file is there by then. What still runs
        after `longest` is ended. Nobody waits for a writer; for who keeps the whole file locked one does if `waits`.
        """
        if not self.is_prepared:
            self._ensure_prepared()
        with self.named("read"):
            file, connection = self._reader()
            try:
                self._begin(connection, waits)
                with _ended_after(connection, longest):
                    yield connection
                connection.execute("ROLLBACK")
            except BaseException:
                connection.close()
                raise
            with self._pool:
                if len(self._readers) < READERS:
                    self._readers.append((file, connection))
                    return
            connection.close()

    def _begin(self, connection: Reader, waits: bool) -> None:
        deadline = time.monotonic() + (self._busy_timeout.total_seconds() if waits else 0)
        while True:
            try:
                connection.begin()
                return
            except sqlite3.OperationalError as cause:
                if not _is_locked(cause) or time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE)

    def _reader(self) -> tuple[tuple[int, int] | None, Reader]:
        """A connection to the file that is there now, with what tells it from others that may take its place."""
        file = self._identity()
        while True:
            with self._pool:
                kept = self._readers.pop() if self._readers else None
            if kept is None:
                break
            if kept[0] == file and file is not None:
                return kept
            kept[1].close()
        connection = self._connect("ro", Reader, timedelta(0))
        connection.execute("PRAGMA query_only = ON")
        return file, connection

    def _identity(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self._name)  # noqa: PTH116  # each read asks: a path of its own takes longer than the system
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _ensure_prepared(self) -> None:
        """Make the file and its bookkeeping, unless they are there; a process may have been killed between the two."""
        self.require_sound()
        if self.path.exists():
            with self.named("read"), closing(self._connect("ro", sqlite3.Connection)) as connection:
                named = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'headwater_promoted'").fetchone()
                self.is_prepared = named is not None
        if not self.is_prepared:
            with self.writing():
                self.is_prepared = True

    def require_sound(self, *, again: bool = False) -> None:
        """Refuse a file that isn't as it was left; looked at when this process first uses it, or `again`."""
        if self._is_sound and not again:
            return
        wrong = what_is_wrong(self.path)
        if wrong is not None:
            raise self._damaged(wrong)
        self._is_sound = True

    def put_aside(self, now: datetime) -> Path:
        """Move a damaged file away; the next call makes a new one."""
        self.close()
        self.is_prepared = self._is_sound = False
        return put_aside(self.path, now)

    def close(self) -> None:
        """Close the connections; the next call opens what it needs."""
        with self._pool:
            readers, self._readers = self._readers, []
        for _, reader in readers:
            reader.close()
        with self._lock:
            if self._writer is not None:
                note_sum(self.path, self._writer)
                self._writer.close()
                self._writer = None

    def _connect(self, mode: str, kind: type[C], patience: timedelta | None = None) -> C:
        address = f"file:{quote(str(self.path.absolute()))}?mode={mode}"
        seconds = (self._busy_timeout if patience is None else patience).total_seconds()
        return sqlite3.connect(
            address,
            timeout=seconds,
            isolation_level=None,
            check_same_thread=False,
            factory=kind,
            uri=True,
            cached_statements=STATEMENTS,
        )

    def _open_writer(self) -> sqlite3.Connection:
        if sqlite3.sqlite_version_info < NEEDED:
            raise StoreUnavailable(
                f'the store "{self.path}" needs SQLite {".".join(map(str, NEEDED))} or newer',
                detail=f"This Python comes with SQLite {sqlite3.sqlite_version}. Nothing was written.",
                hint="Run Headwater with a newer Python.",
                path=str(self.path),
            )
        self.require_sound()
        connection = self._connect("rwc", sqlite3.Connection)
        try:
            self._prepare(connection)
            forget_sum(self.path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -65536")  # KiB: a batch's pages stay in memory until its commit
        connection.execute("PRAGMA wal_autocheckpoint = 8000")  # pages: a batch of 100,000 rows writes some thousands
        connection.execute("BEGIN IMMEDIATE")
        for statement in BOOKKEEPING.split(";"):
            connection.execute(statement)
        version = connection.execute("SELECT format FROM headwater_format").fetchone()[0]
        connection.execute("COMMIT")
        if version != FORMAT:
            raise StoreDamaged(
                f'the store "{self.path}" has a format that this version of Headwater doesn\'t know',
                detail=f"It has format {version}, known is {FORMAT}. Nothing was written.",
                hint="Run the version of Headwater that wrote it, or a newer one.",
                path=str(self.path),
            )

    @contextmanager
    def named(self, what: str) -> Iterator[None]:
        """Turn a failure of SQLite into an operator's error that names the file."""
        try:
            yield
        except sqlite3.Error as cause:
            raise self._meaning(cause, what) from cause

    def _damaged(self, reason: str) -> StoreDamaged:
        return StoreDamaged(
            f'the store "{self.path}" is damaged',
            detail=f"{reason} Its rows can't be relied on; the log that they come from can.",
            hint="Run `headwater catch-up`, or `run`: the file is put aside, and the views are rebuilt from the log.",
            path=str(self.path),
        )

    def _meaning(self, cause: sqlite3.Error, what: str) -> HeadwaterError:
        code = getattr(cause, "sqlite_errorname", "") or ""
        if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return self._damaged(_sentence(cause))
        if code == "SQLITE_ERROR":  # every statement is ours: a table or column that it names is gone
            return StoreDamaged(
                f'the store "{self.path}" lacks something that Headwater made',
                detail=f"{_sentence(cause)} Someone dropped or altered it. {WHOLE_OR_NOTHING}",
                hint="Run `headwater replay` to rebuild the view from the log as a new version.",
                path=str(self.path),
            )
        reason, hint = _reason(code, self._busy_timeout)
        return StoreUnavailable(
            f'the store "{self.path}" could not be {what}',
            detail=f"{reason} ({cause}). {WHOLE_OR_NOTHING}",
            hint=hint,
            path=str(self.path),
        )


@contextmanager
def _ended_after(connection: sqlite3.Connection, longest: timedelta | None) -> Iterator[None]:
    """Interrupt what a connection does after a time."""
    if longest is None:
        yield
        return
    deadline = time.monotonic() + longest.total_seconds()
    connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    try:
        yield
    except sqlite3.OperationalError as cause:
        if getattr(cause, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
            raise too_long(longest) from None
        raise
    finally:
        connection.set_progress_handler(None, 0)


_REASONS = {
    "SQLITE_FULL": ("The disk is full", "Make room, then repeat the call."),
    "SQLITE_READONLY": ("The file or its folder is read-only", "Check the permissions, then repeat the call."),
    "SQLITE_PERM": ("The permissions don't allow it", "Check the permissions, then repeat the call."),
    "SQLITE_CANTOPEN": ("The file can't be opened", "Check the path and the permissions, then repeat the call."),
    "SQLITE_IOERR": ("The disk reported an error", "Check free space and the disk, then repeat the call."),
}


def _is_locked(cause: sqlite3.Error) -> bool:
    return (getattr(cause, "sqlite_errorname", "") or "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _reason(code: str, waited: timedelta) -> tuple[str, str]:
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        seconds = f"{waited.total_seconds():g}"
        return f"Another process kept it locked for {seconds} s", "Let the other process finish, then repeat the call."
    reasons = (_REASONS[name] for name in _REASONS if code.startswith(name))
    return next(reasons, ("SQLite failed", "See the cause that is named, then repeat the call."))


def _sentence(cause: sqlite3.Error) -> str:
    text = str(cause)
    return f"{text[:1].upper()}{text[1:]}."
