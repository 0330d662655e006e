"""Files as earlier versions of Headwater left them. `format_1.sql` is the dump of one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.errors import StoreDamaged
from headwater.model import Emit
from headwater.store import Position, Target
from headwater.store.sqlite import SqliteStore
from headwater.testing import Wall
from headwater.testing.conformance.targets import SPEND, batch

SETTLED = replace(SPEND, view="settled", emit=Emit.FINAL)
FIRST = {0: [("a", 1), ("b", 1)], 1: [("b", 2)], 3: [("a", 2), (None, 2)]}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A file of format 1: two batches of `spend`, and four of `settled`, one of which brought nothing."""
    with closing(sqlite3.connect(tmp_path / "views.db")) as made:
        made.executescript((Path(__file__).parent / "format_1.sql").read_text())
    with closing(SqliteStore(tmp_path / "views.db", now=Wall())) as found:
        yield found


def changes(store: SqliteStore, since: Position | int | None = None) -> dict[int, list[tuple[str | None, int]]]:
    """The keys that each batch of `settled` brought."""
    return {
        found["batch"][0].as_py(): [(row["after"]["card"], row["after"]["minute"]) for row in found.to_pylist()]
        for found in store.changes("settled", 1, since)
    }


def names(store: SqliteStore, kind: str) -> set[str]:
    with closing(sqlite3.connect(store.path)) as client:
        return {name for (name,) in client.execute("SELECT name FROM sqlite_schema WHERE type = ?", (kind,))}


def test_what_format_1_has_is_read_as_it_is(store: SqliteStore) -> None:
    assert changes(store) == FIRST
    assert "headwater_changes_settled__v1" in names(store, "table"), "who only reads changes nothing"


def test_a_view_whose_rows_are_only_added_goes_on_without_copies(store: SqliteStore) -> None:
    epoch = store.open(SETTLED, "plan")
    assert names(store, "table") & {"headwater_changes_settled__v1", "headwater_changes_spend__v1"} == {
        "headwater_changes_spend__v1"
    }
    assert changes(store) == FIRST
    store.apply(SETTLED, epoch, batch(4, [("c", 1, 9)]))
    assert changes(store, since=2) == {3: FIRST[3], 4: [("c", 1)]}
    with closing(sqlite3.connect(store.path)) as client:
        shown = client.execute("SELECT op, before, after FROM settled__v1__changes WHERE batch = 4").fetchall()
        assert client.execute("SELECT format FROM headwater_format").fetchall() == [(2,)]
    assert shown == [("insert", None, '{"card":"c","minute":1,"spent":9.0}')]
    assert store.open(SETTLED, "plan") == epoch + 1, "and is opened again"


def test_a_view_whose_rows_change_goes_on_as_it_was(store: SqliteStore) -> None:
    store.apply(SPEND, store.open(SPEND, "plan"), batch(2, [("a", 1, 3)]))
    found = [row for table in store.changes("spend", 1) for row in table.to_pylist()]
    assert [(row["op"], str(row["after"]["spent"])) for row in found] == [
        ("insert", "1.50"),
        ("update", "2.00"),
        ("update", "3.00"),
    ]


@pytest.mark.parametrize("target", [SETTLED, SPEND])
def test_rows_that_someone_else_has_removed_in_format_1(store: SqliteStore, target: Target) -> None:
    """Where copies tell of it they stay; where they are to go, the version is refused."""
    with closing(sqlite3.connect(store.path)) as other:
        other.execute(f"DELETE FROM {target.view}__v1 WHERE card = 'a'")
        other.commit()
    if target is SPEND:
        assert store.open(SPEND, "plan")
        return
    with pytest.raises(StoreDamaged, match='view "settled" version 1 are not as Headwater left them'):
        store.open(SETTLED, "plan")
    assert "headwater_changes_settled__v1" in names(store, "table"), "nothing was done"
