"""Stores that give all rows of a view, or none, over a network: what is wanted of the rows is chosen here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headwater.errors import UnknownVersion
from headwater.store.plain import plain
from headwater.store.protocol import Served, Store
from headwater.store.selection import Condition, Order, Selection, can_choose, chosen


class Remote:
    """A `Store` that is never so near that no thread is needed to read from it."""

    def snapshot_at_hand(self) -> None:
        """None."""
        return


@dataclass
class WholeRows:
    """A `Snapshot` by nothing but the other methods of a store."""

    store: Store

    def served(self, view: str) -> Served | None:
        """The promoted version of a view."""
        number = self.store.promoted(view)
        versions = [version for version in self.store.versions(view) if version.target.version == number]
        return Served(versions[0].target, versions[0].position) if versions else None

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

    def plain(self, served: Served, selection: Selection) -> Iterator[Sequence[Sequence[Any]]]:
        """The same rows, as JSON has their values."""
        for rows in self.rows(served, selection):
            yield list(map(plain, rows.columns))

    def ledger(self, served: Served) -> Mapping[str, int]:
        """The sums of all batches' counts."""
        return self.store.ledger(served.target.view, served.target.version)
