"""The promise of a store: a view's rows and its position are written in one transaction, fenced by an epoch.

A *target* is a version of a view as a store sees it. A *position* is how far into its topics a version has come. A
*batch* is what one micro-batch (or one settle slice) changes, with the position after it. An *epoch* is the right to
write to a version: whoever opens it takes the next one, and every holder of an older one is fenced off.

One process writes a version; any number of processes read. A store keeps these promises whenever a process or a
machine stops, in the middle of any call:

- what `apply` returned for is there for ever, what it didn't return for is there whole or not at all;
- rows, position, ledger and changelog always belong to the same batches;
- a reader sees the rows of whole batches, in their order, and of one version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from headwater.model import INSTANT, Column, Emit, Serving, schema_of
from headwater.store.selection import Condition, Order, Selection


@dataclass(frozen=True)
class Target:
    """A version of a view: what it is called, its columns, what tells its rows apart, and when they are written.

    A `key` may hold NULLs; two NULLs are the same key, as in GROUP BY. An empty key means rows that are only added.
    `serving` is what the view says to stores about the layout of its rows; a store takes what it knows of it.
    """

    view: str
    version: int
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    emit: Emit
    serving: Serving = field(default_factory=Serving, compare=False)
    comment: str | None = field(default=None, compare=False)

    @property
    def schema(self) -> pa.Schema:
        """The columns as Arrow, in their order."""
        return schema_of(self.columns)

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns that readers see: all but those that only tell rows apart."""
        return tuple(column for column in self.columns if not column.is_hidden)

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The columns of the key, in the key's order."""
        named = {column.name: column for column in self.columns}
        return tuple(named[name] for name in self.key)

    def type_of(self, column: str) -> pa.DataType:
        """The type of a column."""
        return next(one.type for one in self.columns if one.name == column)

    @property
    def only_adds(self) -> bool:
        """Tells whether no row is ever changed or removed: it has no key, or is written once, when it is settled."""
        return not self.key or self.emit is Emit.FINAL


@dataclass(frozen=True)
class Position:
    """The position of a version: the newest batch, the commit read up to in each topic, and the watermark reached."""

    batch: int
    commits: tuple[tuple[str, int], ...]
    watermark: datetime


@dataclass(frozen=True)
class Batch:
    """The changes of one micro-batch.

    `upserts` has the target's columns, `deletes` its key columns. Deletes come first: a key that is in both is
    upserted. If a key is in `upserts` more than once, the last row counts. `ledger` has this batch's counts by name.
    `added`, where it is told, is how many of the upserts are rows that weren't there before: none of them may have the
    key of a row that is there.
    """

    upserts: pa.Table
    deletes: pa.Table
    position: Position
    ledger: Mapping[str, int] = field(default_factory=dict)
    added: int | None = None


@dataclass(frozen=True)
class Span:
    """The rows whose `column`, an instant, is later than `after` and not later than `upto`."""

    column: str
    after: datetime | None
    upto: datetime


@dataclass(frozen=True)
class Version:
    """A version that a store holds. `fingerprint` is that of the plan its rows come from."""

    target: Target
    fingerprint: str
    epoch: int
    position: Position | None
    promoted: bool


@dataclass(frozen=True)
class Served:
    """The version that a view's name stands for, and how far it has come.

    `written_at` is when its newest batch was, where the store remembers: no other batch of that number has been then.
    """

    target: Target
    position: Position | None
    written_at: datetime | None = None


class Snapshot(Protocol):
    """A store as it is at one moment, for one reader, in one thread at a time."""

    def served(self, view: str) -> Served | None:
        """The promoted version of a view; None if it has none."""

    def can(self, served: Served, part: Condition | Order) -> bool:
        """Tells whether the store does this part of a selection exactly as Spark would.

        A selection has no other parts. What a store can't do is done with the rows that it gives.
        """

    def rows(self, served: Served, selection: Selection) -> Iterator[pa.Table]:
        """The rows that a selection chooses, in parts, with exactly the declared types."""

    def plain(self, served: Served, selection: Selection) -> Iterator[Sequence[Sequence[Any]]]:
        """The same rows, in parts, column by column, as `headwater.store.plain` has their values."""

    def ledger(self, served: Served) -> Mapping[str, int]:
        """The sums of all batches' counts."""


def changes_schema(target: Target) -> pa.Schema:
    """The columns of `Store.changes`: the operation, the row before and after it, and the batch that brought it.

    `op` is `insert`, `update` or `delete`; `before` is NULL for an insert and `after` for a delete. `watermark` is the
    one that the batch reached, `watermark_before` the one that was reached before it, NULL if it is the first.
    """
    row = pa.struct(list(target.schema))
    return pa.schema(
        [
            pa.field("op", pa.string(), nullable=False),
            pa.field("before", row),
            pa.field("after", row),
            pa.field("batch", pa.int64(), nullable=False),
            pa.field("commit", pa.map_(pa.string(), pa.int64()), nullable=False),
            pa.field("at", INSTANT, nullable=False),
            pa.field("watermark", INSTANT, nullable=False),
            pa.field("watermark_before", INSTANT),
        ]
    )


class Store(Protocol):
    """A place that views are served from. Every method may be called from any thread.

    Whatever goes wrong is an `OperatorError` that names the place and says in what state the data is. After a
    transient one the same call may be made again.
    """

    def open(self, target: Target, fingerprint: str) -> int:
        """Take the next epoch of a version; create what is missing. Called once when a run of the view starts.

        Every holder of an older epoch is fenced from here on. Raises `VersionRefused` if the version exists with
        another fingerprint or other columns, `StoreDamaged` if its rows are gone: it is never recreated empty.
        """

    def apply(self, target: Target, epoch: int, batch: Batch) -> bool:
        """Write a batch: rows, position, ledger and changelog at once, or nothing. Called once for each micro-batch.

        Batch numbers rise. False, with nothing done, if this batch was applied before: a retry is harmless. Raises
        `Fenced` if the epoch is not the newest, `BatchRefused` if the batch can't follow what is there: its number was
        applied with other commits, a row of a final view comes a second time, fewer rows than are `added` have keys
        that no row has, or a value may not be NULL.
        When it returns, the batch survives the loss of power.
        """

    def position(self, view: str, version: int) -> Position | None:
        """The position of a version; None before its first batch, and if there is no such version."""

    def ledger(self, view: str, version: int) -> dict[str, int]:
        """The sums of all batches' counts."""

    def promote(self, view: str, version: int) -> None:
        """Let the view's own name stand for this version, in one step: a reader sees the old one or the new one."""

    def promoted(self, view: str) -> int | None:
        """The version that the view's name stands for."""

    def versions(self, view: str) -> tuple[Version, ...]:
        """Every version that is there, in the order of their numbers."""

    def drop(self, view: str, version: int) -> None:
        """Remove a version and all that belongs to it; nothing if it isn't there. The promoted one is refused.

        Epochs are remembered: who held the dropped version can't write to a later one of the same number.
        """

    def query(self, sql: str, limit: int | None = None) -> pa.Table:
        """Answer one statement in the store's own SQL, at most `limit` rows. It is impossible to write with it.

        `StatementRefused` if the store has no SQL. Views are asked in the SQL of views, over a `snapshot`.

        A result column that has the name of a declared column it reads, and whose values are all of its type, has
        that type; the others are typed by their values.
        """

    def snapshot(self, longest: timedelta | None = None) -> AbstractContextManager[Snapshot]:
        """The store as it is now, to be read by one who is gone after so long at the latest.

        Where the store has transactions, all that is read of it is of one; else what is read of one view is.
        """

    def snapshot_at_hand(self) -> AbstractContextManager[Snapshot] | None:
        """The store as it is now, if it is so near that a row is found by its key sooner than a thread is asked to.

        None where that would mean to wait for a server or a lock. `StoreUnavailable` if it turns out so.
        """

    def read(self, view: str, version: int | None = None, span: Span | None = None) -> pa.Table:
        """The rows of a version, by default of the promoted one, with exactly the declared types; all, or of a span."""

    def index(self, view: str, version: int, column: str) -> None:
        """Let spans of a column be found without reading all rows. Called by each run that reads spans; once is enough.

        Raises `UnknownVersion` if there is no such version.
        """

    def changes(self, view: str, version: int, since: Position | int | None = None) -> Iterator[pa.Table]:
        """The changes of the batches after `since`: one table of `changes_schema` for each batch that changed a row.

        None: all that is kept. Raises `PositionRefused` if changes after `since` are no longer kept.
        """

    def close(self) -> None:
        """Let go of connections. Nothing is lost by not calling it."""


@runtime_checkable
class WritesTogether(Protocol):
    """A store that writes batches of several views in one transaction: none of them is there before the others."""

    def prepared(self, target: Target, epoch: int, batch: Batch) -> Any:
        """Make ready what `Store.apply` would write; `BatchRefused` if it can't be written."""

    def write_together(self, prepared: Sequence[Any]) -> Sequence[Future[bool]]:
        """Write what was made ready, and tell of each what `apply` would. One that fails keeps no other from it."""
