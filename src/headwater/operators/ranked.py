"""Ranked: stages that keep the first rows of each partition."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headwater.operators.expression import Ordering, read_by, read_by_order
from headwater.operators.stage import Grouped, GroupKey, SameRows, Stage, with_added


@dataclass(frozen=True)
class Ranked(SameRows, Grouped):
    """The first rows of each partition by `order`; `rank` names the column of their rank, where the query shows it."""

    order: tuple[Ordering, ...] = field(default=(), kw_only=True)
    rank: str | None = field(default=None, kw_only=True)

    def pruned(self, needed: set[str]) -> Stage:
        used = needed | read_by(self.group_keys) | read_by_order(self.order)
        rank = self.rank if self.rank in needed else None
        below = self.input.pruned(used - {self.rank or ""})
        return replace(self, input=below, rank=rank, columns=with_added(below, self, [rank] if rank else []))

    def partition_key(self, rank: str | None = None) -> GroupKey | None:
        """The columns by which partitions are told apart, and the rank; None if they aren't columns."""
        columns = [self.column(key.reads[0]) if key.is_column else None for key in self.group_keys]
        fields = [column for column in columns if column is not None]
        if len(fields) < len(columns):
            return None
        ranked = self.column(rank) if rank else None
        fields += [ranked] if ranked else []
        below = self.input.group_key
        shown_as = {column.name: column.name for column in fields}
        return GroupKey(tuple(fields), shown_as, below.computed if below is not None else {})
