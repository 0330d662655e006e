"""A view in several stores: each has every batch once, whatever stops in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.errors import VersionRefused
from headwater.store import Batch, SeveralStores, Store, Target
from headwater.store.sqlite import SqliteStore
from headwater.testing.conformance.targets import ADDED, FINAL, SPEND, batch, position, rows_of
from headwater.testing.crash import Crash, Crashed, Fuse, doomed

Open = Callable[[str], Store]


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Open]:
    """Opens the store of a name."""
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(closing(SqliteStore(tmp_path / f"{name}.db")))


def batches() -> list[Batch]:
    return [
        batch(0, [("a", 1, 1), (None, 1, 1)], rows_in=2),
        batch(1, [("a", 1, 2), ("b", 1, 1)], rows_in=2),
        batch(2, [("c", 1, 1)], deletes=[(None, 1)], rows_in=3),
        batch(3, rows_in=1),
    ]


WANTED = {("a", 1, "2.00"), ("b", 1, "1.00"), ("c", 1, "1.00")}


def test_each_store_has_every_batch(at: Open) -> None:
    store = SeveralStores(at("first"), [at("second")])
    epoch = store.open(SPEND, "plan")
    assert [store.apply(SPEND, epoch, found) for found in batches()] == [True] * 4
    store.promote("spend", 1)
    for name in ("first", "second"):
        assert rows_of(at(name), None) == WANTED
        assert at(name).position("spend", 1) == position(3)
        assert at(name).ledger("spend", 1) == {"rows_in": 8}


@pytest.mark.parametrize("time", [1, 2, 3, 4])
def test_a_follower_that_was_left_behind_is_brought_to_where_the_leader_is(at: Open, time: int) -> None:
    fuse = Fuse()
    store = SeveralStores(doomed(at("first"), fuse), [at("second")])
    epoch = store.open(SPEND, "plan")
    fuse.arm(Crash("after apply", time=time))
    with pytest.raises(Crashed):
        for found in batches():
            store.apply(SPEND, epoch, found)
    assert at("first").position("spend", 1) == position(time - 1)
    assert at("second").position("spend", 1) == (position(time - 2) if time > 1 else None)
    again = SeveralStores(at("first"), [at("second")])
    epoch = again.open(SPEND, "plan")
    assert at("second").position("spend", 1) == position(time - 1)
    assert rows_of(at("second")) == rows_of(at("first"))
    assert at("second").ledger("spend", 1) == at("first").ledger("spend", 1)
    for found in batches():
        again.apply(SPEND, epoch, found)
    assert rows_of(at("second")) == WANTED
    assert at("second").ledger("spend", 1) == {"rows_in": 8}


@pytest.mark.parametrize("reached", [0, 1, 2])
@pytest.mark.parametrize("target", [SPEND, FINAL, ADDED], ids=["changes", "final", "added"])
def test_a_store_that_joins_later_gets_all_there_is(at: Open, target: Target, reached: int) -> None:
    leader, follower = at("first"), at("second")
    own = [batch(number, [(f"c{number}", 1, number)], target=target, rows_in=1) for number in range(4)]
    first, second = leader.open(target, "plan"), follower.open(target, "plan") if reached else 0
    for number, found in enumerate(own):
        leader.apply(target, first, found)
        if number < reached:
            follower.apply(target, second, found)
    SeveralStores(leader, [follower]).open(target, "plan")
    assert follower.read("spend", 1).sort_by("card") == leader.read("spend", 1).sort_by("card")
    assert (follower.position("spend", 1), follower.ledger("spend", 1)) == (position(3), {"rows_in": 4})


def test_a_follower_of_another_history_is_refused(at: Open) -> None:
    at("second").apply(SPEND, at("second").open(SPEND, "plan"), batch(0, [("a", 1, 1)]))
    with pytest.raises(VersionRefused, match="is ahead in a store that follows"):
        SeveralStores(at("first"), [at("second")]).open(SPEND, "plan")
    assert at("second").read("spend", 1)["card"] == pa.chunked_array([["a"]])
