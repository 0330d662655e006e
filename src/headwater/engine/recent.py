"""Recent keys: of the rows that a slice looks back on, those of the partitions that have a row in it.

A slice of a second may look back on an hour. What a window function says of the rows in the slice depends on the rows
of their partitions alone, so that the others need neither be sent around nor be sorted. Which partitions those are is
asked of the newest files of the log; where these hold a good part of what is read anyway, it isn't worth the question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.engine.join import MARK
from headwater.engine.stamp import later
from headwater.plan.stages import STATELESS, Assign, Expression, Over, Stage
from headwater.plan.state import ends

_KEY = "__recent"
FEW = 4
"""A slice is recent to a part as small as this before its keys are asked for."""


@dataclass(frozen=True)
class Recent:
    """The rows of a stage that can become final after an instant, by the rows of the log that are not far back."""

    rows: Callable[[Stage], DataFrame]
    after: datetime

    def among(self, frame: DataFrame, stage: Over, ahead: timedelta) -> DataFrame:
        """The rows of the partitions that have one which is not final at the instant."""
        keys = _partition(stage)
        if not keys:
            return frame
        recent = self.rows(stage.input).where(later(F.col(MARK), ahead) > F.lit(self.after))
        names = [f"{_KEY}{number}" for number in range(len(keys))]
        known = recent.select(*(F.expr(key.sql).alias(name) for key, name in zip(keys, names, strict=True))).distinct()
        same = F.lit(True)
        for key, name in zip(keys, names, strict=True):
            same &= F.expr(key.sql).eqNullSafe(F.col(name))
        return frame.join(F.broadcast(known), same, "left_semi")


def _partition(stage: Over) -> tuple[Expression, ...]:
    """The keys that all functions of a stage have in common, if they are of rows that come right from the log."""
    below = list(stage.input.walk())
    if any(not isinstance(found, STATELESS) or isinstance(found, Assign) for found in below):
        return ()
    partitions = {tuple(key.sql for key in call.partition) for call in stage.functions}
    keys = stage.functions[0].partition
    return () if len(partitions) > 1 or ends(keys, stage.input) else keys
