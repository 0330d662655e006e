"""What every store must do: the contract of `headwater.store.Store`, with nothing but its methods."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.errors import (
    ArgumentRefused,
    BatchRefused,
    Fenced,
    PositionRefused,
    StatementRefused,
    UnknownVersion,
    VersionRefused,
)
from headwater.model import INSTANT, Column, Emit
from headwater.store import Batch, Span, Store, Target, changes_schema
from tests.store.conftest import Wall
from tests.store.targets import ADDED, FINAL, SPEND, START, Row, batch, position, rows_of, version

Again = Callable[[], Store]


def test_a_batch_is_there_when_apply_returns(store: Store, again: Again) -> None:
    epoch = store.open(SPEND, "plan")
    assert store.apply(SPEND, epoch, batch(0, [("a", 1, "12.30"), ("b", 1, "0.05")], rows_in=3, late=1))
    for seen in (store, again()):
        assert rows_of(seen) == {("a", 1, "12.30"), ("b", 1, "0.05")}
        assert seen.position("spend", 1) == position(0)
        assert seen.ledger("spend", 1) == {"late": 1, "rows_in": 3}


def test_before_its_first_batch_a_version_has_no_position_and_an_empty_table_with_its_columns(store: Store) -> None:
    assert store.position("spend", 1) is None
    store.open(SPEND, "plan")
    assert store.position("spend", 1) is None
    assert store.ledger("spend", 1) == {}
    assert store.read("spend", 1) == SPEND.schema.empty_table()


def test_a_retry_changes_nothing_and_says_so(store: Store) -> None:
    epoch = store.open(SPEND, "plan")
    assert store.apply(SPEND, epoch, batch(0, [("a", 1, 1)], rows_in=1))
    assert store.apply(SPEND, epoch, batch(1, [("a", 1, 2)], rows_in=1))
    assert not store.apply(SPEND, epoch, batch(1, [("a", 1, 2)], rows_in=1))
    assert not store.apply(SPEND, epoch, batch(0, [("a", 1, 1)], rows_in=1))
    assert rows_of(store) == {("a", 1, "2.00")}
    assert store.ledger("spend", 1) == {"rows_in": 2}
    assert store.position("spend", 1) == position(1)
    assert [len(found) for found in store.changes("spend", 1)] == [1, 1]


def test_a_retry_by_the_next_run_changes_nothing(store: Store, again: Again) -> None:
    store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [("a", 1, 1)], rows_in=1))
    later = again()
    assert not later.apply(SPEND, later.open(SPEND, "plan"), batch(0, [("a", 1, 1)], rows_in=1))
    assert later.ledger("spend", 1) == {"rows_in": 1}


def test_a_batch_that_was_applied_with_other_commits_is_refused(store: Store) -> None:
    """A checkpoint that starts again at batch 0 would otherwise be taken for a retry, and its rows be lost."""
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))
    other = replace(batch(0, [("b", 1, 1)]), position=replace(position(0), commits=(("payments", 7),)))
    with pytest.raises(BatchRefused, match="can't take batch 0") as refused:
        store.apply(SPEND, epoch, other)
    assert "payments 0" in str(refused.value) and "payments 7" in str(refused.value)
    assert rows_of(store) == {("a", 1, "1.00")}


def test_the_older_of_two_openers_is_fenced(store: Store, again: Again) -> None:
    zombie, epoch = store, store.open(SPEND, "plan")
    zombie.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))
    heir = again()
    newer = heir.open(SPEND, "plan")
    assert newer > epoch
    with pytest.raises(Fenced, match='view "spend" version 1 was taken over') as fenced:
        zombie.apply(SPEND, epoch, batch(1, [("a", 1, 9)]))
    assert fenced.value.fields["epoch"] == newer
    assert rows_of(heir) == {("a", 1, "1.00")}
    assert heir.apply(SPEND, newer, batch(1, [("a", 1, 2)]))
    with pytest.raises(Fenced):
        zombie.apply(SPEND, epoch, batch(1, [("a", 1, 2)]))


def test_versions_are_fenced_apart(store: Store) -> None:
    first, second = store.open(SPEND, "plan"), store.open(version(2), "plan")
    assert store.apply(SPEND, first, batch(0, [("a", 1, 1)]))
    assert store.apply(version(2), second, batch(0, [("a", 1, 2)]))
    assert (rows_of(store, 1), rows_of(store, 2)) == ({("a", 1, "1.00")}, {("a", 1, "2.00")})


def test_dropping_a_version_does_not_let_its_old_holder_back_in(store: Store) -> None:
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))
    store.drop("spend", 1)
    with pytest.raises(UnknownVersion):
        store.apply(SPEND, epoch, batch(1, [("a", 1, 2)]))
    newer = store.open(SPEND, "another plan")
    with pytest.raises(Fenced):
        store.apply(SPEND, epoch, batch(1, [("a", 1, 2)]))
    assert (store.position("spend", 1), store.ledger("spend", 1), rows_of(store)) == (None, {}, set())
    assert store.apply(SPEND, newer, batch(0, [("z", 1, 1)]))


@pytest.mark.parametrize(
    ("target", "fingerprint"),
    [
        (SPEND, "another plan"),
        (replace(SPEND, key=("card",)), "plan"),
        (replace(SPEND, emit=Emit.FINAL), "plan"),
        (replace(SPEND, columns=(*SPEND.columns[:2], Column("spent", pa.decimal128(20, 2)))), "plan"),
    ],
)
def test_a_version_that_another_plan_made_is_refused(store: Store, target: Target, fingerprint: str) -> None:
    epoch = store.open(SPEND, "plan")
    with pytest.raises(VersionRefused, match='view "spend" version 1 was made by another plan'):
        store.open(target, fingerprint)
    assert store.apply(SPEND, epoch, batch(0)), "a refused opener fences nobody"


def test_deletes_and_upserts_of_one_batch(store: Store) -> None:
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [("a", 1, 1), ("b", 1, 1), ("c", 1, 1)]))
    store.apply(SPEND, epoch, batch(1, [("b", 1, 2), ("d", 1, 1)], deletes=[("a", 1), ("b", 1), ("never", 1)]))
    assert rows_of(store) == {("b", 1, "2.00"), ("c", 1, "1.00"), ("d", 1, "1.00")}


def test_of_a_key_that_comes_twice_in_a_batch_the_last_row_counts(store: Store) -> None:
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [("a", 1, 1), ("b", 1, 9), ("a", 1, 3), ("a", 1, 2)]))
    assert rows_of(store) == {("a", 1, "2.00"), ("b", 1, "9.00")}


def test_two_null_keys_are_one_key(store: Store) -> None:
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [(None, 1, 1), (None, None, 1), ("a", None, 1), ("", 0, 1)]))
    store.apply(SPEND, epoch, batch(1, [(None, 1, 2), (None, None, 2), ("a", None, 2), ("", 0, 2)]))
    assert rows_of(store) == {(None, 1, "2.00"), (None, None, "2.00"), ("a", None, "2.00"), ("", 0, "2.00")}
    store.apply(SPEND, epoch, batch(2, deletes=[(None, 1), ("a", None)]))
    assert rows_of(store) == {(None, None, "2.00"), ("", 0, "2.00")}


def test_a_row_that_is_all_key_can_be_written_again(store: Store) -> None:
    target = replace(SPEND, columns=SPEND.columns[:2])
    epoch = store.open(target, "plan")
    for number in range(2):
        store.apply(target, epoch, batch(number, [("a", 1), (None, 1)], target=target))
    assert len(store.read("spend", 1)) == 2


def test_a_final_row_is_written_once(store: Store) -> None:
    epoch = store.open(FINAL, "plan")
    store.apply(FINAL, epoch, batch(0, [("a", 1, 1), (None, 1, 1)], used=2))
    assert store.apply(FINAL, epoch, batch(1, [("a", 2, 5)], used=1))
    for again in ("a", None):
        with pytest.raises(BatchRefused, match="can't take batch 2") as refused:
            store.apply(FINAL, epoch, batch(2, [("b", 2, 1), (again, 1, 1)], used=2))
        assert "second time" in str(refused.value)
    with pytest.raises(BatchRefused, match="can't take batch 2"):
        store.apply(FINAL, epoch, batch(2, deletes=[("a", 1)]))
    assert rows_of(store) == {("a", 1, "1.00"), (None, 1, "1.00"), ("a", 2, "5.00")}
    assert (store.position("spend", 1), store.ledger("spend", 1)) == (position(1), {"used": 3})


def test_rows_without_a_key_are_added_in_their_order(store: Store) -> None:
    epoch = store.open(ADDED, "plan")
    store.apply(ADDED, epoch, batch(0, [("b", 1, 1), ("a", 1, 1), ("b", 1, 1)], target=ADDED))
    store.apply(ADDED, epoch, batch(1, [("a", 1, 1)], target=ADDED))
    assert store.read("spend", 1)["card"].to_pylist() == ["b", "a", "b", "a"]
    deletes = pa.table({"card": ["a"]})
    with pytest.raises(BatchRefused, match="can't take batch 2"):
        store.apply(ADDED, epoch, replace(batch(2, target=ADDED), deletes=deletes))


def test_a_null_where_none_is_declared_is_refused_and_nothing_of_its_batch_is_written(store: Store) -> None:
    required = replace(SPEND, columns=(*SPEND.columns[:2], Column("spent", pa.decimal128(22, 2), nullable=False)))
    epoch = store.open(required, "plan")
    rows = batch(0, [("a", 1, 1), ("b", 1, None)])
    with pytest.raises(BatchRefused, match="can't take batch 0"):
        store.apply(required, epoch, rows)
    assert (store.position("spend", 1), store.read("spend", 1).num_rows) == (None, 0)


def test_promote_gives_the_name_to_a_version_and_rollback_gives_it_back(store: Store) -> None:
    for number in (1, 2):
        store.apply(version(number), store.open(version(number), f"plan {number}"), batch(0, [("a", number, number)]))
    assert store.promoted("spend") is None
    with pytest.raises(UnknownVersion, match="no promoted version"):
        store.read("spend")
    for number in (1, 2, 1):
        store.promote("spend", number)
        assert store.promoted("spend") == number
        assert rows_of(store, None) == {("a", number, f"{number}.00")}
        assert store.query("SELECT minute FROM spend").to_pylist() == [{"minute": number}]
    assert [(found.target.version, found.fingerprint, found.promoted) for found in store.versions("spend")] == [
        (1, "plan 1", True),
        (2, "plan 2", False),
    ]
    assert [found.target for found in store.versions("spend")] == [version(1), version(2)]
    assert [found.position for found in store.versions("spend")] == [position(0), position(0)]


def test_the_promoted_version_cannot_be_dropped_and_others_can(store: Store) -> None:
    for number in (1, 2):
        store.open(version(number), "plan")
    store.promote("spend", 2)
    with pytest.raises(ArgumentRefused, match="is the promoted one"):
        store.drop("spend", 2)
    store.drop("spend", 1)
    store.drop("spend", 1)
    assert [found.target.version for found in store.versions("spend")] == [2]
    with pytest.raises(UnknownVersion, match='view "spend" has no version 1'):
        store.promote("spend", 1)
    with pytest.raises(UnknownVersion):
        store.read("spend", 1)


def test_a_reader_sees_one_version_or_the_other_while_they_are_swapped(store: Store, again: Again) -> None:
    for number in (1, 2):
        rows = [(f"card-{place}", number, number) for place in range(50)]
        store.apply(version(number), store.open(version(number), "plan"), batch(0, rows))
    store.promote("spend", 1)
    reader, done = again(), threading.Event()

    def swap() -> None:
        for turn in range(60):
            store.promote("spend", turn % 2 + 1)
        done.set()

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen = set()
    while not done.is_set():
        found = reader.query("SELECT minute, count(*) AS held FROM spend GROUP BY minute").to_pylist()
        assert [row["held"] for row in found] == [50], "all rows of one version"
        seen.add(found[0]["minute"])
    swapper.join()
    assert seen <= {1, 2}


def test_a_reader_sees_whole_batches(store: Store, again: Again) -> None:
    epoch, cards = store.open(SPEND, "plan"), [f"card-{place}" for place in range(200)]
    store.apply(SPEND, epoch, batch(0, [(card, 1, 0) for card in cards]))
    store.promote("spend", 1)
    reader, done = again(), threading.Event()

    def write() -> None:
        for number in range(1, 40):
            store.apply(SPEND, epoch, batch(number, [(card, 1, number) for card in cards]))
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    last = 0
    while not done.is_set():
        values = set(reader.query("SELECT spent FROM spend")["spent"].to_pylist())
        assert len(values) == 1, "never half a batch"
        (now,) = values
        assert now >= last, "never backwards"
        last = now
    writer.join()


def test_the_changelog_has_each_row_before_and_after(store: Store, wall: Wall) -> None:
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [("a", 1, 1), ("b", 1, 1), ("c", 1, 1), (None, 1, 1)]))
    wall.move(seconds=5)
    upserts = [("a", 1, 2), ("b", 1, 1), ("d", 1, None), (None, 1, 2)]
    store.apply(SPEND, epoch, batch(3, upserts, deletes=[("c", 1), ("nobody", 1)]))
    first, second = store.changes("spend", 1)
    assert first.schema == second.schema == changes_schema(SPEND)
    assert _short(first) == {("insert", None, (card, "1.00")) for card in ("a", "b", "c", None)}
    assert _short(second) == {
        ("update", ("a", "1.00"), ("a", "2.00")),
        ("update", (None, "1.00"), (None, "2.00")),
        ("delete", ("c", "1.00"), None),
        ("insert", None, ("d", None)),
    }
    told = second.select(["batch", "commit", "at"]).to_pylist()[0]
    assert told["batch"] == 3 and told["commit"] == [("payments", 3)]
    assert (told["at"] - START).total_seconds() == 5
    assert [_short(found) for found in store.changes("spend", 1, since=0)] == [_short(second)]
    assert list(store.changes("spend", 1, since=position(3))) == []


def _short(changes: pa.Table) -> set[tuple[Any, ...]]:
    def side(row: dict[str, Any] | None) -> tuple[Any, ...] | None:
        return None if row is None else (row["card"], None if row["spent"] is None else str(row["spent"]))

    return {(row["op"], side(row["before"]), side(row["after"])) for row in changes.to_pylist()}


def test_a_key_that_is_deleted_and_upserted_in_one_batch_is_one_update(store: Store) -> None:
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))
    store.apply(SPEND, epoch, batch(1, [("a", 1, 2)], deletes=[("a", 1)]))
    (found,) = store.changes("spend", 1, since=0)
    assert _short(found) == {("update", ("a", "1.00"), ("a", "2.00"))}


def test_changes_are_kept_for_their_retention_and_then_refused_by_name(store: Store, wall: Wall) -> None:
    epoch = store.open(SPEND, "plan")
    for number in range(4):
        store.apply(SPEND, epoch, batch(number, [("a", 1, number)]))
        wall.move(hours=10)
    store.apply(SPEND, epoch, batch(4))
    assert [found["batch"][0].as_py() for found in store.changes("spend", 1)] == [2, 3]
    assert [found["batch"][0].as_py() for found in store.changes("spend", 1, since=1)] == [2, 3]
    with pytest.raises(PositionRefused, match="no longer has its changes since batch 0"):
        list(store.changes("spend", 1, since=0))
    assert store.position("spend", 1) == position(4)
    assert not store.apply(SPEND, epoch, batch(1, [("a", 1, 1)])), "a retry of a batch that is no longer known"


def test_after_a_long_silence_changes_go_on(store: Store, wall: Wall) -> None:
    epoch = store.open(SPEND, "plan")
    store.apply(SPEND, epoch, batch(0, [("a", 1, 1), ("b", 1, 1)]))
    for number in range(1, 4):
        wall.move(days=30)
        store.apply(SPEND, epoch, batch(number))
    store.apply(SPEND, epoch, batch(4, [("a", 1, 2)]))
    store.apply(SPEND, epoch, batch(5, [("a", 1, 3)]))
    assert [_short(found) for found in store.changes("spend", 1, since=3)] == [
        {("update", ("a", "1.00"), ("a", "2.00"))},
        {("update", ("a", "2.00"), ("a", "3.00"))},
    ]
    assert store.position("spend", 1) == position(5)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO spend__v1 VALUES ('x', 1, 1)",
        "UPDATE spend__v1 SET spent = 0",
        "WITH gone AS (SELECT 1) DELETE FROM spend__v1",
        "DROP VIEW spend",
        "CREATE TABLE mine (a INT)",
        "CREATE TEMP TABLE mine (a INT)",
        "COMMIT",
        "SELECT 1; DELETE FROM spend__v1",
        "DELETE FROM spend__v1 RETURNING card",
        "",
        "SELECT nothing FROM nowhere",
    ],
)
def test_a_query_can_only_read(store: Store, sql: str) -> None:
    store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [("a", 1, 1)]))
    store.promote("spend", 1)
    with pytest.raises(StatementRefused, match="the query can't be answered"):
        store.query(sql)
    assert rows_of(store, None) == {("a", 1, "1.00")}


def test_a_query_has_the_declared_types_and_at_most_as_many_rows_as_asked_for(store: Store) -> None:
    target = replace(SPEND, columns=(*SPEND.columns, Column("at", INSTANT), Column("ok", pa.bool_())))
    rows = pa.Table.from_pylist([{"card": "a", "at": START, "ok": True}, {"card": "b", "ok": False}], target.schema)
    store.apply(target, store.open(target, "plan"), Batch(rows, target.schema.empty_table(), position(0)))
    store.promote("spend", 1)
    found = store.query("SELECT *, count(*) OVER () AS held FROM spend ORDER BY card", limit=1)
    assert found.drop_columns(["held"]) == rows.slice(0, 1)
    assert found["held"].to_pylist() == [2]
    assert store.query("SELECT card FROM spend", limit=0).num_rows == 0


def test_names_with_odd_characters(store: Store) -> None:
    columns = (Column('a "quoted" name', pa.string()), Column("sélect; --", pa.int64()), Column("op", pa.string()))
    target = Target('it\'s "odd"; DROP', 1, columns, (columns[0].name, "op"), Emit.CHANGES)
    rows = pa.Table.from_pylist([{columns[0].name: "x", columns[1].name: 1, "op": None}], schema=target.schema)
    epoch = store.open(target, "plan")
    for number in range(2):
        store.apply(target, epoch, Batch(rows, target.schema.empty_table(), position(number)))
    store.promote(target.view, 1)
    assert store.read(target.view) == rows
    assert len(list(store.changes(target.view, 1))) == 1
    store.promote(target.view, 1)


cards = st.sampled_from([None, "", "a", "b"])
minutes = st.sampled_from([None, 0, 1])
amounts = st.none() | st.integers(-5, 5).map(lambda cents: f"{cents / 100:.2f}")
changes = st.lists(st.tuples(cards, minutes, st.just("delete") | amounts), max_size=25)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=changes, data=st.data())
def test_any_split_of_the_same_changes_into_batches_gives_the_same_table(
    again: Again, sequence: list[Row], data: st.DataObject
) -> None:
    """And the changelog, folded, is the table."""
    expected = {(card, minute): spent for card, minute, spent in sequence}
    wanted = {(*key, spent) for key, spent in expected.items() if spent != "delete"}
    store = again()
    last = max((found.target.version for found in store.versions("spend")), default=0)
    target = version(last + 1)
    epoch, at, number = store.open(target, "plan"), 0, 0
    while at < len(sequence):
        size = data.draw(st.integers(1, len(sequence) - at), label="rows in the batch")
        store.apply(target, epoch, _net(number, sequence[at : at + size]))
        at, number = at + size, number + 1
    assert rows_of(store, target.version) == wanted
    assert _folded(store, target.version) == wanted
    store.drop("spend", last)


def _net(number: int, sequence: list[Row]) -> Batch:
    """A batch that does what the changes do one after the other."""
    last = {(card, minute): spent for card, minute, spent in sequence}
    upserts = [(*key, spent) for key, spent in last.items() if spent != "delete"]
    return batch(number, upserts, deletes=[key for key, spent in last.items() if spent == "delete"])


def _folded(store: Store, number: int) -> set[Row]:
    table: dict[Row, Row] = {}
    for found in store.changes("spend", number):
        for change in found.to_pylist():
            before, after = change["before"], change["after"]
            row = after or before
            key = (row["card"], row["minute"])
            assert table.pop(key, None) == before
            if after:
                table[key] = after
    return {(row["card"], row["minute"], None if row["spent"] is None else str(row["spent"])) for row in table.values()}


def test_a_span_holds_what_is_later_than_one_instant_and_not_later_than_another(store: Store) -> None:
    at = [START + timedelta(milliseconds=500 * number, microseconds=number) for number in range(5)]
    timed = Target("timed", 1, (Column("n", pa.int64()), Column("at", INSTANT)), ("n",), Emit.CHANGES)
    rows = pa.table({"n": [4, 1, 3, 0, 2, 9], "at": [at[4], at[1], at[3], at[0], at[2], None]}, schema=timed.schema)
    none = timed.schema.empty_table().select(["n"])
    store.apply(timed, store.open(timed, "plan"), Batch(rows, none, position(0)))
    for _ in range(2):
        store.index("timed", 1, "at")  # once more changes nothing
        found = store.read("timed", 1, Span("at", at[1], at[3]))
        assert sorted(found["n"].to_pylist()) == [2, 3]
        assert sorted(store.read("timed", 1, Span("at", None, at[1]))["n"].to_pylist()) == [0, 1]
        assert store.read("timed", 1, Span("at", at[4], at[4])).num_rows == 0
    assert found.schema == timed.schema
    assert store.open(timed, "plan") == 2, "an index is no alteration"


def test_an_index_of_a_version_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(UnknownVersion):
        store.index("spend", 7, "minute")
