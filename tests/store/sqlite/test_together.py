"""Writes that share a transaction: each is whole or nothing, and one that fails is alone in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import pytest

from headwater.errors import Fenced, StoreUnavailable
from headwater.store.sqlite import SqliteStore, rows
from headwater.store.sqlite.database import Database
from headwater.testing.conformance.targets import FINAL, SPEND, batch
from tests.patience import eventually

SOME = 6


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "views.db", timedelta(seconds=5))
    with database.writing() as connection:
        connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
    yield database
    database.close()


def together(database: Database, *writes: Callable[[sqlite3.Connection], object]) -> list[object]:
    """The outcomes of writes that all wait while another transaction is open."""
    with ThreadPoolExecutor(len(writes)) as pool:
        with database.writing():
            futures = [pool.submit(database.write, write) for write in writes]
            eventually(lambda: len(database._queue), len(writes))
        return [future.exception() or future.result() for future in futures]


def inserts(*numbers: int) -> Callable[[sqlite3.Connection], object]:
    def insert(connection: sqlite3.Connection) -> int:
        for number in numbers:
            connection.execute("INSERT INTO t VALUES (?)", (number,))
        return sum(numbers)

    return insert


def numbers(database: Database) -> list[int]:
    with database.reading() as connection:
        return [number for (number,) in connection.execute("SELECT n FROM t ORDER BY n")]


def commits(database: Database) -> int:
    with database.reading() as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_those_who_wait_share_a_transaction(database: Database) -> None:
    before = commits(database)
    assert together(database, *(inserts(number) for number in range(SOME))) == list(range(SOME))
    assert numbers(database) == list(range(SOME))
    assert commits(database) == before + 2, "the one that they waited for, and theirs"


def test_one_that_fails_is_undone_and_the_others_are_written(database: Database) -> None:
    def fails(connection: sqlite3.Connection) -> None:
        inserts(7)(connection)
        raise ValueError("on the way")

    one, failed, refused, last = together(database, inserts(1), fails, inserts(8, 8), inserts(2))
    assert (one, last) == (1, 2)
    assert isinstance(failed, ValueError)
    assert isinstance(refused, StoreUnavailable)
    assert numbers(database) == [1, 2]


def test_a_transaction_that_fails_as_a_whole_is_done_by_each_alone(database: Database) -> None:
    tries: list[int] = []

    def ends_it(connection: sqlite3.Connection) -> str:
        tries.append(len(tries))
        if len(tries) == 1:
            connection.execute("ROLLBACK")
            raise sqlite3.OperationalError("the disk is full")
        return "written"

    assert together(database, inserts(1), ends_it, inserts(2)) == [1, "written", 2]
    assert numbers(database) == [1, 2]


def test_a_view_that_is_fenced_off_fails_alone(tmp_path: Path) -> None:
    views = [replace(SPEND, view=f"view_{number}") for number in range(SOME)]
    with closing(SqliteStore(tmp_path / "views.db")) as store:
        epochs = [store.open(view, "plan") for view in views]
        store.open(views[2], "plan")  # someone else has taken it over
        start = Barrier(SOME)

        def apply(number: int) -> bool | Exception:
            start.wait()
            try:
                return store.apply(views[number], epochs[number], batch(0, [("a", number, 1)]))
            except Fenced as fenced:
                return fenced

        with ThreadPoolExecutor(SOME) as pool:
            told = list(pool.map(apply, range(SOME)))
        assert [outcome is True for outcome in told] == [number != 2 for number in range(SOME)]
        for number, view in enumerate(views):
            assert store.read(view.view, 1)["minute"].to_pylist() == ([] if number == 2 else [number])
            assert (store.position(view.view, 1) is None) == (number == 2)


def test_batches_of_several_views_are_there_at_once_but_for_one_that_is_refused(tmp_path: Path) -> None:
    views = [replace(SPEND, view=f"view_{number}") for number in range(SOME)]
    with closing(SqliteStore(tmp_path / "views.db")) as store:
        epochs = [store.open(view, "plan") for view in views]
        store.open(views[2], "plan")  # someone else has taken it over
        before = commits(store._database)
        batches = [batch(0, [("a", number, 1)]) for number in range(SOME)]
        told = store.write_together([store.prepared(*each) for each in zip(views, epochs, batches, strict=True)])
        assert commits(store._database) == before + 1
        assert [type(future.exception() or future.result()) for future in told] == [bool, bool, Fenced, *[bool] * 3]
        assert [store.position(view.view, 1) is None for view in views] == [number == 2 for number in range(SOME)]
        again = store.write_together([store.prepared(views[0], epochs[0], batches[0])])
        assert [future.result() for future in again] == [False], "it was applied before"


@pytest.mark.parametrize("count", [1, 49, 50, 51, 137])
def test_all_rows_are_written_again_when_a_transaction_failed_behind_them(
    tmp_path: Path, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "PART", 60)
    settled, changed = replace(FINAL, view="settled"), replace(SPEND, view="changed")
    with closing(SqliteStore(tmp_path / "views.db")) as store:
        some = batch(0, [(f"card-{number}", number, 1) for number in range(count)])
        ready = [store.prepared(view, store.open(view, "plan"), some) for view in (settled, changed)]

        def fails(connection: sqlite3.Connection) -> bool:
            raise ValueError("behind both of them")

        *told, failed = store.write_together([*ready, fails])
        assert isinstance(failed.exception(), ValueError)
        assert [future.result() for future in told] == [True, True]
        for view in (settled, changed):
            assert sorted(store.read(view.view, 1)["minute"].to_pylist()) == list(range(count))
            assert sum(changes.num_rows for changes in store.changes(view.view, 1)) == count


def test_statements_of_a_version_are_few_however_many_rows_come(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "views.db")) as store:
        epoch = store.open(SPEND, "plan")
        store.apply(SPEND, epoch, batch(0, [("a", number, 1) for number in range(200)]))
        for number, few in enumerate(range(1, 100, 7), 1):
            said: list[str] = []
            with store._database.writing() as connection:
                connection.set_trace_callback(said.append)
            store.apply(SPEND, epoch, batch(number, [("a", row, number) for row in range(few)]))
            stated = set(said)  # a trigger repeats the statement that it belongs to, for each row
            inserted = [text for text in stated if text.startswith("INSERT OR ROLLBACK")]
            assert len(inserted) <= 1 + 6, "one of fifty rows, and powers of two"
            assert len(stated) <= 11 + len(inserted)
