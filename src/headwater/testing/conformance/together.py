"""The duties of a store that writes batches of several views in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from headwater.errors import Fenced
from headwater.store import Store, Target
from headwater.store.protocol import WritesTogether
from headwater.testing.conformance.expect import Again
from headwater.testing.conformance.targets import SPEND, batch, position, rows_of

VIEWS = [replace(SPEND, view=name) for name in ("first", "second", "third")]


def opened(store: Store) -> dict[Target, int]:
    """The epochs of the views."""
    return {view: store.open(view, "plan") for view in VIEWS}


def write(store: Store, epochs: Mapping[Target, int], number: int) -> list[bool | BaseException]:
    """The outcomes of a batch of each view."""
    assert isinstance(store, WritesTogether)
    rows = batch(number, [("a", number, 1)], rows_in=1)
    told = store.write_together([store.prepared(view, epoch, rows) for view, epoch in epochs.items()])
    return [future.exception() or future.result() for future in told]


class Together:
    """Each batch is written whole, once, and whatever becomes of the others."""

    def test_batches_of_several_views_are_written(self, store: Store, again: Again) -> None:
        epochs = opened(store)
        assert write(store, epochs, 0) == [True] * 3
        assert write(store, epochs, 0) == [False] * 3, "a retry"
        assert write(store, epochs, 1) == [True] * 3
        for view in VIEWS:
            assert again().position(view.view, 1) == position(1)
            assert again().ledger(view.view, 1) == {"rows_in": 2}
            assert rows_of(again(), 1, view.view) == {("a", 0, "1.00"), ("a", 1, "1.00")}

    def test_one_that_is_refused_keeps_no_other_from_being_written(self, store: Store, again: Again) -> None:
        epochs = opened(store)
        again().open(VIEWS[1], "plan")  # another run has taken it over
        first, second, third = write(store, epochs, 0)
        assert (first, type(second), third) == (True, Fenced, True)
        assert [again().position(view.view, 1) for view in VIEWS] == [position(0), None, position(0)]

    def test_who_writes_the_same_views_at_once_waits_and_finds_them_written(self, store: Store, again: Again) -> None:
        epochs, other = opened(store), again()
        backwards = dict(reversed(epochs.items()))
        with ThreadPoolExecutor(2) as pool:
            for number in range(5):
                told = pool.submit(write, store, epochs, number), pool.submit(write, other, backwards, number)
                pairs = zip(told[0].result(), reversed(told[1].result()), strict=True)
                assert [set(pair) for pair in pairs] == [{True, False}] * 3
        assert [store.position(view.view, 1) for view in VIEWS] == [position(4)] * 3
