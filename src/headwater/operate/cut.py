"""Several views at one cut: rows that are true for the same commits of what the views read together.

Settled views of the same topics step together; others write in batches of their own, so that two of them are seldom at
the same commit at the same moment. A view's changelog leads back from where it is: a *stand* is a batch behind which
its rows are known. The newest stands at which all views have read the same are the cut. Rows are read first and the
changes behind the stand afterwards, so that whatever was written in between is taken back with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations
from typing import Any

import pyarrow as pa

from headwater.errors import ArgumentRefused, NotReached, PositionRefused
from headwater.plan import Plan, PlannedView
from headwater.store import Position, Store, Version

BACK = 100
"""A view is followed back so many batches at most."""
POLL = timedelta(milliseconds=50)
_TRIES = 10


@dataclass(frozen=True)
class Stand:
    """The batch of a view behind which its rows are known, and what it had read by then."""

    batch: int
    commits: Mapping[str, int]


@dataclass(frozen=True)
class ViewAt:
    """The rows of a version of a view, and the commits that they are true for."""

    view: str
    version: int
    batch: int
    commits: Mapping[str, int]
    rows: pa.Table


@dataclass(frozen=True)
class Source:
    """A view that is read: the version that is served, and the store that has it.

    `has_closed` tells of a batch whether it has written all that was due by what it had read.
    """

    planned: PlannedView
    store: Store
    version: Version
    has_closed: Callable[[int], bool] = lambda _: True

    @property
    def number(self) -> int:
        """The version."""
        return self.version.target.version

    def stands(self) -> Iterator[Stand]:
        """The stands of the view, now and before, the newest first."""
        position = self.version.position
        if position is None:
            return
        if self.has_closed(position.batch):
            yield _stand(position)
        try:
            first = max(-1, position.batch - BACK)
            earlier = [_stand_of(changes) for changes in self._changes(first)]
        except PositionRefused:
            return
        before = (stand for stand in reversed(earlier) if stand.batch < position.batch)
        yield from (stand for stand in before if self.has_closed(stand.batch))

    def at(self, stand: Stand) -> ViewAt | None:
        """The rows at a stand; None if batches come too fast for rows that can't be told apart."""
        rows = self._taken_back(stand) if self.version.target.key else self._left(stand)
        if rows is None:
            return None
        return ViewAt(
            self.planned.name,
            self.number,
            stand.batch,
            dict(stand.commits),
            rows.select([column.name for column in self.planned.shown]),
        )

    def _taken_back(self, stand: Stand) -> pa.Table:
        """The rows under their keys, each key that has changed since as it was."""
        key = self.version.target.key
        rows = self._rows()
        before: dict[tuple[Any, ...], dict[str, Any] | None] = {}
        for changes in self._changes(stand.batch):
            for change in changes.select(["before", "after"]).to_pylist():
                row = change["before"] or change["after"]
                before.setdefault(_key(row, key), change["before"])
        if not before:
            return rows
        kept = pa.array([_key(row, key) not in before for row in rows.select(list(key)).to_pylist()], pa.bool_())
        restored = [row for row in before.values() if row is not None]
        return pa.concat_tables([rows.filter(kept), pa.Table.from_pylist(restored, schema=rows.schema)])

    def _left(self, stand: Stand) -> pa.Table | None:
        """The rows but for those that were added since: equal rows are as good as each other."""
        for _ in range(_TRIES):
            now = self.store.position(self.planned.name, self.number)
            rows = self._rows()
            if self.store.position(self.planned.name, self.number) == now:
                break
        else:
            return None
        added: dict[str, int] = {}
        for changes in self._changes(stand.batch):
            if changes["batch"][0].as_py() > (now.batch if now else -1):
                break
            for row in changes["after"].to_pylist():
                added[repr(row)] = added.get(repr(row), 0) + 1
        kept = []
        for row in rows.to_pylist() if added else ():
            is_left = added.get(repr(row), 0) == 0
            added[repr(row)] = added.get(repr(row), 0) - (not is_left)
            kept.append(is_left)
        return rows.filter(pa.array(kept, pa.bool_())) if kept else rows

    def _rows(self) -> pa.Table:
        return self.store.read(self.planned.name, self.number)

    def _changes(self, since: int) -> Iterator[pa.Table]:
        return self.store.changes(self.planned.name, self.number, since)


def _key(row: Mapping[str, Any], key: Sequence[str]) -> tuple[Any, ...]:
    return tuple(repr(row[name]) for name in key)


def _stand(position: Position) -> Stand:
    return Stand(position.batch, dict(position.commits))


def _stand_of(changes: pa.Table) -> Stand:
    return Stand(changes["batch"][0].as_py(), dict(changes["commit"][0].as_py()))


def newest_cut(stands: Sequence[Sequence[Stand]]) -> list[Stand] | None:
    """A stand of each view, the newest ones that agree about what they have read of the same.

    >>> a = [Stand(9, {"sales": 14}), Stand(7, {"sales": 9})]
    >>> b = [Stand(3, {"sales": 9, "visits": 2})]
    >>> [stand.batch for stand in newest_cut([a, b])]
    [7, 3]
    """
    if not stands:
        return []
    first, *others = stands
    for stand in first:
        agreeing = [[other for other in candidates if _agree(stand, other)] for candidates in others]
        rest = newest_cut(agreeing) if all(agreeing) else None
        if rest is not None:
            return [stand, *rest]
    return None


def _agree(one: Stand, other: Stand) -> bool:
    return all(other.commits.get(name, commit) == commit for name, commit in one.commits.items())


def check_views(plan: Plan, views: Sequence[PlannedView]) -> None:
    """Refuse views that read the same topic in different ways: the commits of what they read don't tell of it."""
    for one, other in combinations(views, 2):
        shared = plan.graph.upstream(one.name) & plan.graph.upstream(other.name) & set(plan.topics)
        for topic in sorted(shared):
            ways = [_ways(plan, view, topic) for view in (one, other)]
            if ways[0] != ways[1]:
                raise ArgumentRefused(
                    f'views "{one.name}" and "{other.name}" can\'t be read at one cut',
                    detail=f'They read "{topic}" in different ways: one by {_named(ways[0])}, the other by '
                    f"{_named(ways[1])}.",
                    hint="Read views at one cut that read the same streams, or the same views.",
                )


def _ways(plan: Plan, view: PlannedView, topic: str) -> frozenset[str]:
    """The relations that a view reads and that have events of a topic."""
    upstream = plan.graph.upstream
    return frozenset(
        scan.relation
        for scan in view.reading
        if scan.relation == topic or (scan.kind == "view" and topic in upstream(scan.relation))
    )


def _named(ways: frozenset[str]) -> str:
    return ", ".join(f'"{name}"' for name in sorted(ways))


def not_reached(sources: Sequence[Source], waited: timedelta) -> NotReached:
    """The views were at no common cut in time."""
    positions = {source.planned.name: source.version.position for source in sources}
    told = "; ".join(
        f"{name} is at {', '.join(f'{topic} {commit}' for topic, commit in at.commits) if at else 'nothing'}"
        for name, at in positions.items()
    )
    return NotReached(
        f"the views had come to no common cut after {waited.total_seconds():g} s",
        detail=f"{told[:1].upper()}{told[1:]}; nor were they at the same commits lately.",
        hint="Repeat the request, with a longer timeout if need be; a view that is paused or has stopped is waited for "
        "in vain.",
    )
