"""Files that are damaged, locked, read-only, full, altered or taken: named errors, and nothing half done."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from headwater.errors import ArgumentRefused, StoreDamaged, StoreUnavailable
from headwater.store.sqlite import SqliteStore
from headwater.testing.conformance.targets import SPEND, batch, position, rows_of, version
from tests.patience import PATIENCE, eventually

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with one batch in it."""
    store = SqliteStore(tmp_path / "views.db")
    store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [("a", 1, 1)]))
    store.promote("spend", 1)
    store.close()
    return tmp_path / "views.db"


def in_a_process(script: str, path: Path) -> str:
    """What a script prints that has `store`, with epoch `epoch` of version 1."""
    prelude = """
    import os, sys
    from pathlib import Path
    from headwater.errors import HeadwaterError
    from headwater.store.sqlite import SqliteStore
    from headwater.testing.conformance.targets import SPEND, batch
    store = SqliteStore(Path(sys.argv[1]))
    """
    command = [sys.executable, "-c", textwrap.dedent(prelude) + textwrap.dedent(script), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "views.db").write_text("These are my notes, and not a database at all. " * 50)
    store = SqliteStore(tmp_path / "views.db")
    for call in (
        lambda: store.open(SPEND, "plan"),
        lambda: store.position("spend", 1),
        lambda: store.query("SELECT 1"),
    ):
        with pytest.raises(StoreDamaged, match=r'the store ".*views\.db" is damaged') as damaged:
            call()
        assert "headwater catch-up" in str(damaged.value)
    assert (tmp_path / "views.db").read_text().startswith("These are my notes")


def test_a_file_with_damaged_pages(path: Path) -> None:
    with path.open("r+b") as file:
        size = file.seek(0, 2)
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    store = SqliteStore(path)
    with pytest.raises(StoreDamaged, match=r"views\.db"):
        rows_of(store)
    with pytest.raises(StoreDamaged):
        store.open(SPEND, "plan")


def test_a_lock_that_someone_keeps_is_waited_for_and_then_told(path: Path) -> None:
    store = SqliteStore(path, busy_timeout=timedelta(milliseconds=100))
    epoch = store.open(SPEND, "plan")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="could not be written") as locked:
            store.apply(SPEND, epoch, batch(1, [("a", 1, 2)]))
        assert "locked for 0.1 s" in str(locked.value)
        assert locked.value.transient
        assert rows_of(store) == {("a", 1, "1.00")}, "a reader doesn't wait"
        other.execute("ROLLBACK")
    assert store.apply(SPEND, epoch, batch(1, [("a", 1, 2)])), "the same call succeeds"
    store.close()


def test_a_reader_that_stays_does_not_hold_up_a_writer(path: Path) -> None:
    store = SqliteStore(path, busy_timeout=timedelta(milliseconds=100))
    epoch = store.open(SPEND, "plan")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        before = other.execute("SELECT spent FROM spend").fetchall()
        assert store.apply(SPEND, epoch, batch(1, [("a", 1, 2)]))
        assert other.execute("SELECT spent FROM spend").fetchall() == before, "it goes on seeing what it saw"
    store.close()


def test_a_read_only_folder(path: Path) -> None:
    path.chmod(0o444)
    for folder in [path.parent, *list(path.parent.parents)[:2]]:
        folder.chmod(0o755)
    script = """
    if os.geteuid() == 0:
        os.setuid(65534)  # root may write anywhere
    try:
        store.open(SPEND, "plan")
    except HeadwaterError as error:
        print(error.code(), error.transient, error)
    """
    told = in_a_process(script, path)
    assert told.startswith(f'store-unavailable True the store "{path}" could not be written')
    assert "whole or not at all" in told


@pytest.mark.parametrize("statement", [None, "CREATE TABLE mine (a)"])
def test_a_file_without_bookkeeping_is_a_store_without_views(tmp_path: Path, statement: str | None) -> None:
    """A process that was killed right after it made the file leaves it empty; or it is someone's own database."""
    (tmp_path / "views.db").touch()
    if statement:
        with closing(sqlite3.connect(tmp_path / "views.db")) as other:
            other.execute(statement)
    store = SqliteStore(tmp_path / "views.db")
    assert store.position("spend", 1) is None
    assert store.versions("spend") == ()
    assert store.open(SPEND, "plan") == 1
    store.close()


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"nowhere/views\.db") as missing:
        SqliteStore(tmp_path / "nowhere" / "views.db").open(SPEND, "plan")
    assert "can't be opened" in str(missing.value)


def test_a_full_disk_leaves_what_was_applied_and_nothing_else(path: Path) -> None:
    script = """
    import resource, signal
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(1, [("b", 1, 1)]))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    try:
        store.apply(SPEND, epoch, batch(2, [(f"card-{n}", 1, 1) for n in range(50_000)]))
    except HeadwaterError as error:
        print(error.code(), error.fields["path"])
        print(error)
    """
    told = in_a_process(script, path)
    assert told.startswith(f"store-unavailable {path}"), told
    assert "whole or not at all" in told
    store = SqliteStore(path)
    assert rows_of(store) == {("a", 1, "1.00"), ("b", 1, "1.00")}
    assert store.position("spend", 1) == position(1)
    assert store.apply(SPEND, store.open(SPEND, "plan"), batch(2, [("c", 1, 1)])), "with room again it goes on"
    store.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE spend__v1",
        "ALTER TABLE spend__v1 ADD COLUMN mine",
        "ALTER TABLE spend__v1 RENAME COLUMN minute TO hour",
        "DROP TRIGGER headwater_update_spend__v1",
        "DROP INDEX headwater_null_keys_spend__v1",
    ],
)
def test_a_table_that_someone_dropped_or_altered_is_never_recreated_or_used(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("DROP VIEW spend")
        other.execute("DROP VIEW spend__v1__changes")
        other.execute(statement)
    store = SqliteStore(path)
    with pytest.raises(StoreDamaged, match='view "spend" version 1 are not as Headwater left them') as damaged:
        store.open(SPEND, "plan")
    assert "headwater replay" in str(damaged.value)
    assert store.open(version(2), "plan") == 1, "a new version can be built beside it"
    store.close()


def test_a_table_that_is_dropped_during_a_run(path: Path) -> None:
    store = SqliteStore(path)
    epoch = store.open(SPEND, "plan")
    with closing(sqlite3.connect(path)) as other:
        other.execute("DROP TABLE spend__v1")
    with pytest.raises(StoreDamaged, match="lacks something that Headwater made") as damaged:
        store.apply(SPEND, epoch, batch(1, [("a", 1, 2)]))
    assert "no such table" in str(damaged.value).lower()
    assert store.position("spend", 1) == position(0)
    store.close()


def test_a_value_that_someone_else_wrote_is_not_guessed_at(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE spend__v1 SET spent = 'a lot'")
        other.commit()
    with pytest.raises(StoreDamaged, match="it was left with"):
        SqliteStore(path).read("spend")
    path.with_name("views.db.sum").unlink()
    with pytest.raises(StoreDamaged, match="not as Headwater left them"):
        SqliteStore(path).read("spend")


@pytest.mark.parametrize(
    ("taken", "call"),
    [
        ("CREATE TABLE spend__v2 (a)", lambda store: store.open(version(2), "plan")),
        ("CREATE TABLE SPEND__V2__changes (a)", lambda store: store.open(version(2), "plan")),
        ("DROP VIEW spend; CREATE TABLE spend (a)", lambda store: store.promote("spend", 1)),
    ],
)
def test_what_belongs_to_someone_else_is_left_alone(
    path: Path, taken: str, call: Callable[[SqliteStore], object]
) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.executescript(taken)
    store = SqliteStore(path)
    with pytest.raises(ArgumentRefused, match="already has a table"):
        call(store)
    store.close()


@pytest.mark.parametrize("name", ["headwater_versions", "sqlite_master", "", "a\0b"])
def test_names_that_the_store_needs_for_itself_are_refused(path: Path, name: str) -> None:
    with pytest.raises(ArgumentRefused, match="can't be kept in a SQLite store"):
        SqliteStore(path).open(replace(SPEND, view=name), "plan")


def test_a_file_of_a_later_format_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version = 1000")  # as a transaction of ours counts itself
        other.execute("UPDATE headwater_format SET format = 3")
        other.commit()
    with pytest.raises(StoreDamaged, match="has a format that this version of Headwater doesn't know"):
        SqliteStore(path).open(SPEND, "plan")


def test_a_commit_is_synced_and_readers_do_not_wait(path: Path) -> None:
    store = SqliteStore(path)
    with store._database.writing() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another client keeps the whole file for itself."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN IMMEDIATE")
        other.execute("COMMIT")
        yield


def test_what_is_at_hand_is_not_waited_for(path: Path) -> None:
    store = SqliteStore(path, busy_timeout=timedelta(days=1))
    assert store.snapshot_at_hand() is None, "it was not looked at yet whether the file is sound"
    assert rows_of(store) == {("a", 1, "1.00")}
    store.close()
    with locked(path):
        taken = store.snapshot_at_hand()
        assert taken is not None
        with pytest.raises(StoreUnavailable, match="could not be read"), taken:
            pass
    taken = store.snapshot_at_hand()
    assert taken is not None
    with closing(store), taken as snapshot:
        assert snapshot.served("spend") is not None


def test_a_reader_waits_for_who_keeps_the_file_locked(path: Path) -> None:
    with closing(SqliteStore(path, busy_timeout=timedelta(days=1))) as store, ThreadPoolExecutor(1) as pool:
        assert store.promoted("spend") == 1
        store.close()
        with locked(path):
            reading = pool.submit(store.promoted, "spend")
            eventually(lambda: reading.running(), True)
        assert reading.result(PATIENCE) == 1
