"""Early results at a cadence: rows that are not final yet are shown as they were at the last instant of it.

A view that states `every` has an *instant of the cadence* at each multiple of it since 1970, in the time of the
watermark. Where the watermark is between two of them, what is not final is computed from the rows that had come when it
reached the former: the rows whose stamps are before it. So it follows from the log what is shown where, as for
everything else; how often somebody looks doesn't matter.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.operators import Scan
from headwater.operators.lowering.rooms import Lowering
from headwater.operators.lowering.stamp import STAMP
from headwater.plan import PlannedView

_EPOCH = datetime.fromtimestamp(0, UTC)


def shown_at(planned: PlannedView, watermark: datetime) -> datetime | None:
    """The instant as of which open rows are shown at a watermark; None: as they are there.

    It is the greatest instant of the cadence that the watermark has reached.
    """
    every = planned.view.every
    return None if every is None else _EPOCH + (watermark - _EPOCH) // every * every


def as_of(planned: PlannedView, lowering: Lowering, instant: datetime) -> Lowering:
    """The same over the rows that had come when the watermark reached an instant; they are not counted again."""

    def scan(stage: Scan) -> DataFrame:
        return lowering.scan(stage).where(F.col(STAMP) < F.lit(instant))

    settled_at = instant - planned.physical.pace.settles
    return replace(lowering, scan=scan, tally=None, late=[], settled_at=settled_at)
