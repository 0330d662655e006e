"""TopN: the first rows of each partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from headwater.operators.expression import Expression, listed
from headwater.operators.ranked import Ranked
from headwater.operators.remedy import NOTHING_BOUNDS_IT, STATE_RETENTION, Remedy
from headwater.operators.scan.time import partition_by_window
from headwater.operators.stage import GroupKey
from headwater.operators.streaming import Streaming


@dataclass(frozen=True)
class TopN(Ranked):
    """The first `limit` rows of each partition by `ranking`; `rank` names the rank where the query shows it."""

    partition: tuple[Expression, ...]
    limit: int
    ranking: Literal["row_number", "rank", "dense_rank"] = "row_number"

    noun: ClassVar[str] = "top-N"
    looks_around: ClassVar[bool] = True

    @property
    def group_keys(self) -> tuple[Expression, ...]:
        return self.partition

    @property
    def remedy(self) -> Remedy | None:
        kept = STATE_RETENTION if self.partition else STATE_RETENTION.replace("')", "', key = 'id')")
        columns = [key.sql for key in self.partition if key.is_column]
        hint = f"{partition_by_window(self, columns)} Or {kept}."
        return Remedy("ranks rows for ever", NOTHING_BOUNDS_IT, hint)

    @property
    def streaming(self) -> Streaming:
        return super().streaming._replace(obstacle="Spark's streaming has no top-N")

    @property
    def group_key(self) -> GroupKey | None:
        """Rows of a partition are told apart by their number; those of a whole without an end as below."""
        return self._numbered_key or (self.input.group_key if self.is_endless else None)

    @property
    def _numbered_key(self) -> GroupKey | None:
        many = self.limit > 1 or self.ranking != "row_number"
        if many and not (self.rank and self.ranking == "row_number"):
            return None
        return self.partition_key(self.rank if many else None)

    @property
    def line(self) -> str:
        by = f" per {listed(self.partition)}" if self.partition else ""
        return f"TopN {self.limit} by {self.ranking}{by}, ordered by {listed(self.order)}"
