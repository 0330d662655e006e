"""Deduplicate: one row per key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from headwater.operators.expression import Expression, Role, listed
from headwater.operators.kept import Kept, after
from headwater.operators.ranked import Ranked
from headwater.operators.remedy import NOTHING_BOUNDS_IT, STATE_RETENTION, Remedy
from headwater.operators.scan.stage import scans_of
from headwater.operators.scan.time import event_time_of
from headwater.operators.stage import NONE, Cut, GroupKey
from headwater.operators.streaming import Link, Streaming


@dataclass(frozen=True)
class Deduplicate(Ranked):
    """One row per `keys`: the first in `order`, or any where all columns are keys. `rank` names a column that is 1."""

    keys: tuple[Expression, ...]

    noun: ClassVar[str] = "deduplication"
    does: ClassVar[str] = "removes duplicates of"
    limit: ClassVar[int] = 1
    ranking: ClassVar[str] = "row_number"

    @property
    def group_keys(self) -> tuple[Expression, ...]:
        return self.keys

    @property
    def is_endless(self) -> bool:
        return not self.ends and not self.is_by_identity

    @property
    def reach(self) -> timedelta | None:
        return None if self.is_endless else NONE

    @property
    def is_by_identity(self) -> bool:
        """Tells whether rows are duplicates only if they are the same event: the stream's `unique` columns are keys."""
        scans = list(scans_of(self))
        columns = (self.input.column_of(key) for key in self.keys)
        keys = {ancestor for column in columns if column is not None for ancestor in column.ancestors}
        return len(scans) == 1 and all(
            scan.unique and {(scan.relation, column) for column in scan.unique} <= keys for scan in scans
        )

    @property
    def cut_by(self) -> Iterator[Cut]:
        """Events that are the same are so whenever they happened."""
        return iter(()) if self.is_by_identity else super().cut_by

    @property
    def admits_by_own_time(self) -> bool:
        columns = (self.input.column_of(key) for key in self.keys)
        return any(column is not None and column.role is Role.EVENT_TIME for column in columns)

    @property
    def remedy(self) -> Remedy | None:
        hint = f"Add {event_time_of(self)} or a window to the columns, or {STATE_RETENTION}."
        return Remedy("removes duplicates for ever", NOTHING_BOUNDS_IT, hint)

    @property
    def streaming(self) -> Streaming:
        obstacle = None if self.ends else "its groups have no end in time and are recomputed over what is retained"
        if self.order:
            obstacle = "Spark's streaming can't keep the first row by an order"
        obstacle = None if self.is_by_identity else obstacle
        return Streaming(Link("distinct"), obstacle, only_adds=obstacle is None)

    def kept(self, grace: timedelta) -> Iterator[Kept]:
        if not self.is_by_identity:
            yield Kept("deduplicate", f"{listed(self.keys)} of each row", after("the time among them", grace))

    @property
    def group_key(self) -> GroupKey | None:
        return self.partition_key()

    @property
    def line(self) -> str:
        order = f", the first by {listed(self.order)}" if self.order else ""
        return f"Deduplicate by {listed(self.keys)}{order}"
