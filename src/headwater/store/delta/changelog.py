"""The changelog, batch by batch: Delta's change data feed, read back as the changelog of a view.

A batch that only adds rows has no file of changes: its data files are its inserts, as Delta has it. Compaction may have
replaced those since; they are kept for as long as the changes are.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import LogDamaged
from headwater.log.entry import Entry
from headwater.log.journal import instant
from headwater.store.changes import changes_table
from headwater.store.delta.note import Note
from headwater.store.delta.table import State, Table
from headwater.store.delta.values import decode
from headwater.store.fit import whole
from headwater.store.protocol import Position, Target
from headwater.store.refusals import no_longer_kept


def next_changes(table: Table, state: State, target: Target, since: int | None) -> tuple[int, pa.Table] | None:
    """The first batch after `since` that changed something, and what; None if there is none yet."""
    note = Note.read(state.note)
    if since is not None and note.trimmed > since:
        raise no_longer_kept(target.view, since, note.trimmed)
    start = note.kept if since is None else entry_after(table, note.kept, state.number, since)
    for number in range(start, state.number + 1):
        try:
            entry = table.at(number)
            if entry.note is not None and entry.note["kind"] == "batch" and entry.note["changed"]:
                return entry.note["position"][0], _changes(table, target, entry, entry.note)
        except (FileNotFoundError, LogDamaged):
            now = Note.read(table.state().note)
            if number >= now.kept:
                raise  # nobody has let go of it
            raise no_longer_kept(target.view, since or 0, now.trimmed) from None
    return None


def entry_after(table: Table, first: int, last: int, batch: int) -> int:
    """The first entry in a range that came behind a batch; one behind the range if none did."""
    while first <= last:
        middle = (first + last) // 2
        if _reached(table, middle) > batch:
            last = middle - 1
        else:
            first = middle + 1
    return first


def _reached(table: Table, number: int) -> int:
    """The batch that the table had come to with an entry; other tools' entries say nothing of it."""
    while number >= 0:
        entry = table.at(number)
        if entry.note is not None:
            position = entry.note["position"]
            return position[0] if position else -1
        number -= 1
    return -1


def _changes(table: Table, target: Target, entry: Entry, note: dict[str, Any]) -> pa.Table:
    written = list(entry.of("cdc"))
    parts = [table.read(action["path"], action["size"]) for action in written or entry.of("add")]
    rows = pa.concat_tables(parts)
    if not written:
        rows = rows.append_column("_change_type", pa.array(["insert"] * rows.num_rows, pa.string()))
    kinds = {kind: rows.filter(pc.equal(rows["_change_type"], kind)) for kind in _KINDS}
    before, after = (pa.concat_tables([kinds[kind] for kind in side]) for side in _SIDES)
    counts = [kinds[kind].num_rows for kind in ("insert", "update_postimage", "delete")]
    operations = [op for op, count in zip(("insert", "update", "delete"), counts, strict=True) for _ in range(count)]
    sides = (
        pa.concat_arrays([pa.nulls(counts[0], _kind_of(target)), _structs(target, before)]),
        pa.concat_arrays([_structs(target, after), pa.nulls(counts[2], _kind_of(target))]),
    )
    left = note["watermark_before"]
    return changes_table(
        target,
        pa.array(operations, pa.string()),
        sides,
        Position(note["position"][0], tuple(note["position"][1].items()), instant(note["position"][2])),
        instant(note["applied_at"]),
        None if left is None else instant(left),
    )


_SIDES = (("update_preimage", "delete"), ("insert", "update_postimage"))
_KINDS = ("insert", "update_preimage", "update_postimage", "delete")


def _kind_of(target: Target) -> pa.DataType:
    """A row as one value."""
    return pa.struct(list(target.schema))


def _structs(target: Target, rows: pa.Table) -> pa.Array:
    arrays = [whole(column) for column in decode(target, rows).columns]
    return pa.StructArray.from_arrays(arrays, fields=list(_kind_of(target)))
