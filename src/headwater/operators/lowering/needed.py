"""Needed: the groups that a step asks for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.operators import Stage
from headwater.operators.lowering.stamp import MARK

AFTER, UPTO = "__after", "__upto"
"""The instants between which the groups end that are asked for, where they are given as columns of panes."""


@dataclass(frozen=True)
class Needed:
    """The groups of a stage that are asked for: those that end after an instant, and up to another.

    What another stage may look at is not known. Where the panes of a view are `panes` they are not made from the rows
    of the log.
    """

    stage: Stage | None = None
    after: datetime | None = None
    until: datetime | None = None
    panes: DataFrame | None = None

    def of(self, stage: Stage) -> Needed:
        """The need of a stage."""
        return self if stage is self.stage else Needed()

    def cut(self, rows: DataFrame) -> DataFrame:
        """The rows of the groups that are asked for."""
        rows = rows if self.after is None else rows.where(F.col(MARK) > F.lit(self.after))
        return rows if self.until is None else rows.where(F.col(MARK) <= F.lit(self.until))
