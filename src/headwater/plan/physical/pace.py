"""Pace: the column of the log that a view runs by, and when its rows are final.

A view runs by event time: a row's stamp is the watermark before it. Where its windows are over `_arrived_at` it runs by
arrival, which never goes back in a log: a row's stamp is its own arrival, and nothing is ever late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from headwater import model
from headwater.operators import Role, Stage
from headwater.plan.physical.finality import behind


@dataclass(frozen=True)
class Pace:
    """The column that is the stamp, how far Spark's watermark stays behind it, and when rows are final.

    A row whose window ends at E is final once E + `settles` ≤ the watermark. That is `delay`, and behind a join in the
    same query as long again as its rows lag behind the watermark.
    """

    stamp: Literal["_watermark", "_arrived_at"]
    delay: timedelta
    settles: timedelta


def pace_of(view: model.View, root: Stage) -> Pace:
    """The pace of a view.

    What stays open beyond the grace of the view is waited for. What gathers the rows of a join, to aggregate, rank or
    join them, waits for as long as they lag behind. Both kinds of time in one view are refused by `plan.executable`.
    """
    stages = list(root.walk())
    delay = view.grace + max((stage.finality(None).stays_open for stage in stages), default=timedelta())
    gathered = [below for stage in stages if stage.keeps_state for below in stage.inputs]
    settles = delay + max((behind(below) for below in gathered), default=timedelta())
    return Pace("_arrived_at" if Role.ARRIVAL_TIME in times_of(stages) else "_watermark", delay, settles)


def times_of(stages: Sequence[Stage]) -> set[Role]:
    """The kinds of time that stages cut rows by; the bounds of windows go back to those of the windows."""
    return {cut.role for stage in stages for cut in stage.cut_by}
