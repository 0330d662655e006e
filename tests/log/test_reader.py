"""Named readers: positions that survive, three deliveries, members that share the keys."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
import pytest

from headwater.errors import ArgumentRefused, PositionRefused
from headwater.log import Storage, TopicLog, open_storage
from headwater.log.reader import SLOTS, Reader, slots_of
from tests.log.conftest import ORDERS, START, Wall, orders

Open = Callable[..., Reader]


@pytest.fixture
def log(wall: Wall) -> TopicLog:
    log = TopicLog(ORDERS, open_storage(f"memory://{uuid.uuid4()}"), now=wall)
    for number in range(1, 4):
        log.append(orders((f"{number}a", number), (f"{number}b", number)))
        wall.move(minutes=1)
    return log


@pytest.fixture
def open_reader(log: TopicLog, storage: Storage) -> Open:
    return lambda **options: Reader(log, storage, "billing", **options)


def ids(reader: Reader) -> list[str]:
    return [name for batch in reader for name in batch.rows["id"].to_pylist()]


def test_a_reader_goes_on_where_its_name_was(log: TopicLog, open_reader: Open) -> None:
    assert ids(open_reader()) == ["1a", "1b", "2a", "2b", "3a", "3b"]
    assert ids(open_reader()) == []
    log.append(orders(("4a", 4)))
    reader = open_reader()
    assert (ids(reader), reader.position) == (["4a"], 4)


def test_names_have_positions_of_their_own(log: TopicLog, storage: Storage) -> None:
    assert len(ids(Reader(log, storage, "billing"))) == 6
    assert len(ids(Reader(log, storage, "mail"))) == 6


def test_at_least_once_repeats_what_was_not_finished(open_reader: Open) -> None:
    assert next(iter(open_reader())).commit == 3  # the process ends here, in the middle of its work
    assert len(ids(open_reader())) == 6


def test_at_least_once_can_be_acknowledged_before_leaving(open_reader: Open) -> None:
    reader = open_reader()
    for batch in reader:
        reader.acknowledge(batch)
        break
    assert ids(open_reader()) == []


def test_at_most_once_misses_what_was_not_finished(open_reader: Open) -> None:
    next(iter(open_reader(delivery="at-most-once")))
    assert ids(open_reader(delivery="at-most-once")) == []


def test_exactly_once_goes_by_the_position_that_the_user_kept(log: TopicLog, open_reader: Open) -> None:
    reader = open_reader(delivery="exactly-once")
    kept = [(batch.commit, batch.rows.num_rows) for batch in reader]
    assert kept == [(3, 6)]
    log.append(orders(("4a", 4)))
    resumed = open_reader(delivery="exactly-once")
    resumed.seek(kept[-1][0])
    assert ids(resumed) == ["4a"]


def test_seeking_by_commit_by_instant_and_back_to_the_start(open_reader: Open) -> None:
    reader = open_reader()
    ids(reader)
    reader.seek(0)
    assert len(ids(open_reader())) == 6
    reader = open_reader()
    reader.seek(2)
    assert ids(reader) == ["3a", "3b"]
    reader.seek(START + timedelta(minutes=1))
    assert ids(reader) == ["2a", "2b", "3a", "3b"]
    with pytest.raises(PositionRefused, match="can't go to commit 99"):
        reader.seek(99)


def test_a_second_process_of_the_same_name_overtakes_the_first(open_reader: Open) -> None:
    first, second = open_reader(), open_reader()
    ids(second)
    with pytest.raises(PositionRefused, match='reader "billing" of topic "orders" was overtaken'):
        ids(first)


def test_members_share_the_keys_and_change_their_number_without_loss(log: TopicLog, open_reader: Open) -> None:
    log.append(orders(*[(f"k{i}", 5) for i in range(200)]))
    shares = [ids(open_reader(member=member, members=3)) for member in range(2)]  # member 2 has not run yet
    log.append(orders(*[(f"k{i}", 6) for i in range(200)]))
    rest = [ids(open_reader(member=member, members=2)) for member in range(2)]
    read = [name for share in shares + rest for name in share]
    expected = ["1a", "1b", "2a", "2b", "3a", "3b", *[f"k{i}" for i in range(200)] * 2]
    assert sorted(read) == sorted(expected)
    assert all(len(share) > 40 for share in shares)


def test_members_need_keys_and_numbers_in_range(storage: Storage, wall: Wall) -> None:
    log = TopicLog(replace(ORDERS, key=()), open_storage(f"memory://{uuid.uuid4()}"), now=wall)
    log.append(orders(("a", 1)))
    with pytest.raises(ArgumentRefused, match="can't share topic"):
        ids(Reader(log, storage, "billing", members=2))
    with pytest.raises(ArgumentRefused, match="can't be member 2 of 2"):
        Reader(log, storage, "billing", member=2, members=2)


def test_a_slot_is_the_same_in_every_process_and_version() -> None:
    rows = pa.table({"k": ["a", "b", None, "a"], "n": [1, 2, 3, 1]})
    assert slots_of(rows, ["k"]).tolist() == [3, 57, 0, 3]
    assert slots_of(rows, ["k", "n"])[0] == slots_of(rows, ["k", "n"])[3]
    assert slots_of(rows, []).tolist() == [0] * 4
    assert SLOTS == 64
