"""The suite for stores finds stores that break the contract."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.store import Batch, Target
from headwater.store.sqlite import SqliteStore
from headwater.testing import SqlStoreConformance, Wall

SUITE = SqlStoreConformance()


class Unfenced(SqliteStore):
    """Lets everyone write."""

    def apply(self, target: Target, epoch: int, batch: Batch) -> bool:
        newest = self.versions(target.view)
        return super().apply(target, newest[0].epoch if newest else epoch, batch)


class Forgetful(SqliteStore):
    """Takes each batch for a new one."""

    def apply(self, target: Target, epoch: int, batch: Batch) -> bool:
        known = self.position(target.view, target.version)
        number = 0 if known is None else known.batch + 1
        return super().apply(target, epoch, replace(batch, position=replace(batch.position, batch=number)))


class Torn(SqliteStore):
    """Writes a batch in two steps."""

    def apply(self, target: Target, epoch: int, batch: Batch) -> bool:
        half = batch.upserts.num_rows // 2
        early = replace(batch.position, batch=2 * batch.position.batch)
        super().apply(target, epoch, Batch(batch.upserts.slice(0, half), batch.deletes, early))
        time.sleep(0.01)
        late = replace(batch.position, batch=2 * batch.position.batch + 1)
        return super().apply(target, epoch, replace(batch, upserts=batch.upserts.slice(half), position=late))


class Loose(SqliteStore):
    """Answers in other types than declared."""

    def read(self, *arguments: object, **named: object) -> pa.Table:
        found = super().read(*arguments, **named)
        return found.set_column(2, "spent", found["spent"].cast(pa.float64()))


@pytest.mark.parametrize(
    ("broken", "test"),
    [
        (Unfenced, lambda store, again: SUITE.test_the_older_of_two_openers_is_fenced(store, again)),
        (Forgetful, lambda store, again: SUITE.test_a_retry_changes_nothing_and_says_so(store)),
        (Torn, lambda store, again: SUITE.test_a_reader_sees_whole_batches(store, again)),
        (
            Loose,
            lambda store, again: SUITE.test_before_its_first_batch_a_version_has_no_position_and_an_empty_table(store),
        ),
    ],
    ids=["unfenced", "forgetful", "torn", "loose"],
)
def test_a_store_that_breaks_the_contract_fails(
    broken: type[SqliteStore], test: Callable[..., None], tmp_path: Path
) -> None:
    opened: list[SqliteStore] = []

    def again(kind: type[SqliteStore] = broken) -> SqliteStore:
        opened.append(kind(tmp_path / f"{kind.__name__}.db", now=Wall()))
        return opened[-1]

    test(again(SqliteStore), lambda: again(SqliteStore))
    with pytest.raises(AssertionError):
        test(again(), again)
    for store in opened:
        store.close()
