"""The duties of a changelog: each row before and after, batch by batch, for as long as it is kept."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

from headwater.errors import PositionRefused
from headwater.store import Batch, Store, changes_schema
from headwater.testing.conformance.expect import Wall, refuses
from headwater.testing.conformance.targets import (
    ADDED,
    FINAL,
    SPEND,
    START,
    Row,
    batch,
    position,
    rows_of,
    version,
)


class Changelog:
    """The changelog, folded, is the table."""

    def test_the_changelog_has_each_row_before_and_after(self, store: Store, wall: Wall) -> None:
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
        marks = ("watermark", "watermark_before")
        assert [first[mark][0].as_py() for mark in marks] == [position(0).watermark, None]
        assert [second[mark][0].as_py() for mark in marks] == [position(3).watermark, position(0).watermark]
        told = second.select(["batch", "commit", "at"]).to_pylist()[0]
        assert told["batch"] == 3 and told["commit"] == [("payments", 3)]
        assert (told["at"] - START).total_seconds() == 5
        assert [_short(changes) for changes in store.changes("spend", 1, since=0)] == [_short(second)]
        assert list(store.changes("spend", 1, since=position(3))) == []

    def test_a_key_that_is_deleted_and_upserted_in_one_batch_is_one_update(self, store: Store) -> None:
        epoch = store.open(SPEND, "plan")
        store.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))
        store.apply(SPEND, epoch, batch(1, [("a", 1, 2)], deletes=[("a", 1)]))
        (changes,) = store.changes("spend", 1, since=0)
        assert _short(changes) == {("update", ("a", "1.00"), ("a", "2.00"))}

    def test_changes_are_kept_for_their_retention_and_then_refused_by_name(self, store: Store, wall: Wall) -> None:
        epoch = store.open(SPEND, "plan")
        for number in range(4):
            store.apply(SPEND, epoch, batch(number, [("a", 1, number)]))
            wall.move(hours=10)
        store.apply(SPEND, epoch, batch(4))
        assert [changes["batch"][0].as_py() for changes in store.changes("spend", 1)] == [2, 3]
        assert [changes["batch"][0].as_py() for changes in store.changes("spend", 1, since=1)] == [2, 3]
        assert next(store.changes("spend", 1))["watermark_before"][0].as_py() == position(1).watermark
        with refuses(PositionRefused, match="no longer has its changes since batch 0"):
            list(store.changes("spend", 1, since=0))
        assert store.position("spend", 1) == position(4)
        assert not store.apply(SPEND, epoch, batch(1, [("a", 1, 1)])), "a retry of a batch that is no longer known"

    def test_rows_that_are_only_added_are_changes_batch_by_batch(self, store: Store, wall: Wall) -> None:
        for number, target in enumerate((FINAL, ADDED), start=1):
            target = version(number, target)
            epoch = store.open(target, "plan")
            store.apply(target, epoch, batch(0, [("b", 1, 1), ("a", 1, 1)], target=target))
            store.apply(target, epoch, batch(1, target=target))
            wall.move(hours=20)
            store.apply(target, epoch, batch(2, [(None, 1, None)], target=target))
            store.apply(target, epoch, batch(3, [("a", 2, 2)], target=target))
            first, second, third = store.changes("spend", number)
            assert first.schema == changes_schema(target)
            assert _short(first) == {("insert", None, (card, "1.00")) for card in ("a", "b")}
            assert _short(second) == {("insert", None, (None, None))}
            assert second["watermark_before"][0].as_py() == position(1).watermark
            assert [_short(changes) for changes in store.changes("spend", number, since=2)] == [_short(third)]
            wall.move(hours=20)
            store.apply(target, epoch, batch(4, [("c", 1, 3)], target=target))
            kept = [
                (changes["batch"][0].as_py(), _short(changes)) for changes in store.changes("spend", number, since=1)
            ]
            assert kept == [(2, _short(second)), (3, _short(third)), (4, {("insert", None, ("c", "3.00"))})]
            with refuses(PositionRefused, match="no longer has its changes since batch -1"):
                list(store.changes("spend", number, since=-1))
            assert len(rows_of(store, number)) == 5

    def test_after_a_long_silence_changes_go_on(self, store: Store, wall: Wall) -> None:
        epoch = store.open(SPEND, "plan")
        store.apply(SPEND, epoch, batch(0, [("a", 1, 1), ("b", 1, 1)]))
        for number in range(1, 4):
            wall.move(days=30)
            store.apply(SPEND, epoch, batch(number))
        store.apply(SPEND, epoch, batch(4, [("a", 1, 2)]))
        store.apply(SPEND, epoch, batch(5, [("a", 1, 3)]))
        assert [_short(changes) for changes in store.changes("spend", 1, since=3)] == [
            {("update", ("a", "1.00"), ("a", "2.00"))},
            {("update", ("a", "2.00"), ("a", "3.00"))},
        ]
        assert store.position("spend", 1) == position(5)

    def test_any_split_of_the_same_changes_into_batches_gives_the_same_table(self, store: Store) -> None:
        """And the changelog, folded, is the table."""
        for seed in range(SPLITS):
            chance = random.Random(seed)  # noqa: S311  # the same in every run
            sequence = [_change(chance) for _ in range(chance.randrange(25))]
            target = version(seed + 1)
            epoch, at, number = store.open(target, "plan"), 0, 0
            while at < len(sequence):
                size = chance.randint(1, len(sequence) - at)
                store.apply(target, epoch, _net(number, sequence[at : at + size]))
                at, number = at + size, number + 1
            last = {(card, minute): spent for card, minute, spent in sequence}
            wanted = {(*key, spent) for key, spent in last.items() if spent != "delete"}
            assert rows_of(store, target.version) == wanted, f"seed {seed}"
            assert _folded(store, target.version) == wanted, f"seed {seed}"


SPLITS = 12


def _change(chance: random.Random) -> Row:
    cents = f"{chance.randint(-5, 5) / 100:.2f}"
    return (
        chance.choice([None, "", "a", "b"]),
        chance.choice([None, 0, 1]),
        chance.choice(["delete", None, cents, cents]),
    )


def _net(number: int, sequence: list[Row]) -> Batch:
    """A batch that does what the changes do one after the other."""
    last = {(card, minute): spent for card, minute, spent in sequence}
    upserts = [(*key, spent) for key, spent in last.items() if spent != "delete"]
    return batch(number, upserts, deletes=[key for key, spent in last.items() if spent == "delete"])


def _folded(store: Store, number: int) -> set[Row]:
    table: dict[Row, dict[str, Any]] = {}
    for changes in store.changes("spend", number):
        for change in changes.to_pylist():
            before, after = change["before"], change["after"]
            row = after or before
            key = (row["card"], row["minute"])
            assert table.pop(key, None) == before
            if after:
                table[key] = after
    return {(row["card"], row["minute"], None if row["spent"] is None else str(row["spent"])) for row in table.values()}


def _short(changes: pa.Table) -> set[tuple[Any, ...]]:
    def side(row: dict[str, Any] | None) -> tuple[Any, ...] | None:
        return None if row is None else (row["card"], None if row["spent"] is None else str(row["spent"]))

    return {(row["op"], side(row["before"]), side(row["after"])) for row in changes.to_pylist()}
