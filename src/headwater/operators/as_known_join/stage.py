"""As-known join: rows with those of a table by its key, as the table was known when each row arrived.

The changes of a key count that had arrived by then; of these the newest is the row that was known, and a delete is
none. Which they are follows from the times of arrival in the two logs. So a row needs no watermark of the table: it is
there as soon as nothing can arrive in the table at its time any more. The table is no input that has a time: it is
looked up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from headwater.operators.as_of_join.stage import AsOfJoin, AsOfKind
from headwater.operators.expression import Expression
from headwater.operators.paired import Asking, Pairs, Side, Sources, asking_among
from headwater.operators.scan.stage import Scan
from headwater.operators.stage import Stage, Unary
from headwater.operators.streaming import Streaming

ARRIVED = "_arrived_at"
"""The column of a topic that says when a row arrived."""


@dataclass(frozen=True)
class AsKnownJoin(Asking, Unary):
    """Rows of the input, each with the row of the `table` that it asks for, as that was known at its `time`."""

    table: Scan
    kind: AsOfKind
    key: Pairs
    equal: Pairs
    residual: Expression | None
    renames: Sources
    time: str

    noun: ClassVar[str] = "as-known join"
    does: ClassVar[str] = "joins"
    keeps_state: ClassVar[bool] = False
    bound_to_time: ClassVar[str] = "A table is asked as it was known when a row arrived."

    @property
    def sides(self) -> tuple[Stage, Stage]:
        return self.input, self.table

    @property
    def streaming(self) -> Streaming:
        return super().streaming._replace(obstacle="Spark's streaming has no join as a table was known")

    def pruned(self, needed: set[str]) -> Stage:
        also: tuple[tuple[Side, str], ...] = (("left", self.time), ("right", ARRIVED))
        left, right, renames, columns = self._narrowed(needed, (*self.key, *self.equal), *also)
        return replace(
            self, input=self.input.pruned(left), table=self.table.pruned(right), renames=renames, columns=columns
        )

    @property
    def line(self) -> str:
        keys = self._condition((*self.key, *self.equal))
        text = f"AsKnownJoin {self.kind} with {self.table.relation} on {keys}, known at {self.time}"
        text = f"{text} where {self.residual}" if self.residual else text
        return f"{text}: a row waits for no watermark of the table"


def as_known(stage: AsOfJoin, table: Scan) -> AsKnownJoin:
    """The join with a table as it was known, of one that asks for the arrival of its rows."""
    asked = (stage.kind, stage.key, stage.equal, stage.residual)
    return AsKnownJoin(stage.columns, stage.left, table, *asked, stage.renames, stage.time, origin=stage.origin)


def looked_up_by(root: Stage) -> Iterator[AsKnownJoin]:
    """The joins that look a table up as it was known, those first whose rows others ask with."""
    return asking_among(root, AsKnownJoin)
