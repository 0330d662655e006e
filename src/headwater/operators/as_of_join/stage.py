"""As-of join: rows with those of a table by its key, as the table was at an instant of each row.

Of the changes of a key the newest one counts that had happened by then; a delete is none. Changes come late like any
other rows: those that are in time count, and a row is final once the watermark of the table has passed its instant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar, Literal

from headwater.operators.expression import Expression
from headwater.operators.paired import Asking, Pairs, Sources, asking_among
from headwater.operators.scan.stage import Scan, scans_of
from headwater.operators.stage import NONE, Stage
from headwater.operators.streaming import Streaming

AsOfKind = Literal["inner", "left", "semi", "anti"]
AS_OF_KINDS: tuple[AsOfKind, ...] = ("inner", "left", "semi", "anti")


@dataclass(frozen=True)
class AsOfJoin(Asking):
    """Rows of the left side, each with the row of the table that it asks for, as it was at its `time`."""

    left: Stage
    right: Stage
    kind: AsOfKind
    key: Pairs
    equal: Pairs
    residual: Expression | None
    renames: Sources
    time: str

    noun: ClassVar[str] = "as-of join"
    does: ClassVar[str] = "joins"
    joins_rows: ClassVar[bool] = True
    bound_to_time: ClassVar[str] = (
        "A table is asked as it was at the time of a row, which is final once that has passed."
    )

    @property
    def inputs(self) -> tuple[Stage, ...]:
        return (self.left, self.right)

    @property
    def reach(self) -> timedelta | None:
        return NONE

    @property
    def admits_by_own_time(self) -> bool:
        return True

    @property
    def streaming(self) -> Streaming:
        return super().streaming._replace(obstacle="Spark's streaming has no join as of an instant")

    def pruned(self, needed: set[str]) -> Stage:
        left, right, renames, columns = self._narrowed(needed, (*self.key, *self.equal), ("left", self.time))
        return replace(
            self, left=self.left.pruned(left), right=self.right.pruned(right), renames=renames, columns=columns
        )

    @property
    def line(self) -> str:
        text = f"AsOfJoin {self.kind} on {self._condition((*self.key, *self.equal))} as of {self.time}"
        return f"{text} where {self.residual}" if self.residual else text


def asking_as_of(root: Stage) -> list[AsOfJoin]:
    """The joins that ask a table as it was at an instant, those first whose rows others ask with."""
    return list(asking_among(root, AsOfJoin))


def read_as_of(stage: Stage) -> set[Scan]:
    """The scans of tables whose rows are looked up as they were at an instant."""
    return {scan for join in asking_as_of(stage) for scan in scans_of(join.right)}
