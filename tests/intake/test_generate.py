"""Generated events: reproducible, decodable, and as troublesome as was asked for."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.intake import Decoder, Generator, Lateness, Sender, to_json_lines
from headwater.model import INSTANT, Bounded, Column, Stream, Table
from tests.intake.strategies import same, types
from tests.intake.topics import ORDERS

START = datetime(2024, 1, 1, tzinfo=UTC)
CLICKS = Stream(
    name="clicks",
    columns=(Column("id", pa.string()), Column("user", pa.int64()), Column("n", pa.int32()), Column("at", INSTANT)),
    time="at",
    watermark=Bounded(timedelta(seconds=1)),
    key=("user",),
    unique=("id",),
)
TROUBLE = Generator(
    topic=ORDERS,
    seed=7,
    poison=0.02,
    duplicates=0.1,
    nulls=0.2,
    lateness=Lateness(0.3),
    senders=(Sender("till-1"), Sender("till-2", weight=3)),
)


def all_rows(generator: Generator, rows: int, batch_rows: int = 10_000) -> pa.Table:
    return pa.concat_tables([batch.rows for batch in generator.batches(rows, batch_rows)]).combine_chunks()


def test_the_same_generator_gives_the_same_events_in_batches_of_any_size() -> None:
    whole, small = (list(TROUBLE.batches(12_000, size)) for size in (12_000, 700))
    assert pa.concat_tables([batch.rows for batch in small]).combine_chunks().equals(whole[0].rows)
    assert pa.concat_arrays([batch.sources for batch in small]).equals(whole[0].sources)
    assert [line for batch in small for line in batch.poison] == whole[0].poison
    assert small[-1].arrived_at == whole[0].arrived_at
    assert [batch.rows.num_rows for batch in small] == [700] * 17 + [100]


def test_another_seed_gives_other_events() -> None:
    first, second = (Generator(topic=CLICKS, seed=seed) for seed in (1, 2))
    assert not all_rows(first, 100).equals(all_rows(second, 100))


def test_every_row_decodes_and_every_poison_line_does_not() -> None:
    decoder = Decoder(ORDERS)
    for batch in TROUBLE.batches(10_000, 5_000):
        decoded = decoder.decode(to_json_lines(batch), arrived_at=batch.arrived_at)
        assert same(decoded.rows.drop(["_id"]), batch.rows)
        assert sorted(decoded.dead["bytes"].to_pylist()) == sorted(batch.poison)
        assert 50 < len(batch.poison) < 150
        assert set(decoded.dead["error"].to_pylist()) == {
            "unreadable-event", "wrong-type", "missing-value", "time-out-of-range",
        }  # fmt: skip


@settings(max_examples=30)
@given(st.lists(types(), min_size=1, max_size=4), st.booleans())
def test_any_declared_type_can_be_filled(kinds: list[pa.DataType], poisoned: bool) -> None:
    columns = tuple(Column(f"c{place}", kind) for place, kind in enumerate(kinds))
    topic = Stream(name="any", columns=columns)
    (batch,) = Generator(topic=topic, nulls=0.1, poison=0.1 if poisoned else 0.0).batches(60)
    decoded = Decoder(topic).decode(to_json_lines(batch))
    assert same(decoded.rows, batch.rows)
    assert decoded.dead.num_rows == len(batch.poison)


def test_events_arrive_at_the_rate_and_are_late_as_asked() -> None:
    generator = Generator(topic=CLICKS, start_at=START, rate=10, lateness=Lateness(0.25, most=timedelta(seconds=20)))
    (batch,) = generator.batches(4_000)
    assert batch.arrived_at == START + timedelta(seconds=399.9)
    arrivals = pa.array([START + timedelta(seconds=n / 10) for n in range(4_000)], INSTANT)
    delays = pc.subtract(arrivals, batch.rows["at"].combine_chunks()).to_pylist()
    assert 800 < sum(delay > timedelta() for delay in delays) < 1_200
    assert (min(delays), max(delays)) == (timedelta(), timedelta(seconds=20))


def test_duplicates_are_the_same_event_again() -> None:
    rows = all_rows(Generator(topic=CLICKS, duplicates=0.2), 10_000)
    distinct = rows.group_by(rows.column_names).aggregate([]).num_rows
    assert distinct == len(pc.unique(rows["id"]))
    assert 7_500 < distinct < 8_500


def test_skew_makes_some_keys_frequent() -> None:
    even, skewed = (all_rows(Generator(topic=CLICKS, keys=100, skew=skew), 10_000)["user"] for skew in (0.0, 1.5))
    assert max(Counter(even.to_pylist()).values()) < 200
    assert max(Counter(skewed.to_pylist()).values()) > 2_000
    assert pc.max(skewed).as_py() < 100


def test_a_sender_may_fall_silent_and_another_may_have_a_wrong_clock() -> None:
    senders = (Sender("a"), Sender("b", silent_after=timedelta(seconds=5)), Sender("c", clock=timedelta(hours=1)))
    early, late = Generator(topic=CLICKS, rate=1000, senders=senders).batches(10_000, 5_000)
    assert set(early.sources.to_pylist()) == {"a", "b", "c"}
    assert set(late.sources.to_pylist()) == {"a", "c"}
    wrong = pc.greater(early.rows["at"], early.arrived_at)
    assert set(early.sources.filter(wrong.combine_chunks()).to_pylist()) == {"c"}


def test_nulls_come_only_where_they_may() -> None:
    rows = all_rows(Generator(topic=ORDERS, nulls=0.5), 1_000)
    assert [rows[name].null_count > 0 for name in rows.column_names] == [False, True, True, True, True, False]


def test_a_column_can_be_filled_otherwise() -> None:
    overrides = {"n": [1, 2], "user": lambda moment: pa.array([7] * len(moment))}
    rows = all_rows(Generator(topic=CLICKS, overrides=overrides), 100)
    assert set(rows["n"].to_pylist()) == {1, 2}
    assert set(rows["user"].to_pylist()) == {7}


def test_a_table_gets_changes_of_its_keys() -> None:
    topic = Table(
        name="prices",
        columns=(Column("item", pa.string(), nullable=False), Column("price", pa.decimal128(8, 2), nullable=False)),
        primary_key=("item",),
    )
    (batch,) = Generator(topic=topic, keys=5, deletes=0.1).batches(1_000)
    assert set(batch.rows["item"].to_pylist()) == {f"item-0000000{n}" for n in range(5)}
    assert 50 < batch.rows["_op"].to_pylist().count("delete") < 150
    assert Decoder(topic).decode(to_json_lines(batch)).rows.equals(batch.rows)


def test_nothing_troublesome_comes_unasked() -> None:
    (batch,) = Generator(topic=CLICKS).batches(1_000)
    assert batch.poison == []
    assert len(pc.unique(batch.rows["id"])) == 1_000
    assert all(column.null_count == 0 for column in batch.rows.columns)
