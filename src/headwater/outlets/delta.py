"""A Delta table as the target of an outlet: rows or changes and the place of the outlet in one commit.

The place, and the epoch of the run that holds the outlet, are *application transactions* of the table (`txn` actions):
four numbers that Delta keeps for as long as the table is. Every commit names the version of the table that it follows,
so that a run that was overtaken can't commit, and learns so. Whoever else writes to the table (a compaction, a DELETE)
only makes the outlet look again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, SchemaMismatchError, TableNotFoundError

from headwater.errors import HeadwaterError, TargetDenied, TargetUnavailable
from headwater.model import INSTANT, Envelope, schema_of
from headwater.outlets.protocol import Bury, Delivery, Place, fenced
from headwater.outlets.rows import latest
from headwater.outlets.withdrawn import withdrawn
from headwater.plan import PlannedOutlet
from headwater.store.refusals import this_process

COMPACT_EVERY = 100
"""After how many deliveries of a run the files of the table are put together."""
ATTEMPTS = 20
"""The number of attempts at a commit while others commit to the table."""
_PARTS = ("epoch", "version", "batch", "changes")
_OPERATION = "__operation"


class DeltaTarget:
    """A `Target` that is a Delta table at a path or URL, which is made when it isn't there."""

    def __init__(self, project: str, planned: PlannedOutlet, location: str, options: dict[str, str]) -> None:
        self._planned = planned
        self._location = location
        self._options = options
        self._name = f"headwater/{project}/{planned.name}"
        self._envelope: Envelope = planned.outlet.envelope
        self._epoch = 0
        self._delivered = 0
        self._opened: DeltaTable | None = None

    def open(self) -> Place | None:
        """Take the next epoch of the table."""
        with self._translated():
            table = self._opened = self._open_or_create()
            self._check(table)
            for _ in range(ATTEMPTS):
                self._epoch = (table.transaction_version(self._part("epoch")) or 0) + 1
                place = self._place(table)
                if self._commits(partial(self._append, self._nothing(), place)):
                    return place
                table.update_incremental()
        raise self._busy()

    def _open_or_create(self) -> DeltaTable:
        try:
            return DeltaTable(self._location, storage_options=self._options)
        except TableNotFoundError:
            schema = self._nothing().schema
            return DeltaTable.create(self._location, schema=schema, mode="ignore", storage_options=self._options)

    def _check(self, table: DeltaTable) -> None:
        """Refuse a table whose columns are of other types than what is sent."""
        there = {field.name: field.type for field in pa.schema(table.schema().to_arrow())}
        for field in self._nothing().schema:
            kind = there.get(field.name, field.type)
            if not _fits(kind, field.type):
                raise TargetDenied(
                    f'the Delta table of outlet "{self._planned.name}" has a column "{field.name}" of another type',
                    detail=f"It is {kind} at {self._location}, and {field.type} is sent. Nothing was sent.",
                    hint="Send to another path.",
                    outlet=self._planned.name,
                )

    def deliver(self, delivery: Delivery, bury: Bury) -> None:
        """Commit the changes with the place; look again if somebody else has committed meanwhile."""
        if self._envelope == "row":
            gone = withdrawn(delivery)
            if gone:
                bury(gone)
        rows = _ROWS[self._envelope](delivery)
        with self._translated():
            for _ in range(ATTEMPTS):
                if self._commits(lambda: self._write(rows, delivery.place)):
                    self._tidy()
                    return
                self._table.update_incremental()
                self._check_epoch()
        raise self._busy()

    def _commits(self, step: Callable[[], None]) -> bool:
        try:
            step()
        except CommitFailedError:
            return False
        return True

    def _write(self, rows: pa.Table, place: Place) -> None:
        if self._envelope != "upsert" or not rows.num_rows:
            self._append(rows.drop_columns([_OPERATION]) if self._envelope == "upsert" else rows, place)
            return
        self._merge(rows, place)
        if self._place(self._table) != place:  # nothing to change, so nothing was committed
            self._append(self._nothing(), place)

    def _append(self, rows: pa.Table, place: Place | None) -> None:
        write_deltalake(
            self._table, rows, mode="append", schema_mode="merge", commit_properties=self._properties(place)
        )

    def _merge(self, rows: pa.Table, place: Place) -> None:
        # the same comparison for every column, or two NULLs are not found by hash but row by row
        met = " AND ".join(
            f"({_named('t', name)} IS NOT DISTINCT FROM {_named('s', name)})" for name in self._planned.key
        )
        updates = {_named("t", name): _named("s", name) for name in rows.column_names if name != _OPERATION}
        merger = self._table.merge(
            rows,
            predicate=met,
            source_alias="s",
            target_alias="t",
            merge_schema=True,
            commit_properties=self._properties(place),
        )
        merger = merger.when_matched_delete(predicate=f"s.{_OPERATION} = 'delete'")
        merger = merger.when_matched_update(updates=updates)
        merger.when_not_matched_insert(predicate=f"s.{_OPERATION} <> 'delete'", updates=updates).execute()

    def _properties(self, place: Place | None) -> CommitProperties:
        numbers = {"epoch": self._epoch}
        if place is not None:
            changes = -1 if place.changes is None else place.changes
            numbers |= {"version": place.version, "batch": place.batch, "changes": changes}
        moved = [Transaction(self._part(name), number) for name, number in numbers.items()]
        told = {"headwater.epoch": str(self._epoch), "headwater.holder": this_process()}
        # no retries: the commit must follow the version whose epoch was looked at
        return CommitProperties(custom_metadata=told, max_commit_retries=0, app_transactions=moved)

    def _tidy(self) -> None:
        self._delivered += 1
        if self._delivered % COMPACT_EVERY == 0:
            self._commits(lambda: self._table.optimize.compact())

    # What the table knows

    def _part(self, name: str) -> str:
        return f"{self._name}/{name}"

    def _place(self, table: DeltaTable) -> Place | None:
        version, batch, changes = (table.transaction_version(self._part(name)) for name in _PARTS[1:])
        if version is None or batch is None or changes is None:
            return None
        return Place(version, batch, None if changes < 0 else changes)

    def _check_epoch(self) -> None:
        epoch = self._table.transaction_version(self._part("epoch"))
        if epoch == self._epoch:
            return
        told = [entry for entry in self._table.history() if entry.get("headwater.epoch") == str(epoch)]
        holder = str(told[0]["headwater.holder"]) if told else "Another run"
        detail = f"has epoch {epoch}; this run has epoch {self._epoch}. Nothing was sent since it began."
        raise fenced(self._planned.name, holder, detail)

    @property
    def _table(self) -> DeltaTable:
        assert self._opened is not None, "a target is opened first"
        return self._opened

    def _nothing(self) -> pa.Table:
        schema = schema_of(self._planned.view.columns)
        if self._envelope == "change":
            schema = _change_schema(pa.struct(list(schema)), pa.struct(list(schema)))
        return _nullable(schema).empty_table()

    # Errors

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except HeadwaterError:
            raise
        except (SchemaMismatchError, PermissionError) as cause:
            raise self._error(TargetDenied, "refuses what is sent", cause) from cause
        except (DeltaError, OSError) as cause:
            raise self._error(TargetUnavailable, "did not take what was sent", cause) from cause

    def _error(self, kind: type[HeadwaterError], what: str, cause: Exception) -> HeadwaterError:
        return kind(
            f'the Delta table of outlet "{self._planned.name}" {what}',
            detail=f"{cause} ({self._location}). What was delivered stays, and the outlet goes on behind it.",
            hint="See that the path can be reached and written, and that the columns fit.",
            outlet=self._planned.name,
        )

    def _busy(self) -> TargetUnavailable:
        return TargetUnavailable(
            f'the Delta table of outlet "{self._planned.name}" was committed to by others all the time',
            detail=f"{ATTEMPTS} attempts came too late, at {self._location}. Nothing of the delivery is in it.",
            outlet=self._planned.name,
        )

    def close(self) -> None:
        """There is nothing to let go of."""


def _named(side: str, column: str) -> str:
    return f"{side}.`{column.replace('`', '``')}`"


def _change_schema(before: pa.DataType, after: pa.DataType) -> pa.Schema:
    return pa.schema(
        [
            ("id", pa.string()), ("op", pa.string()), ("before", before), ("after", after), ("timing", pa.string()),
            ("version", pa.int64()), ("batch", pa.int64()), ("commit", pa.map_(pa.string(), pa.int64())),
            ("at", INSTANT), ("watermark", INSTANT),
        ]
    )  # fmt: skip


def _changes(delivery: Delivery) -> pa.Table:
    """The changes with all that is known of them."""
    table, count = delivery.changes, delivery.changes.num_rows
    schema = _change_schema(table.schema.field("before").type, table.schema.field("after").type)
    own = {
        "id": pa.array([delivery.change_id(index) for index in range(count)], pa.string()),
        "version": pa.array([delivery.place.version] * count, pa.int64()),
    }
    return pa.table({name: own[name] if name in own else table[name] for name in schema.names}).cast(_nullable(schema))


def _added(delivery: Delivery) -> pa.Table:
    """The rows as they are after the changes; those that are gone are none."""
    table = delivery.changes.filter(pc.not_equal(delivery.changes["op"], "delete"))
    return _rows(table["after"])


def _upserts(delivery: Delivery) -> pa.Table:
    """The rows as they are or, where one is gone, what its key was; and what was done to each."""
    table = delivery.changes
    fields = list(_nullable(pa.schema(list(table.schema.field("after").type))))
    rows = pa.table({field.name: latest(table, field) for field in fields})
    return rows.append_column(_OPERATION, table["op"])


def _rows(structs: pa.ChunkedArray | pa.Array) -> pa.Table:
    kind = structs.type
    chunks = structs.combine_chunks() if isinstance(structs, pa.ChunkedArray) else structs
    schema = _nullable(pa.schema(list(kind)))
    arrays = [pc.struct_field(chunks, field.name).cast(field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


_ROWS: dict[Envelope, Callable[[Delivery], pa.Table]] = {"change": _changes, "row": _added, "upsert": _upserts}


def _nullable(schema: pa.Schema) -> pa.Schema:
    """The same columns, all of which may be NULL: a later version of the view may lack one."""
    return pa.schema([pa.field(field.name, _loose(field.type)) for field in schema])


def _loose(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _loose(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_loose(kind.value_type))
    return kind


def _fits(there: pa.DataType, sent: pa.DataType) -> bool:
    """Tells whether values of a type can be added to a column; a struct may have more or fewer fields."""
    if pa.types.is_struct(there) and pa.types.is_struct(sent):
        known = {field.name: field.type for field in there}
        return all(_fits(known.get(field.name, field.type), field.type) for field in sent)
    return _plain(there) == _plain(sent)


def _plain(kind: Any) -> str:
    """A type as it is compared: Delta calls texts and lists by other names than the view does."""
    text = str(kind).replace("large_", "").replace("string_view", "string").replace("binary_view", "binary")
    return text.replace(" not null", "").replace("element:", "item:")
