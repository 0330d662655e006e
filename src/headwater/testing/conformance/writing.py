"""The duties about batches that are written: once, whole, and by key."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from headwater.errors import BatchRefused, RowsDropped
from headwater.model import Column, Emit
from headwater.store import Batch, Store, Target
from headwater.store.sound import SoundStore, dropped_from, mark
from headwater.testing.conformance.expect import Again, refuses
from headwater.testing.conformance.targets import ADDED, FINAL, SPEND, batch, position, rows_of


class Writing:
    """Rows, position and ledger of a batch are written once and together."""

    def test_a_batch_is_there_when_apply_returns(self, store: Store, again: Again) -> None:
        epoch = store.open(SPEND, "plan")
        assert store.apply(SPEND, epoch, batch(0, [("a", 1, "12.30"), ("b", 1, "0.05")], rows_in=3, late=1))
        for seen in (store, again()):
            assert rows_of(seen) == {("a", 1, "12.30"), ("b", 1, "0.05")}
            assert seen.position("spend", 1) == position(0)
            assert seen.ledger("spend", 1) == {"late": 1, "rows_in": 3}

    def test_before_its_first_batch_a_version_has_no_position_and_an_empty_table(self, store: Store) -> None:
        assert store.position("spend", 1) is None
        store.open(SPEND, "plan")
        assert store.position("spend", 1) is None
        assert store.ledger("spend", 1) == {}
        assert store.read("spend", 1) == SPEND.schema.empty_table()

    def test_a_retry_changes_nothing_and_says_so(self, store: Store) -> None:
        epoch = store.open(SPEND, "plan")
        assert store.apply(SPEND, epoch, batch(0, [("a", 1, 1)], rows_in=1))
        assert store.apply(SPEND, epoch, batch(1, [("a", 1, 2)], rows_in=1))
        assert not store.apply(SPEND, epoch, batch(1, [("a", 1, 2)], rows_in=1))
        assert not store.apply(SPEND, epoch, batch(0, [("a", 1, 1)], rows_in=1))
        assert rows_of(store) == {("a", 1, "2.00")}
        assert store.ledger("spend", 1) == {"rows_in": 2}
        assert store.position("spend", 1) == position(1)
        assert [len(changes) for changes in store.changes("spend", 1)] == [1, 1]

    def test_a_retry_by_the_next_run_changes_nothing(self, store: Store, again: Again) -> None:
        store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [("a", 1, 1)], rows_in=1))
        later = again()
        assert not later.apply(SPEND, later.open(SPEND, "plan"), batch(0, [("a", 1, 1)], rows_in=1))
        assert later.ledger("spend", 1) == {"rows_in": 1}

    def test_a_mark_of_dropped_rows_stays_and_changes_no_row(self, store: Store, again: Again) -> None:
        """A version of which rows were dropped is not served again, whichever process asks."""
        epoch = store.open(SPEND, "plan")
        mark(store, SPEND, epoch, 0, dropped=2)
        assert dropped_from(again(), "spend", 1) == 2
        store.apply(SPEND, epoch, batch(1, [("a", 1, 1)], rows_in=1))
        mark(store, SPEND, epoch, 2, dropped=3)
        later = again()
        assert later.ledger("spend", 1) == {"dropped": 5, "rows_in": 1}
        assert rows_of(later) == {("a", 1, "1.00")}
        assert later.position("spend", 1) == replace(position(1), batch=2)
        with refuses(RowsDropped, match="dropped 5 of its rows"):
            SoundStore(later, []).read("spend", 1)

    def test_a_batch_that_was_applied_with_other_commits_is_refused(self, store: Store) -> None:
        """A checkpoint that starts again at batch 0 would otherwise be taken for a retry, and its rows be lost."""
        epoch = store.open(SPEND, "plan")
        store.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))
        other = replace(batch(0, [("b", 1, 1)]), position=replace(position(0), commits=(("payments", 7),)))
        with refuses(BatchRefused, match="can't take batch 0") as refused:
            store.apply(SPEND, epoch, other)
        assert "payments 0" in str(refused.value) and "payments 7" in str(refused.value)
        assert rows_of(store) == {("a", 1, "1.00")}

    def test_deletes_and_upserts_of_one_batch(self, store: Store) -> None:
        epoch = store.open(SPEND, "plan")
        store.apply(SPEND, epoch, batch(0, [("a", 1, 1), ("b", 1, 1), ("c", 1, 1)]))
        store.apply(SPEND, epoch, batch(1, [("b", 1, 2), ("d", 1, 1)], deletes=[("a", 1), ("b", 1), ("never", 1)]))
        assert rows_of(store) == {("b", 1, "2.00"), ("c", 1, "1.00"), ("d", 1, "1.00")}

    def test_of_a_key_that_comes_twice_in_a_batch_the_last_row_counts(self, store: Store) -> None:
        epoch = store.open(SPEND, "plan")
        store.apply(SPEND, epoch, batch(0, [("a", 1, 1), ("b", 1, 9), ("a", 1, 3), ("a", 1, 2)]))
        assert rows_of(store) == {("a", 1, "2.00"), ("b", 1, "9.00")}

    def test_two_null_keys_are_one_key(self, store: Store) -> None:
        epoch = store.open(SPEND, "plan")
        store.apply(SPEND, epoch, batch(0, [(None, 1, 1), (None, None, 1), ("a", None, 1), ("", 0, 1)]))
        store.apply(SPEND, epoch, batch(1, [(None, 1, 2), (None, None, 2), ("a", None, 2), ("", 0, 2)]))
        assert rows_of(store) == {(None, 1, "2.00"), (None, None, "2.00"), ("a", None, "2.00"), ("", 0, "2.00")}
        store.apply(SPEND, epoch, batch(2, deletes=[(None, 1), ("a", None)]))
        assert rows_of(store) == {(None, None, "2.00"), ("", 0, "2.00")}

    def test_a_row_that_is_all_key_can_be_written_again(self, store: Store) -> None:
        target = replace(SPEND, columns=SPEND.columns[:2])
        epoch = store.open(target, "plan")
        for number in range(2):
            store.apply(target, epoch, batch(number, [("a", 1), (None, 1)], target=target))
        assert len(store.read("spend", 1)) == 2

    def test_a_final_row_is_written_once(self, store: Store) -> None:
        epoch = store.open(FINAL, "plan")
        store.apply(FINAL, epoch, batch(0, [("a", 1, 1), (None, 1, 1)], used=2))
        assert store.apply(FINAL, epoch, batch(1, [("a", 2, 5)], used=1))
        for again in ("a", None):
            with refuses(BatchRefused, match="can't take batch 2") as refused:
                store.apply(FINAL, epoch, batch(2, [("b", 2, 1), (again, 1, 1)], used=2))
            assert "second time" in str(refused.value)
        with refuses(BatchRefused, match="can't take batch 2"):
            store.apply(FINAL, epoch, batch(2, deletes=[("a", 1)]))
        assert rows_of(store) == {("a", 1, "1.00"), (None, 1, "1.00"), ("a", 2, "5.00")}
        assert (store.position("spend", 1), store.ledger("spend", 1)) == (position(1), {"used": 3})

    def test_a_row_that_is_added_takes_nobodys_place(self, store: Store) -> None:
        epoch = store.open(SPEND, "plan")
        store.apply(SPEND, epoch, replace(batch(0, [("a", 1, 1), (None, 1, 1), ("c", 1, 1)], used=3), added=3))
        mixed = [("a", 1, 2), ("b", 1, 1), ("c", 1, 5)]
        store.apply(SPEND, epoch, replace(batch(1, mixed, deletes=[("c", 1)], used=3), added=1))
        rows = rows_of(store)
        for key in ("a", None):
            taken = replace(batch(2, [("d", 1, 1), (key, 1, 1), ("c", 1, 6)], deletes=[("b", 1)], used=3), added=2)
            with refuses(BatchRefused, match="can't take batch 2") as refused:
                store.apply(SPEND, epoch, taken)
            assert "1 of its rows are new" in str(refused.value)
        assert (rows_of(store), store.position("spend", 1)) == (rows, position(1))
        assert store.apply(SPEND, epoch, replace(batch(2, [("d", 1, 1)], used=1), added=1))

    def test_rows_without_a_key_are_added_in_their_order(self, store: Store) -> None:
        epoch = store.open(ADDED, "plan")
        store.apply(ADDED, epoch, batch(0, [("b", 1, 1), ("a", 1, 1), ("b", 1, 1)], target=ADDED))
        store.apply(ADDED, epoch, batch(1, [("a", 1, 1)], target=ADDED))
        assert store.read("spend", 1)["card"].to_pylist() == ["b", "a", "b", "a"]
        deletes = pa.table({"card": ["a"]})
        with refuses(BatchRefused, match="can't take batch 2"):
            store.apply(ADDED, epoch, replace(batch(2, target=ADDED), deletes=deletes))

    def test_a_null_where_none_is_declared_is_refused_and_nothing_of_its_batch_is_written(self, store: Store) -> None:
        required = replace(SPEND, columns=(*SPEND.columns[:2], Column("spent", pa.decimal128(22, 2), nullable=False)))
        epoch = store.open(required, "plan")
        rows = batch(0, [("a", 1, 1), ("b", 1, None)])
        with refuses(BatchRefused, match="can't take batch 0"):
            store.apply(required, epoch, rows)
        assert (store.position("spend", 1), store.read("spend", 1).num_rows) == (None, 0)

    def test_names_with_odd_characters(self, store: Store) -> None:
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
