"""The duties of a store that answers SQL: it can't be written to, and its answers are typed."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from headwater.errors import StatementRefused
from headwater.model import INSTANT, Column
from headwater.store import Batch, Store
from headwater.testing.conformance.expect import Again, meanwhile, refuses
from headwater.testing.conformance.targets import (
    HIDDEN,
    SPEND,
    START,
    batch,
    position,
    rows_of,
    shown,
    swapping,
    version,
)


class Answers:
    """A query reads, and nothing else."""

    def test_a_query_can_only_read(self, store: Store) -> None:
        store.apply(SPEND, store.open(SPEND, "plan"), batch(0, [("a", 1, 1)]))
        store.promote("spend", 1)
        for sql in NOT_ANSWERED:
            with refuses(StatementRefused, "the query can't be answered"):
                store.query(sql)
            assert rows_of(store, None) == {("a", 1, "1.00")}, sql

    def test_a_query_has_the_declared_types_and_at_most_as_many_rows_as_asked_for(self, store: Store) -> None:
        target = replace(SPEND, columns=(*SPEND.columns, Column("at", INSTANT), Column("ok", pa.bool_())))
        rows = pa.Table.from_pylist([{"card": "a", "at": START, "ok": True}, {"card": "b", "ok": False}], target.schema)
        store.apply(target, store.open(target, "plan"), Batch(rows, target.schema.empty_table(), position(0)))
        store.promote("spend", 1)
        answer = store.query("SELECT *, count(*) OVER () AS held FROM spend ORDER BY card", limit=1)
        assert answer.drop_columns(["held"]) == rows.slice(0, 1)
        assert answer["held"].to_pylist() == [2]
        assert store.query("SELECT card FROM spend", limit=0).num_rows == 0

    def test_a_hidden_key_tells_rows_apart_and_is_not_shown(self, store: Store) -> None:
        hidden = replace(HIDDEN, version=1)
        epoch = store.open(hidden, "plan")
        for number, rows in enumerate(([("a", 1), ("b", 1), (None, 1)], [("b", 2), (None, 3)])):
            upserts = pa.Table.from_pylist([{"n": n, "_key_card": card} for card, n in rows], hidden.schema)
            deletes = upserts.select(["_key_card"]).slice(0, 0)
            store.apply(hidden, epoch, Batch(upserts, deletes, position(number)))
        store.promote("counts", 1)
        assert sorted(store.read("counts")["n"].to_pylist()) == [1, 2, 3]
        assert store.query("SELECT * FROM counts ORDER BY n").to_pylist() == [{"n": 1}, {"n": 2}, {"n": 3}]

    def test_a_query_sees_the_version_that_is_promoted(self, store: Store) -> None:
        for number in (1, 2):
            store.apply(version(number), store.open(version(number), "plan"), batch(0, [("a", number, number)]))
        for number in (1, 2, 1):
            store.promote("spend", number)
            assert store.query("SELECT minute FROM spend").to_pylist() == [{"minute": number}]

    def test_a_query_sees_one_version_or_the_other_while_they_are_swapped(self, store: Store, again: Again) -> None:
        swap, reader = swapping(store, 30), again()
        for _ in meanwhile(swap):
            held = reader.query("SELECT minute, count(*) AS held FROM spend GROUP BY minute").to_pylist()
            assert [row["held"] for row in held] == [50], "all rows of one version"

    def test_a_snapshot_belongs_together_while_batches_come(self, store: Store, again: Again) -> None:
        epoch = store.open(SPEND, "plan")
        store.apply(SPEND, epoch, batch(0, [("a", 1, 0)], used=0))
        store.promote("spend", 1)
        reader = again()

        def write() -> None:
            for number in range(1, 60):
                store.apply(SPEND, epoch, batch(number, [("a", 1, number)], used=1))

        for _ in meanwhile(write):
            _, newest, counts, [[_, _, spent]] = shown(reader)
            assert (counts["used"], spent) == (newest, f"{newest}.00")


NOT_ANSWERED = (
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
)
