"""The tables as a client finds them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.errors import BatchRefused
from headwater.model import Column, Emit, Serving
from headwater.store import Batch, Target
from headwater.store.sqlite import SqliteStore
from headwater.testing.conformance.targets import ADDED, FINAL, SPEND, batch, position


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "views.db")) as found:
        yield found


def ask(store: SqliteStore, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(store.path)) as client:
        return client.execute(sql).fetchall()


def test_a_view_shows_the_declared_columns_and_nothing_else(store: SqliteStore) -> None:
    store.open(SPEND, "plan")
    store.promote("spend", 1)
    assert [row[1] for row in ask(store, "PRAGMA table_info(spend)")] == ["card", "minute", "spent"]
    tables = {str(name) for (name,) in ask(store, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")}
    assert {name for name in tables if not name.startswith("headwater_")} == {
        "spend",
        "spend__v1",
        "spend__v1__changes",
    }


@pytest.mark.parametrize("nullable", [True, False])
def test_a_lookup_by_key_uses_the_primary_key(store: SqliteStore, nullable: bool) -> None:
    columns = tuple(replace(column, nullable=nullable) for column in SPEND.columns)
    store.open(replace(SPEND, columns=columns), "plan")
    store.promote("spend", 1)
    assert [row[5] for row in ask(store, "PRAGMA table_info(spend__v1)")] == [1, 2, 0]
    for sql in ("SELECT * FROM spend WHERE card = 'a'", "DELETE FROM spend__v1 WHERE card IS 'a' AND minute IS 1"):
        (plan,) = ask(store, f"EXPLAIN QUERY PLAN {sql}")
        assert str(plan[3]).startswith("SEARCH spend__v1 USING"), plan


def test_the_changelog_is_a_table_that_people_can_read(store: SqliteStore) -> None:
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [("a", 1, "1.50")]))
    store.apply(SPEND, epoch, batch(1, [("a", 1, 2)]))
    store.apply(SPEND, epoch, batch(2, deletes=[("a", 1)]))
    rows = ask(store, 'SELECT op, before, after, "commit" FROM spend__v1__changes ORDER BY batch')
    first, second = '{"card":"a","minute":1,"spent":1.5}', '{"card":"a","minute":1,"spent":2.0}'
    assert rows == [
        ("insert", None, first, '{"payments": 0}'),
        ("update", first, second, '{"payments": 1}'),
        ("delete", second, None, '{"payments": 2}'),
    ]


def test_a_changelog_of_many_columns_binaries_and_nested_values_is_still_json(store: SqliteStore) -> None:
    kinds = [pa.binary(), pa.list_(pa.int64()), *[pa.int64()] * 100]
    target = Target("v", 1, tuple(Column(f"c{at}", kind) for at, kind in enumerate(kinds)), ("c2",), Emit.CHANGES)
    row = {f"c{at}": at if at % 7 else None for at in range(2, 102)} | {"c0": b"\xff", "c1": [1, None]}
    rows = pa.Table.from_pylist([row], schema=target.schema)
    store.apply(target, store.open(target, "plan"), Batch(rows, rows.slice(0, 0).select(["c2"]), position(0)))
    ((found,),) = ask(store, "SELECT after FROM v__v1__changes")
    assert json.loads(str(found)) == row | {"c0": "FF"}


@pytest.mark.parametrize("target", [FINAL, ADDED])
def test_rows_that_are_only_added_are_kept_once_and_are_their_own_changes(store: SqliteStore, target: Target) -> None:
    epoch = store.open(target, "plan")
    for number in range(3):
        store.apply(target, epoch, batch(number, [("b", number, 1), ("a", number, 1)], target=target))
    assert "headwater_changes_spend__v1" not in {name for (name,) in ask(store, "SELECT name FROM sqlite_schema")}
    before = [found.to_pylist() for found in store.changes("spend", 1)]
    assert [len(found) for found in before] == [2, 2, 2]
    store.close()
    ask(store, "VACUUM")
    assert [found.to_pylist() for found in store.changes("spend", 1)] == before
    shown = ask(store, "SELECT op, before, after FROM spend__v1__changes WHERE batch = 2")
    assert set(shown) == {("insert", None, f'{{"card":"{card}","minute":2,"spent":1.0}}') for card in "ab"}


def test_a_batch_of_many_rows_is_written_and_read_in_parts_and_whole(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.store.sqlite.rows.PART", 70)
    monkeypatch.setattr("headwater.store.sqlite.changelog.PART", 60)
    epoch = store.open(FINAL, "plan")
    many = [(f"card-{number:03}", 1, number) for number in range(200)]
    store.apply(FINAL, epoch, batch(0, many))
    with pytest.raises(BatchRefused, match="A settled row comes a second time"):
        store.apply(FINAL, epoch, batch(1, [*((card, 2, spent) for card, _, spent in many), ("card-199", 1, 5)]))
    assert store.read("spend", 1)["card"].to_pylist() == [card for card, _, _ in many]
    (changed,) = store.changes("spend", 1)
    assert [row["after"]["card"] for row in changed.to_pylist()] == [card for card, _, _ in many]


@pytest.mark.parametrize("statement", ["UPDATE spend__v1 SET spent = 2", "DELETE FROM spend__v1"])
def test_rows_that_are_only_added_can_not_be_changed_by_anyone(store: SqliteStore, statement: str) -> None:
    store.apply(FINAL, store.open(FINAL, "plan"), batch(0, [("a", 1, 1)]))
    with pytest.raises(sqlite3.IntegrityError, match="rows of spend are only added"):
        ask(store, statement)
    store.drop("spend", 1)


@pytest.mark.parametrize("emit", list(Emit))
def test_names_that_sqlite_and_the_changelog_use_themselves(store: SqliteStore, emit: Emit) -> None:
    """A column may have any name that a view can give it."""
    names = ("rowid", "seq", "op", "before", "after", "batch", "key_op", "excluded", "select", "view", "version")
    names += ("changed", "known", "commits", "changes_to")
    target = Target("v", 1, tuple(Column(name, pa.int64()) for name in names), ("op", "rowid"), emit)
    rows = pa.Table.from_pylist([dict.fromkeys(names, 1)], schema=target.schema)
    epoch = store.open(target, "plan")
    for number, written in enumerate((rows, rows if emit is Emit.CHANGES else rows.slice(0, 0))):
        store.apply(target, epoch, Batch(written, rows.slice(0, 0).select(["op", "rowid"]), position(number)))
    assert store.read("v", 1) == rows
    assert [len(found) for found in store.changes("v", 1)] == [1]
    ((after,),) = ask(store, "SELECT after FROM v__v1__changes WHERE batch = 0")
    assert json.loads(str(after)) == dict.fromkeys(names, 1)


def test_the_indexes_that_a_view_states_are_made_and_used(store: SqliteStore) -> None:
    indexed = replace(SPEND, serving=Serving(indexes=(("minute",), ("spent", "card"))))
    store.open(SPEND, "plan")
    for _ in range(2):
        store.open(indexed, "plan")
    with closing(sqlite3.connect(store.path)) as client:
        (told,) = client.execute("EXPLAIN QUERY PLAN SELECT card FROM spend__v1 WHERE spent = 1").fetchall()
    assert "INDEX spend__v1__by_spent_card" in told[3]
