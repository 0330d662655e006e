"""What changed, batch by batch: Delta's change data feed, read back as the changelog of a view.

A batch that only adds rows has no file of changes: its data files are its inserts, as Delta has it. Compaction may have
replaced those since; they are kept for as long as the changes are.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.log.entry import Entry
from headwater.log.journal import instant
from headwater.model import INSTANT
from headwater.store.delta.note import Note
from headwater.store.delta.table import State, Table
from headwater.store.delta.values import decode
from headwater.store.protocol import Target, changes_schema
from headwater.store.refusals import no_longer_kept


def next_changes(table: Table, state: State, target: Target, since: int | None) -> tuple[int, pa.Table] | None:
    """The first batch after `since` that changed something, and what; None if there is none yet."""
    note = Note.read(state.note)
    if since is not None and note.trimmed > since:
        raise no_longer_kept(target.view, since, note.trimmed)
    start = note.kept if since is None else entry_after(table, note.kept, state.number, since)
    for entry in table.between(start, state.number):
        if entry.note is not None and entry.note["kind"] == "batch" and entry.note["changed"]:
            try:
                return entry.note["position"][0], _changes(table, target, entry, entry.note)
            except FileNotFoundError:
                trimmed = Note.read(table.state().note).trimmed
                raise no_longer_kept(target.view, since or 0, trimmed) from None
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
        entry = table.entries.read(number)
        if entry is None:
            break
        if entry.note is not None:
            position = entry.note["position"]
            return position[0] if position else -1
        number -= 1
    return -1


def _changes(table: Table, target: Target, entry: Entry, note: dict[str, Any]) -> pa.Table:
    written = list(entry.of("cdc"))
    found = [table.read(action["path"], action["size"]) for action in written or entry.of("add")]
    rows = pa.concat_tables(found)
    if not written:
        rows = rows.append_column("_change_type", pa.array(["insert"] * rows.num_rows, pa.string()))
    kinds = {kind: rows.filter(pc.equal(rows["_change_type"], kind)) for kind in _KINDS}
    blocks = [
        ("insert", kinds["insert"].num_rows, None, kinds["insert"]),
        ("update", kinds["update_preimage"].num_rows, kinds["update_preimage"], kinds["update_postimage"]),
        ("delete", kinds["delete"].num_rows, kinds["delete"], None),
    ]
    return pa.concat_tables([_block(target, note, *block) for block in blocks if block[1]])


_KINDS = ("insert", "update_preimage", "update_postimage", "delete")


def _block(target: Target, note: dict[str, Any], op: str, count: int, *sides: pa.Table | None) -> pa.Table:
    """Changes of one operation: the rows before and after it."""
    schema = changes_schema(target)
    batch, commits, watermark = note["position"]
    left = note["watermark_before"]
    return pa.Table.from_arrays(
        [
            pa.array([op] * count, pa.string()),
            *(_structs(target, side, count) for side in sides),
            pa.array([batch] * count, pa.int64()),
            pa.array([list(commits.items())] * count, schema.field("commit").type),
            pa.array([instant(note["applied_at"])] * count, INSTANT),
            pa.array([instant(watermark)] * count, INSTANT),
            pa.array([None if left is None else instant(left)] * count, INSTANT),
        ],
        schema=schema,
    )


def _structs(target: Target, rows: pa.Table | None, count: int) -> pa.Array:
    kind = pa.struct(list(target.schema))
    if rows is None:
        return pa.nulls(count, kind)
    arrays = [column.combine_chunks() for column in decode(target, rows).columns]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))
