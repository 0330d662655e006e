"""A view in several stores: the first one leads, the others follow it, each with a position of its own.

A batch is applied to the leader, then to the followers. A process that stops in between leaves followers one batch
behind; the next run brings them to where the leader is, by the leader's changelog, before it goes on. So a reader of
any of them sees whole batches, in their order; two of them are at most one batch apart while a run is at work.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import VersionRefused
from headwater.store.protocol import Batch, Position, Snapshot, Span, Store, Target, Version, WritesTogether

Gather = Callable[[Hashable, Any, Callable[[Sequence[Any]], Sequence[Future[Any]]]], Any]
"""Has something written in a place, by a function that writes all that came together there; what became of it."""


class SeveralStores:
    """A `Store` that is made of others. What is asked is answered by the leader."""

    def __init__(self, leader: Store, followers: Sequence[Store]) -> None:
        self._leader = leader
        self._followers = tuple(followers)
        self._epochs: dict[tuple[int, str, int], int] = {}

    @property
    def parts(self) -> Sequence[Store]:
        """The stores that it is made of, the leader first."""
        return (self._leader, *self._followers)

    def open(self, target: Target, fingerprint: str) -> int:
        """Take the next epoch of a version in each store, and bring the followers to where the leader is."""
        epoch = self._leader.open(target, fingerprint)
        for number, follower in enumerate(self._followers):
            own = follower.open(target, fingerprint)
            self._catch_up(follower, target, own)
            self._epochs[number, target.view, target.version] = own
        return epoch

    def _catch_up(self, follower: Store, target: Target, epoch: int) -> None:
        led = self._leader.position(target.view, target.version)
        reached = follower.position(target.view, target.version)
        if reached is not None and (led is None or reached.batch > led.batch):
            raise VersionRefused(
                f'view "{target.view}" version {target.version} is ahead in a store that follows',
                detail=f"It is at batch {reached.batch} there, and at {'none' if led is None else led.batch} in the "
                "store that leads: they don't have the same history. Nothing was changed.",
                hint="Name the store that is ahead first, or give the other a place where nothing is yet.",
                view=target.view,
                version=target.version,
            )
        if led is None or (reached is not None and reached.batch == led.batch):
            return
        if reached is None:
            rows = self._leader.read(target.view, target.version)
            ledger = self._leader.ledger(target.view, target.version)
            follower.apply(target, epoch, Batch(rows, _no_keys(target), led, ledger))
            return
        for batch in self._missed(follower, target, reached, led):
            follower.apply(target, epoch, batch)

    def _missed(self, follower: Store, target: Target, reached: Position, led: Position) -> Iterator[Batch]:
        """The batches after a position, from the leader's changelog.

        It tells neither what batches counted nor of those that changed nothing: the last one makes up for that.
        """
        counts = follower.ledger(target.view, target.version)
        wanted = self._leader.ledger(target.view, target.version)
        missing = {name: count - counts.get(name, 0) for name, count in wanted.items()}
        last = Batch(target.schema.empty_table(), _no_keys(target), led, missing)
        for changes in self._leader.changes(target.view, target.version, reached):
            batch = _batch_of(target, changes)
            if batch.position.batch == led.batch:
                last = replace(batch, position=led, ledger=missing)
            else:
                yield batch
        yield last

    def apply(self, target: Target, epoch: int, batch: Batch, gather: Gather | None = None) -> bool:
        """Write a batch to each store, once; False if the leader had it.

        `gather` has it written to a leader that can in one transaction with batches of other views.
        """
        if gather is not None and isinstance(self._leader, WritesTogether):
            prepared = self._leader.prepared(target, epoch, batch)
            done: bool = gather(self._leader, prepared, self._leader.write_together)
        else:
            done = self._leader.apply(target, epoch, batch)
        for number, follower in enumerate(self._followers):
            follower.apply(target, self._epochs[number, target.view, target.version], batch)
        return done

    def position(self, view: str, version: int) -> Position | None:
        """The position of a version in the leader."""
        return self._leader.position(view, version)

    def ledger(self, view: str, version: int) -> dict[str, int]:
        """The sums of all batches' counts."""
        return self._leader.ledger(view, version)

    def promote(self, view: str, version: int) -> None:
        """Let the view's own name stand for this version in each store; in the leader last, so that it is repeated."""
        for follower in self._followers:
            follower.promote(view, version)
        self._leader.promote(view, version)

    def promoted(self, view: str) -> int | None:
        """The version that the view's name stands for."""
        return self._leader.promoted(view)

    def versions(self, view: str) -> tuple[Version, ...]:
        """Every version that is there, in the order of their numbers."""
        return self._leader.versions(view)

    def drop(self, view: str, version: int) -> None:
        """Remove a version from each store; from the leader last, so that it is repeated."""
        for follower in (*self._followers, self._leader):
            follower.drop(view, version)

    def query(self, sql: str, limit: int | None = None) -> pa.Table:
        """Answer one statement in the leader's SQL."""
        return self._leader.query(sql, limit)

    def snapshot(self, longest: timedelta | None = None) -> AbstractContextManager[Snapshot]:
        """The leader as it is now."""
        return self._leader.snapshot(longest)

    def snapshot_at_hand(self) -> AbstractContextManager[Snapshot] | None:
        """The leader as it is now, if it is at hand."""
        return self._leader.snapshot_at_hand()

    def read(self, view: str, version: int | None = None, span: Span | None = None) -> pa.Table:
        """The rows of a version."""
        return self._leader.read(view, version, span)

    def index(self, view: str, version: int, column: str) -> None:
        """Let spans of a column be found without reading all rows."""
        self._leader.index(view, version, column)

    def changes(self, view: str, version: int, since: Position | int | None = None) -> Iterator[pa.Table]:
        """The changes of the batches after `since`."""
        return self._leader.changes(view, version, since)

    def close(self) -> None:
        """Close each store."""
        for store in (self._leader, *self._followers):
            store.close()


def _no_keys(target: Target) -> pa.Table:
    return target.schema.empty_table().select(list(target.key))


def _batch_of(target: Target, changes: pa.Table) -> Batch:
    """The batch that made these changes."""
    deleted = pc.equal(changes["op"], "delete")
    after = _rows(changes["after"].filter(pc.invert(deleted)), target)
    before = _rows(changes["before"].filter(deleted), target)
    number, commits, watermark = (changes[name][0].as_py() for name in ("batch", "commit", "watermark"))
    return Batch(after, before.select(list(target.key)), Position(number, tuple(commits), watermark))


def _rows(structs: pa.ChunkedArray, target: Target) -> pa.Table:
    return pa.Table.from_batches([], target.schema) if not len(structs) else pa.Table.from_struct_array(structs)
