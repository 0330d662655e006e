"""The duties towards readers: whole batches, in their order, of one version."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa

from headwater.errors import UnknownVersion
from headwater.model import INSTANT, Column, Emit
from headwater.store import Batch, Span, Store, Target
from headwater.testing.conformance.expect import Again, meanwhile, refuses
from headwater.testing.conformance.targets import SPEND, START, batch, position, shown, swapping, version


class Reading:
    """Nobody sees a part of a batch, or of a swap."""

    def test_a_reader_sees_one_version_or_the_other_while_they_are_swapped(self, store: Store, again: Again) -> None:
        swap, reader = swapping(store, 60), again()
        for _ in meanwhile(swap):
            minutes = reader.read("spend")["minute"].to_pylist()
            assert len(minutes) == 50 and len(set(minutes)) == 1, "all rows of one version"

    def test_a_reader_sees_whole_batches(self, store: Store, again: Again) -> None:
        epoch, cards = store.open(SPEND, "plan"), [f"card-{index}" for index in range(200)]
        store.apply(SPEND, epoch, batch(0, [(card, 1, 0) for card in cards]))
        store.promote("spend", 1)
        reader, last = again(), 0

        def write() -> None:
            for number in range(1, 40):
                store.apply(SPEND, epoch, batch(number, [(card, 1, number) for card in cards]))

        for _ in meanwhile(write):
            values = set(reader.read("spend")["spent"].to_pylist())
            assert len(values) == 1, "never half a batch"
            (now,) = values
            assert now >= last, "never backwards"
            last = now

    def test_a_snapshot_is_of_the_newest_batch_and_version_whoever_wrote_them(self, store: Store, again: Again) -> None:
        epoch, reader = store.open(SPEND, "plan"), again()
        store.apply(SPEND, epoch, batch(0, [("a", 1, 1)], used=1))
        store.promote("spend", 1)
        assert shown(reader) == (1, 0, {"used": 1}, [["a", 1, "1.00"]])
        store.apply(SPEND, epoch, batch(1, [("a", 1, 2)], used=1))
        assert shown(reader) == (1, 1, {"used": 2}, [["a", 1, "2.00"]])
        store.apply(version(2), store.open(version(2), "plan"), batch(0, [("b", 1, 3)]))
        assert shown(reader) == (1, 1, {"used": 2}, [["a", 1, "2.00"]]), "it isn't promoted yet"
        store.promote("spend", 2)
        assert shown(reader) == (2, 0, {}, [["b", 1, "3.00"]])

    def test_a_span_holds_what_is_later_than_one_instant_and_not_later_than_another(self, store: Store) -> None:
        at = [START + timedelta(milliseconds=500 * number, microseconds=number) for number in range(5)]
        timed = Target("timed", 1, (Column("n", pa.int64()), Column("at", INSTANT)), ("n",), Emit.CHANGES)
        rows = pa.table({"n": [4, 1, 3, 0, 2, 9], "at": [at[4], at[1], at[3], at[0], at[2], None]}, schema=timed.schema)
        none = timed.schema.empty_table().select(["n"])
        store.apply(timed, store.open(timed, "plan"), Batch(rows, none, position(0)))
        for _ in range(2):
            store.index("timed", 1, "at")  # once more changes nothing
            part = store.read("timed", 1, Span("at", at[1], at[3]))
            assert sorted(part["n"].to_pylist()) == [2, 3]
            assert sorted(store.read("timed", 1, Span("at", None, at[1]))["n"].to_pylist()) == [0, 1]
            assert store.read("timed", 1, Span("at", at[4], at[4])).num_rows == 0
        assert part.schema == timed.schema
        assert store.open(timed, "plan") == 2, "an index is no alteration"

    def test_an_index_of_a_version_that_is_not_there_is_refused(self, store: Store) -> None:
        with refuses(UnknownVersion):
            store.index("spend", 7, "minute")
