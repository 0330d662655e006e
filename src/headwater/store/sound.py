"""Sound versions: rows of which it is known that none is missing.

A live batch in which Spark's streaming dropped admitted rows is never written. In its place the version is *marked*: a
batch without rows, at the position before, whose ledger counts what was `dropped`. So the mark is in every kind of
store, it is written in one transaction and fenced like any other batch, and it stays for as long as the version does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from headwater.errors import RowsDropped
from headwater.store.protocol import Batch, Position, Served, Snapshot, Span, Store, Target
from headwater.store.selection import Condition, Order, Selection
from headwater.store.several import Gather, SeveralStores

DROPPED = "dropped"
"""The count of a ledger that marks a version as unsound."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SoundStore(SeveralStores):
    """A `Store`, made of one or several others, that doesn't give rows of a version that is unsound."""

    def __init__(self, leader: Store, followers: Sequence[Store]) -> None:
        super().__init__(leader, followers)
        self._listeners: dict[object, Callable[[], None]] = {}

    @contextmanager
    def told_when_written(self, told: Callable[[], None]) -> Iterator[None]:
        """Have something called after each batch and each promotion of this process, by the thread that has made it."""
        listener = object()
        self._listeners[listener] = told
        try:
            yield
        finally:
            del self._listeners[listener]

    def apply(self, target: Target, epoch: int, batch: Batch, gather: Gather | None = None) -> bool:
        """Write a batch, and tell who listens."""
        done = super().apply(target, epoch, batch, gather)
        self._tell()
        return done

    def promote(self, view: str, version: int) -> None:
        """Let the view's own name stand for this version, and tell who listens."""
        super().promote(view, version)
        self._tell()

    def _tell(self) -> None:
        for told in list(self._listeners.values()):
            told()

    def read(self, view: str, version: int | None = None, span: Span | None = None) -> pa.Table:
        """The rows of a version; `RowsDropped` if it is unsound."""
        check_sound(self, view, version)
        return super().read(view, version, span)

    @contextmanager
    def snapshot(self, longest: timedelta | None = None) -> Iterator[Snapshot]:
        """The store as it is at one moment; `RowsDropped` for the rows of a version that is unsound."""
        with super().snapshot(longest) as snapshot:
            yield _SoundSnapshot(snapshot)

    def snapshot_at_hand(self) -> AbstractContextManager[Snapshot] | None:
        """The same, if the store is at hand."""
        taken = super().snapshot_at_hand()
        return None if taken is None else _sound(taken)

    def changes(self, view: str, version: int, since: Position | int | None = None) -> Iterator[pa.Table]:
        """The changes of the batches after `since`; `RowsDropped` if the version is unsound."""
        check_sound(self, view, version)
        return super().changes(view, version, since)


@contextmanager
def _sound(taken: AbstractContextManager[Snapshot]) -> Iterator[Snapshot]:
    with taken as snapshot:
        yield _SoundSnapshot(snapshot)


@dataclass(frozen=True)
class _SoundSnapshot:
    """A snapshot that doesn't give rows of a version that is unsound."""

    snapshot: Snapshot

    def served(self, view: str) -> Served | None:
        served = self.snapshot.served(view)
        if served is not None and (dropped := self.snapshot.ledger(served).get(DROPPED, 0)):
            raise unsound(view, served.target.version, dropped)
        return served

    def can(self, served: Served, part: Condition | Order) -> bool:
        return self.snapshot.can(served, part)

    def rows(self, served: Served, selection: Selection) -> Iterator[pa.Table]:
        return self.snapshot.rows(served, selection)

    def plain(self, served: Served, selection: Selection) -> Iterator[Sequence[Sequence[Any]]]:
        return self.snapshot.plain(served, selection)

    def ledger(self, served: Served) -> Mapping[str, int]:
        return self.snapshot.ledger(served)


def mark(store: Store, target: Target, epoch: int, batch: int, dropped: int) -> None:
    """Mark a version as unsound, in place of the batch in which rows were dropped."""
    before = store.position(target.view, target.version)
    position = Position(batch, (), _EPOCH)
    if before:  # a batch of this number may be there, from before it was looked at
        position = Position(max(batch, before.batch + 1), before.commits, before.watermark)
    nothing = target.schema.empty_table()
    store.apply(target, epoch, Batch(nothing, nothing.select(list(target.key)), position, {DROPPED: dropped}))


def dropped_from(store: Store, view: str, version: int) -> int:
    """The number of rows that were dropped from a version; anything but 0 means that it is unsound."""
    return store.ledger(view, version).get(DROPPED, 0)


def check_sound(store: Store, view: str, version: int | None = None) -> None:
    """Refuse a version that is unsound, by default the promoted one."""
    number = store.promoted(view) if version is None else version
    dropped = 0 if number is None else dropped_from(store, view, number)
    if number is not None and dropped:
        raise unsound(view, number, dropped)


def unsound(view: str, version: int, dropped: int) -> RowsDropped:
    """A version that must not be served."""
    return RowsDropped(
        f'view "{view}" version {version} is unsound: Spark dropped {dropped} of its rows',
        detail="Rows came to an operator that keeps state behind Spark's own watermark. The batch was not written, and "
        "the version is neither gone on with nor served. The log is complete.",
        hint=f"Run `headwater replay {view}` to build it anew; if it happens again, declare it with "
        "execution = 'settle', and report it with the declaration of the view.",
        view=view,
        version=version,
        dropped=dropped,
    )
