"""Tracking: how the query of a live view follows the stamps of its rows, and where barriers stand in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.operators import Stage
from headwater.operators.scan.stage import scans_of
from headwater.plan.physical.pace import Pace


@dataclass(frozen=True)
class Tracking:
    """The stamps and the watermark of a live view's query.

    `stamped` rows carry their stamps, a `tracked` stream has a watermark that follows them. A *barrier* behind a scan
    keeps Spark from moving filters below it, where ticks and the stamps of filtered rows would be lost.
    """

    stamped: bool
    tracked: bool
    barriers: bool


def tracking_of(root: Stage, pace: Pace) -> Tracking:
    """The tracking of a view that is carried out by Spark's streaming."""
    stages = list(root.walk())
    scans = list(scans_of(root))
    tracked = not root.is_stateless or any(scan.unique for scan in scans)
    stamped = tracked or any(stage.streaming.stamped for stage in stages)
    return Tracking(stamped, tracked, len(scans) > 1 or (tracked and not _stay_up(stages, pace)))


def _stay_up(stages: Sequence[Stage], pace: Pace) -> bool:
    """Tells whether nothing could get below the watermark.

    Admission can't: it reads the stamp. It also keeps tick rows out: they have a time of arrival, and no event time.
    """
    windowed = any(stage.puts_in_windows for stage in stages)  # else rows of equal times are counted
    return windowed and pace.stamp == "_watermark" and all(stage.streaming.stays_up for stage in stages)
