"""The feed of an outlet: the changes of a view behind a place, as they stand in its store's changelog.

An outlet reads nothing else: it follows the version that is served, and whatever it does the view doesn't wait for it.
When another version takes over, because the declaration has changed or the view was built anew, the outlet sends what
is left of the old one, and then the *difference*: what turns the rows of the old version into those of the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from headwater.errors import ChangesLost, PositionRefused, UnknownVersion
from headwater.json_text import spell
from headwater.model import INSTANT
from headwater.outlets.protocol import Delivery, Place
from headwater.store import Position, Store, Version, changes_schema

MOST_CHANGES = 50_000
"""The most changes that are delivered at once; a batch with more is delivered in parts."""
_BEFORE_ALL = Position(-1, (), datetime.fromtimestamp(0, UTC))
NOTHING = Place(0, -1)
"""Where an outlet is that has sent nothing, and shall send all that comes."""


@dataclass(frozen=True)
class Feed:
    """The changes of one view. `mark` adds the timing to those of versions that the plan of `fingerprint` made.

    `start` is where a first run begins. `keyed` says that the rows are kept under their key where they are sent to.
    `differ` turns changes into differences, where those are sent.
    """

    outlet: str
    view: str
    store: Store
    fingerprint: str
    mark: Callable[[pa.Table], pa.Table]
    start: str = "earliest"
    keyed: bool = False
    differ: Callable[[pa.Table], pa.Table] | None = None
    most: int = MOST_CHANGES

    def after(self, place: Place | None) -> Iterator[Delivery]:
        """The deliveries behind a place, in order, up to where the view is now."""
        for delivery in self._after(place):
            yield delivery if self.differ is None else replace(delivery, changes=self.differ(delivery.changes))

    def _after(self, place: Place | None) -> Iterator[Delivery]:
        if place is None:
            place = self._begin()
            if place != NOTHING:
                yield self._moved(place)
        served = self.store.promoted(self.view)
        if served is None:
            return
        if place == NOTHING:
            yield from self._whole(served)
        elif place.version == served:
            yield from self._left(place)
        else:
            yield from self._switch(place, served)

    def newest(self) -> Place | None:
        """Where the served version is; behind the last change, as batches need not change anything."""
        served = self.store.promoted(self.view)
        position = self.store.position(self.view, served) if served is not None else None
        return Place(served, position.batch) if served is not None and position is not None else None

    def lag(self, place: Place | None) -> int:
        """The number of batches of the served version behind a place."""
        newest = self.newest()
        if newest is None:
            return 0
        return newest.batch - (place.batch if place is not None and place.version == newest.version else -1)

    def _begin(self) -> Place:
        return (self.newest() if self.start == "latest" else None) or NOTHING

    def _moved(self, place: Place) -> Delivery:
        return Delivery(_unmarked(changes_schema(self._version(place.version).target).empty_table()), place)

    # One version

    def _whole(self, version: int) -> Iterator[Delivery]:
        """A version from its first change on; its rows as they are, if its first changes are no longer kept."""
        deliveries = self._changes(Place(version, -1))
        try:
            first = next(deliveries, None)
        except PositionRefused:
            yield self._difference(None, version)
            return
        if first is not None:
            yield first
            yield from deliveries

    def _changes(self, place: Place) -> Iterator[Delivery]:
        version = self._version(place.version)
        sent = 0 if place.changes is None else place.changes
        since = place.batch if place.changes is None else place.batch - 1
        for table in self.store.changes(self.view, place.version, since):
            batch = table["batch"][0].as_py()
            yield from self._parts(table, version, sent if batch == place.batch else 0)

    def _parts(self, table: pa.Table, version: Version, sent: int) -> Iterator[Delivery]:
        batch, number = table["batch"][0].as_py(), version.target.version
        # the changes of a version that another plan made have other columns
        marked = self.mark(table) if version.fingerprint == self.fingerprint else _unmarked(table)
        for first in range(sent, table.num_rows, self.most):
            behind = first + self.most
            place = Place(number, batch, behind if behind < table.num_rows else None)
            yield Delivery(marked.slice(first, self.most), place, first)

    def _left(self, place: Place) -> Iterator[Delivery]:
        try:
            yield from self._changes(place)
        except PositionRefused as cause:
            raise self._lost(cause.detail or cause.summary) from cause

    # Another version

    def _switch(self, place: Place, served: int) -> Iterator[Delivery]:
        if place.version not in {version.target.version for version in self.store.versions(self.view)}:
            raise self._lost(f"Version {place.version}, which it was sending, was dropped.")
        if self.keyed and self._version(place.version).target.key != self._version(served).target.key:
            raise self._lost("The rows of the version that is served now have another key.")
        before, position = self._rows(place.version)  # which may be fed beside the one that is served now
        for delivery in self._left(place):
            if delivery.place.batch > position.batch:
                break
            yield delivery
        yield self._difference(before, served)

    def _difference(self, old: pa.Table | None, new: int) -> Delivery:
        """The changes that turn the rows of a version, or none, into those of another one."""
        rows, position = self._rows(new)
        before, target = rows.slice(0, 0) if old is None else old, self._version(new).target
        changes = list(_differences(before.to_pylist(), rows.to_pylist(), target.key))
        schema = changes_schema(target)
        schema = schema.set(schema.get_field_index("before"), pa.field("before", pa.struct(list(before.schema))))
        columns = [pa.array([change[side] for change in changes], schema.field(side).type) for side in _SIDES]
        table = pa.Table.from_arrays([*columns, *_told(position, len(changes), schema)], schema=schema)
        return Delivery(_unmarked(table), Place(new, position.batch), is_divisible=False)

    def _rows(self, version: int) -> tuple[pa.Table, Position]:
        """The rows of a version and the batch that they are from."""
        while True:
            before = self.store.position(self.view, version)
            rows = self.store.read(self.view, version)
            if before == self.store.position(self.view, version):
                return rows, before or _BEFORE_ALL

    def _version(self, version: int) -> Version:
        for candidate in self.store.versions(self.view):
            if candidate.target.version == version:
                return candidate
        raise UnknownVersion(f'view "{self.view}" has no version {version}', view=self.view, version=version)

    def _lost(self, reason: str) -> ChangesLost:
        return ChangesLost(
            f'changes of view "{self.view}" that outlet "{self.outlet}" has not sent are gone',
            detail=f"{reason} What was delivered stays; nothing was sent since.",
            hint="Declare the outlet under another name and with another target: it begins with the rows as they are.",
            outlet=self.outlet,
            view=self.view,
        )


_SIDES = ("op", "before", "after")


def _unmarked(table: pa.Table) -> pa.Table:
    """The changes, with a timing that isn't known."""
    return table.append_column(pa.field("timing", pa.string()), pa.nulls(table.num_rows, pa.string()))


def _differences(old: Iterable[Any], new: Iterable[Any], key: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Rows that are gone, then those that are new or other, in the order of the new version.

    Without a key, rows that are the same count as often as they are there.
    """
    gone: dict[str, list[Any]] = {}
    for row in old:
        gone.setdefault(_name(row, key), []).append(row)
    there = []
    for row in new:
        same = gone.get(_name(row, key))
        before = same.pop() if same else None
        if before != row:
            there.append({"op": "insert" if before is None else "update", "before": before, "after": row})
    yield from ({"op": "delete", "before": row, "after": None} for rows in gone.values() for row in rows)
    yield from there


def _name(row: dict[str, Any], key: tuple[str, ...]) -> str:
    return spell([row.get(name) for name in key] if key else row)


def _told(position: Position, count: int, schema: pa.Schema) -> list[pa.Array]:
    """The columns that say which batch brought the changes."""
    at = datetime.now(UTC)
    return [
        pa.array([position.batch] * count, pa.int64()),
        pa.array([list(position.commits)] * count, schema.field("commit").type),
        pa.array([at] * count, INSTANT),
        pa.array([position.watermark] * count, INSTANT),
        pa.nulls(count, INSTANT),
    ]
