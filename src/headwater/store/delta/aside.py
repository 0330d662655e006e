"""Tables whose entries are damaged, put aside: what a view is, nobody can tell from them, and no version can follow.

They stay below the view, in `_damaged-<time>/`, until somebody deletes them. What there was a version of is remembered,
so that the epochs of a table that is made in the place of one go on above all that anybody holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from headwater.errors import LogDamaged
from headwater.log.entry import BESIDE, FOLDER
from headwater.store.delta.names import version_of
from headwater.store.delta.shown import shown
from headwater.store.delta.table import State, Table
from headwater.store.delta.tables import Tables


def put_aside(tables: Tables, view: str, now: datetime) -> list[str]:
    """Move the tables of a view away that are damaged; returns where they are now."""
    root, aside = tables.root(view), f"_damaged-{now.astimezone(UTC):%Y%m%dT%H%M%S%f}"
    moved = list(_hurt(tables, view))
    for folder in moved:
        root.storage.move(folder, f"{aside}/{folder}")
    tables.clear()
    return [f"{root.storage.url}/{aside}/{folder}" for folder in moved]


def _hurt(tables: Tables, view: str) -> Iterator[str]:
    """The folders of a view that are damaged; those of its name, too, if the version that it shows is, or is gone."""
    lost = set[int | None]()
    for number in tables.numbers(view):
        state = _state_of(tables.version(view, number))
        if state is None:
            yield version_of(number)
        if state is None or state.number < 0:
            lost.add(number)
    root = _state_of(tables.root(view))
    if root is None or shown(root) in lost:
        yield from (FOLDER, BESIDE)


def _state_of(table: Table) -> State | None:
    """The state of a table as one finds it who knows nothing of it; None if it is damaged."""
    try:
        return Table(table.storage).state()
    except LogDamaged:
        return None
