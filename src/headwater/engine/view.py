"""What an execution needs to know of a planned view: its columns, and how it keeps pace with time.

A view runs by event time: a row's stamp is the watermark before it. Where its windows are over `_arrived_at` it runs by
arrival, which never goes back in a log: a row's stamp is its own arrival, and nothing is ever late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import pyarrow as pa

from headwater.engine.join import lag_of
from headwater.errors import NotSupportedYet
from headwater.log import TopicLog
from headwater.log.read import arrived_at, watermark_at
from headwater.model import Session, schema_of
from headwater.plan import PlannedView
from headwater.plan.stages import STATELESS, Aggregate, Assign, Join, Role, Stage

Logs = Mapping[str, TopicLog]


@dataclass(frozen=True)
class Pace:
    """Which column of the log is the stamp, how far Spark's watermark stays behind it, and when rows are final.

    A row whose window ends at E is final once E + `settles` ≤ the watermark. That is `delay`, and behind a join in the
    same query as long again as its rows lag behind the watermark.
    """

    stamp: Literal["_watermark", "_arrived_at"]
    delay: timedelta
    settles: timedelta

    def reached(self, logs: Logs, upto: Mapping[str, int]) -> datetime:
        """What the view is final up to, but for its own delay: the least that its topics have reached."""
        clock = watermark_at if self.stamp == "_watermark" else arrived_at
        return min(clock(logs[topic], commit) for topic, commit in upto.items())


def pace_of(planned: PlannedView) -> Pace:
    """How a view keeps pace.

    A session stays open one gap longer than its grace, so that no admitted row can touch a session that has closed.
    What gathers the rows of a join, to aggregate, rank or join them, waits for as long as they lag behind.
    """
    windows = [stage.window for stage in planned.stages if isinstance(stage, Aggregate)]
    gaps = [window.gap for window in windows if isinstance(window, Session)]
    delay = planned.view.grace + max(gaps, default=timedelta())
    gathered = [below for stage in planned.stages if not isinstance(stage, STATELESS) for below in stage.inputs]
    return Pace(_stamp(planned), delay, delay + max((_behind(below) for below in gathered), default=timedelta()))


def _behind(stage: Stage) -> timedelta:
    """How far the rows of a stage lag behind the watermark."""
    own = lag_of(stage.bound) if isinstance(stage, Join) else timedelta()
    return own + max((_behind(below) for below in stage.inputs), default=timedelta())


def _stamp(planned: PlannedView) -> Literal["_watermark", "_arrived_at"]:
    roles = {role for stage in planned.stages for role in _times(stage)}
    if Role.ARRIVAL_TIME not in roles:
        return "_watermark"
    if len(roles) > 1 or any(isinstance(stage, Join) for stage in planned.stages):
        raise NotSupportedYet(
            f'view "{planned.name}" can\'t be executed in this version',
            detail="It has both event time and arrival time in its windows and bounds.",
            hint="Make a view of its own for each.",
            origin=planned.view.origin,
        )
    return "_arrived_at"


def _times(stage: Stage) -> Iterator[Role]:
    """The kinds of time that a stage cuts rows by; the bounds of windows go back to those of the windows."""
    match stage:
        case Assign():
            names = [stage.time]
        case Aggregate():
            names = [name for key in stage.keys if key.expression.is_column for name in key.expression.reads]
        case _:
            return
    for name in names:
        field = stage.input.column(name)
        if field is not None and field.role in (Role.EVENT_TIME, Role.ARRIVAL_TIME):
            yield field.role


def output_schema(planned: PlannedView) -> pa.Schema:
    """The view's columns as Arrow."""
    return schema_of(planned.columns)
