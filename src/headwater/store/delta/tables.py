"""The tables of a Delta store: one for each version of a view, and one that shows the promoted version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from headwater.log.storage import Storage
from headwater.store.delta.failures import named
from headwater.store.delta.names import VERSIONS, folder_of, version_of
from headwater.store.delta.note import Note
from headwater.store.delta.table import Table
from headwater.store.delta.values import kept_schema
from headwater.store.protocol import Target
from headwater.store.refusals import no_version


class Tables:
    """The tables below a place, each of which keeps what it knows of its log."""

    def __init__(self, place: str, storage: Callable[[str], Storage]) -> None:
        self._place = place
        self._storage = storage
        self._open: dict[str, Table] = {}

    def root(self, view: str) -> Table:
        """The table under the view's own name."""
        return self._at(folder_of(view))

    def version(self, view: str, version: int) -> Table:
        """The table of a version."""
        return self._at(f"{folder_of(view)}/{version_of(version)}")

    def _at(self, path: str) -> Table:
        table = self._open.get(path)
        return table if table is not None else self._open.setdefault(path, Table(self._storage(path)))

    def numbers(self, view: str) -> list[int]:
        """The numbers of the versions that there are or were."""
        with named(self._place, view, 0, "read"):
            return sorted(int(name) for name in self.root(view).storage.list(VERSIONS) if name.isdigit())

    def note(self, view: str, version: int) -> Note | None:
        """The note of a version; None if there is none."""
        state = self.version(view, version).state()
        note = Note.read(state.note) if state.number >= 0 else None
        return None if note is None or note.dropped else note

    def unknown(self, view: str, version: int) -> Exception:
        """That a view has no such version, and which it has."""
        return no_version(view, version, [number for number in self.numbers(view) if self.note(view, number)])

    def clear(self) -> None:
        """Let go of what is known."""
        self._open.clear()


def rows_of(table: Table, target: Target, add: Any, columns: list[str] | None) -> pa.Table:
    """The rows of a file, with the types that the table has."""
    wanted = [column for column in target.columns if columns is None or column.name in columns]
    schema = kept_schema(wanted)
    rows = table.rows(add, columns).select(schema.names)
    return pa.Table.from_arrays([rows[field.name].cast(field.type) for field in schema], names=schema.names)
