"""Folds: of the changes of a table, the newest one of each key.

A change is newer than another of the same key if its event time is later; where they are equal, or the table declares
no event time, if it is behind it in the log. So a change that comes late takes its place among those before it, and
what was deleted later stays deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.model import Table

DELETE = "delete"
ORDER = ("_commit", "_row")
AT_ONCE = 1_000_000
"""So many changes are folded at a time, or as many as there are keys."""


def columns_to_fold(table: Table, columns: Sequence[str]) -> list[str]:
    """The columns that a fold needs of the changes, to give these."""
    time = [table.time] if table.time else []
    return list(dict.fromkeys([*table.primary_key, *time, *ORDER, "_op", *columns]))


def newest(table: Table, changes: pa.Table) -> pa.Table:
    """The newest change of each key, in their order; deletes are among them.

    >>> from headwater.model import Column
    >>> table = Table(name="t", columns=(Column("id", pa.string()),), primary_key=("id",))
    >>> newest(table, pa.table({"id": ["a", "b", "a"], "_commit": [1, 1, 2], "_row": [0, 1, 0]}))["_commit"].to_pylist()
    [1, 2]
    """
    if changes.num_rows < 2:
        return changes
    times = [] if table.time is None else [changes[table.time].cast(pa.int64()).to_numpy()]
    order = np.lexsort([changes["_row"].to_numpy(), changes["_commit"].to_numpy(), *times])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    keyed = changes.select(list(table.primary_key)).append_column("__place", pa.array(place))
    last = keyed.group_by(list(table.primary_key)).aggregate([("__place", "max")])["__place_max"].to_numpy()
    return changes.take(pa.array(order[np.sort(last)]))


def fold(table: Table, parts: Iterable[pa.Table]) -> pa.Table | None:
    """The newest change of each key among all parts, whatever their order; None if there is no part."""
    state: pa.Table | None = None
    waiting: list[pa.Table] = []
    for part in parts:
        waiting.append(part)
        if sum(rows.num_rows for rows in waiting) >= max(AT_ONCE, state.num_rows if state else 0):
            state, waiting = _folded(table, state, waiting), []
    return _folded(table, state, waiting)


def living(changes: pa.Table) -> pa.Table:
    """The changes that aren't deletes."""
    return changes.filter(pc.not_equal(changes["_op"], DELETE))


def only_keys(table: Table, rows: pa.Table, keys: pa.Table) -> pa.Table:
    """The rows that have one of these keys; `keys` has the columns of the primary key."""
    for name in table.primary_key:
        rows = rows.filter(pc.is_in(rows[name], value_set=keys[name].combine_chunks()))
    if len(table.primary_key) < 2 or not rows.num_rows:
        return rows
    names = list(table.primary_key)
    numbered = rows.select(names).append_column("__number", pa.array(np.arange(rows.num_rows)))
    kept = numbered.join(keys.select(names).combine_chunks(), names, join_type="left semi")["__number"]
    return rows.take(kept.combine_chunks().sort())


def _folded(table: Table, state: pa.Table | None, waiting: Sequence[pa.Table]) -> pa.Table | None:
    parts = [*([] if state is None else [state]), *waiting]
    return newest(table, pa.concat_tables(parts)) if parts else None
