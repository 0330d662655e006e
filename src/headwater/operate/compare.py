"""Comparison of two versions of a view at one cut: rows only in the one, only in the other, and changed.

A cut is what both have read, and have written all that is due by. Where their batches ended at none lately, they are
asked to a *meeting*: the runs of both stop at the commits that are the heads then, and go on when that was seen.

Rows are told apart by the view's key and counted exactly. Without a key, or under another one, whole rows are compared,
as many times as they are there. Floating-point values are compared as `verify` does, to nine significant digits.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Any, Literal

import pyarrow as pa

from headwater.engine.digits import rounded
from headwater.errors import NotReached
from headwater.operate.cut import POLL, Source, Stand, ViewAt, newest_cut, not_reached
from headwater.plan import PlannedView
from headwater.store import Position, Store, Version
from headwater.waiting import wait_for

EXAMPLES = 5
"""So many rows of each kind are shown."""
MEETING = timedelta(seconds=2)
"""Versions are made to stand for so long at first until both have come to a meeting, each time for twice as long."""
Meet = Callable[[timedelta], "AbstractContextManager[Mapping[str, int]]"]
"""Asks the runs of both versions to stand at commits, for so long at most; gives the commits."""
HasClosed = Callable[[int], bool]
Row = dict[str, Any]
Rows = tuple[Row, Row]
"""A row as both versions have it."""


@dataclass(frozen=True)
class Delta:
    """A column in the rows that both versions have: in how many it differs and, of numbers, the sums before and after.

    `least` and `greatest` are those of the differences.
    """

    column: str
    changed: int
    before: Any = None
    after: Any = None
    least: Any = None
    greatest: Any = None


@dataclass(frozen=True)
class Compared:
    """The difference of two versions: counts of rows, with some examples, and the columns in which they differ.

    `old` and `new` are the versions, `commits` what both had read. Of `changed` the examples are pairs. `added` and
    `gone` are columns that only the new one or the old one has; they aren't compared.
    """

    view: str
    old: int
    new: int
    commits: Mapping[str, int]
    rows: int
    rows_new: int
    only_old: int
    only_new: int
    changed: int
    key: tuple[str, ...]
    added: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    deltas: tuple[Delta, ...] = ()
    examples: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def is_same(self) -> bool:
        """Tells whether no row differs in the columns that both have."""
        return not (self.only_old or self.only_new or self.changed)

    @property
    def difference(self) -> float:
        """The share of rows that differ, of those that the version with more rows has."""
        return self._share(self.only_old + self.only_new + self.changed)

    @property
    def missing(self) -> float:
        """The share of the old version's rows that the new one lacks."""
        return self.only_old / self.rows if self.rows else 0.0

    def _share(self, count: int) -> float:
        most = max(self.rows, self.rows_new)
        return min(1.0, count / most) if most else 0.0

    def as_dict(self) -> dict[str, Any]:
        """The same with stable field names."""
        return asdict(self) | {"difference": self.difference, "missing": self.missing}


def compared(old: ViewAt, new: ViewAt, key: Sequence[str], examples: int = EXAMPLES) -> Compared:
    """The difference of two versions whose rows are true for the same commits."""
    shared = [name for name in old.rows.column_names if name in new.rows.column_names]
    added = tuple(name for name in new.rows.column_names if name not in shared)
    gone = tuple(name for name in old.rows.column_names if name not in shared)
    by = tuple(key) if key and set(key) <= set(shared) else ()
    before, after = (_by_key(at.rows.select(shared), by) for at in (old, new))
    both = [(before[spelled], after[spelled]) for spelled in before if spelled in after]
    changed = [(one, other) for one, other in both if _spelled(one) != _spelled(other)] if by else []
    lost = [before[spelled] for spelled in before if spelled not in after]
    found = [after[spelled] for spelled in after if spelled not in before]
    shown: dict[str, Sequence[Any]] = {
        "only_old": lost[:examples],
        "only_new": found[:examples],
        "changed": changed[:examples],
    }
    return Compared(
        old.view, old.version, new.version, {**new.commits, **old.commits}, old.rows.num_rows, new.rows.num_rows,
        len(lost), len(found), len(changed), by, added, gone,
        tuple(_deltas([name for name in shared if name not in by], changed, both)), shown,
    )  # fmt: skip


def _by_key(rows: pa.Table, key: Sequence[str]) -> dict[str, Row]:
    """The rows by their key, spelled out; without one by all of their values and how often they have been there."""
    by: dict[str, Row] = {}
    times: Counter[str] = Counter()
    for row in _rows(rows):
        spelled = _spelled({name: row[name] for name in key} if key else row)
        if not key:
            times[spelled] += 1
            spelled = f"{spelled} {times[spelled]}"
        by[spelled] = row
    return by


def _rows(table: pa.Table) -> Iterator[Row]:
    for batch in table.to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()


def _spelled(row: Row) -> str:
    return json.dumps(rounded(row), default=repr, sort_keys=True)


def _deltas(columns: Sequence[str], changed: Sequence[Rows], both: Sequence[Rows]) -> Iterator[Delta]:
    for name in columns:
        pairs = [(one[name], other[name]) for one, other in changed]
        differing = [(one, other) for one, other in pairs if _spelled({"": one}) != _spelled({"": other})]
        if not differing:
            continue
        if not all(_is_number(value) for pair in differing for value in pair):
            yield Delta(name, len(differing))
            continue
        sums = [sum(pair[side][name] for pair in both if _is_number(pair[side][name])) for side in (0, 1)]
        steps = [other - one for one, other in differing]
        yield Delta(name, len(differing), sums[0], sums[1], min(steps), max(steps))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


@dataclass(frozen=True)
class Pair:
    """The two versions of a view that are compared, with the plans that they are run by.

    `has_closed` tells of the batches of each which have written all that is due by what they have read.
    """

    old: Version
    new: Version
    store: Store
    planned: PlannedView
    before: PlannedView
    meet: Meet
    has_closed: tuple[HasClosed, HasClosed]

    @property
    def sources(self) -> tuple[Source, Source]:
        """Both, to be read."""
        old, new = self.has_closed
        return Source(self.before, self.store, self.old, old), Source(self.planned, self.store, self.new, new)

    @property
    def key(self) -> Sequence[str]:
        """The columns that tell the rows of both apart; none if they have different ones."""
        one, other = self.old.target.key, self.new.target.key
        return one if set(one) == set(other) else ()

    @property
    def apart(self) -> frozenset[str]:
        """The views whose final rows they read by different plans: the commits of these are not the same."""
        scans = [[scan for scan in one.planned.scans if scan.kind == "view"] for one in self.sources]
        plans = [{scan.relation: scan.plan for scan in read} for read in scans]
        return frozenset(name for name, plan in plans[0].items() if plans[1].get(name, plan) != plan)

    def at_one_cut(self, wait: timedelta) -> tuple[ViewAt, ViewAt]:
        """The rows of both, true for the same commits; `NotReached` if waited in vain."""
        if self.apart:
            read = wait_for(self._by_watermark, wait, every=POLL)
        else:
            read = self._by_commits() or self._at_meeting(wait)
        if read is None:
            raise self._not_reached(wait)
        return read

    def _now(self) -> Pair:
        versions = {version.target.version: version for version in self.store.versions(self.planned.name)}
        old, new = versions[self.old.target.version], versions[self.new.target.version]
        return replace(self, old=old, new=new)

    def _by_commits(self) -> tuple[ViewAt, ViewAt] | None:
        sources = self._now().sources
        now = [list(islice(source.stands(), 1)) for source in sources]
        return _read(sources, newest_cut(now) or newest_cut([list(source.stands()) for source in sources]))

    def _at_meeting(self, wait: timedelta) -> tuple[ViewAt, ViewAt] | None:
        """Both at commits at which their runs stop; these are the heads, since nobody has read more."""
        until, longest = time.monotonic() + wait.total_seconds(), MEETING
        while (rest := until - time.monotonic()) > 0:
            patience = min(longest, timedelta(seconds=rest))
            with self.meet(patience) as commits:
                stands = wait_for(partial(self._met, commits), patience, every=POLL / 2)
            if isinstance(stands, list) and (read := _read(self._now().sources, stands)) is not None:
                return read
            longest = longest if stands == "missed" else 2 * longest
        return None

    def _met(self, commits: Mapping[str, int]) -> list[Stand] | Literal["missed"] | None:
        """The stands of both at a meeting, once they are there."""
        pair = self._now()
        one, other = pair.old.position, pair.new.position
        if one is None or other is None:
            return None
        reached = [dict(one.commits), dict(other.commits)]
        if any(at[name] > commit for at in reached for name, commit in commits.items()):
            return "missed"
        is_there = all(at[name] == commit for at in reached for name, commit in commits.items())
        closed, closed_too = self.has_closed
        if not (is_there and closed(one.batch) and closed_too(other.batch)):
            return None
        return [Stand(at.batch, dict(at.commits)) for at in (one, other)]

    def _by_watermark(self) -> tuple[ViewAt, ViewAt] | None:
        """Both as they are, if they have come to the same watermark and stay there while they are read."""
        pair = self._now()
        one, other = pair.old.position, pair.new.position
        if one is None or other is None or one.watermark != other.watermark:
            return None
        stands = [next(source.stands(), None) for source in pair.sources]
        if [stand and stand.batch for stand in stands] != [one.batch, other.batch]:
            return None  # what is due isn't written yet
        read = _read(pair.sources, [stand for stand in stands if stand])
        again = self._now()
        return read if (again.old.position, again.new.position) == (one, other) else None

    def _not_reached(self, wait: timedelta) -> NotReached:
        return not_reached(self._now().sources, wait)


def _read(sources: tuple[Source, Source], stands: Sequence[Stand] | None) -> tuple[ViewAt, ViewAt] | None:
    """The rows of both at their stands, if there are any and the rows can be told."""
    if not stands:
        return None
    old, new = (source.at(stand) for source, stand in zip(sources, stands, strict=True))
    return (old, new) if old is not None and new is not None else None


def is_as_far(new: Position | None, old: Position | None, apart: frozenset[str]) -> bool:
    """Tells whether a version has read what another one has; what they read by different plans has other commits."""
    if old is None:
        return True
    if new is None or new.watermark < old.watermark:
        return False
    commits = dict(new.commits)
    return all(commits.get(name, commit) >= commit for name, commit in old.commits if name not in apart)
