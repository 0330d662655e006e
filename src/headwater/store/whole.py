"""A snapshot of a store that gives all rows of a view, or none: what is wanted of them is chosen here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from headwater.errors import UnknownVersion
from headwater.store.protocol import Served, Store
from headwater.store.selection import Condition, Order, Selection, can_choose, chosen


@dataclass
class WholeRows:
    """A `Snapshot` by nothing but the other methods of a store."""

    store: Store

    def served(self, view: str) -> Served | None:
        """The promoted version of a view."""
        number = self.store.promoted(view)
        found = [version for version in self.store.versions(view) if version.target.version == number]
        return Served(found[0].target, found[0].position) if found else None

    def can(self, served: Served, part: Condition | Order) -> bool:
        """Conditions, but for those about floating-point numbers."""
        return can_choose(served.target.type_of(part.column), part)

    def rows(self, served: Served, selection: Selection) -> Iterator[pa.Table]:
        """The rows that a selection chooses."""
        target = served.target
        try:
            rows = self.store.read(target.view, target.version)
        except UnknownVersion:  # it was dropped after another one was promoted
            rows = self.store.read(target.view).select(target.schema.names).cast(target.schema)
        yield chosen(rows, selection)
