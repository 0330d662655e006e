"""What an execution needs to know of a planned view: its columns, and how it keeps pace with time.

A view runs by event time: a row's stamp is the watermark before it. Where its windows are over `_arrived_at` it runs by
arrival, which never goes back in a log: a row's stamp is its own arrival, and nothing is ever late.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Literal

import pyarrow as pa

from headwater.engine.join import lag_of
from headwater.engine.over import ahead
from headwater.errors import NotSupportedYet
from headwater.log import TopicLog
from headwater.log.read import passed_at, watermark_at
from headwater.model import Session, Window, schema_of
from headwater.plan import PlannedView
from headwater.plan.executable import times_of
from headwater.plan.execution import settles
from headwater.plan.stages import STATELESS, Aggregate, Apply, Assign, Join, Late, Over, Role, Stage
from headwater.plan.state import reach

Logs = Mapping[str, TopicLog]
_NONE, _MILLISECOND = timedelta(), timedelta(milliseconds=1)


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
        clock = watermark_at if self.stamp == "_watermark" else passed_at
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


def reach_of(planned: PlannedView) -> timedelta:
    """How far before its instant of becoming final a row's inputs can lie: its horizon, and as long as it waits."""
    return (planned.horizon or timedelta()) + waits_of(planned)


def span_of(planned: PlannedView, row: Mapping[str, object]) -> tuple[datetime, datetime] | None:
    """When the events behind a row have happened, as far as its values tell; None if at any time."""
    times = {found.name for found in planned.root.columns if found.role is not None}
    at = next((value for name, value in row.items() if name in times and isinstance(value, datetime)), None)
    if at is None or planned.horizon is None or not settles(planned.root):
        return None
    reach = reach_of(planned) + timedelta(seconds=1)
    return at - reach, at + reach


def waits_of(planned: PlannedView) -> timedelta:
    """How long after the time of its inputs, or the end of their window, a row of a view can become final."""
    return _waits(planned.root, planned.sight)


def _waits(stage: Stage, sight: timedelta | None) -> timedelta:
    """How long a stage waits. Rows of endless groups are never final, but what is retained is in the view's horizon."""
    below = max((_waits(found, sight) for found in stage.inputs), default=timedelta())
    if isinstance(stage, Over):
        return below + ahead(stage, sight)
    if not isinstance(stage, Join | Apply):
        return below
    own = reach(stage)
    return below + (sight or timedelta() if own is None else own)


def _behind(stage: Stage) -> timedelta:
    """How far the rows of a stage lag behind the watermark."""
    own = lag_of(stage.bound) if isinstance(stage, Join) else timedelta()
    return own + max((_behind(below) for below in stage.inputs), default=timedelta())


def held_back(stage: Stage, sight: timedelta | None) -> timedelta:
    """How long after its own time a row comes out of the windows and the frames of a stage, at most.

    A row of a window is known when the window ends, one of a frame when what is ahead of it has come.
    """
    own = _NONE
    if isinstance(stage, Over):
        own = ahead(stage, sight)
    elif isinstance(stage, Join | Aggregate) and stage.window is not None:
        own = stage.window.gap if isinstance(stage.window, Session) else stage.window.size
    return own + max((held_back(below, sight) for below in stage.inputs), default=_NONE)


def _stamp(planned: PlannedView) -> Literal["_watermark", "_arrived_at"]:
    roles = times_of(planned.stages)
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


@dataclass(frozen=True)
class Published:
    """How the derived topic of a view follows it.

    At a watermark W of the view that of the topic is W − `lag`: every row that comes to the topic later happens later.
    The rows that happen up to `reach` after the topic's watermark have been published.
    """

    lag: timedelta
    reach: timedelta

    def watermark(self, reached: datetime) -> datetime:
        """The topic's watermark, in whole milliseconds, when the view has reached one."""
        found = reached - self.lag
        return found.replace(microsecond=found.microsecond // 1000 * 1000)


def published(planned: PlannedView) -> Published:
    """How the derived topic of a view follows it.

    A row of a window happens when the window ends: windows of whole milliseconds that are not final at a watermark end
    at least a millisecond after it. Any other row happens before the end of a window that it was in.
    """
    time = planned.time
    assert time is not None and time.role is not None
    lag = pace_of(planned).settles + _lag(planned.root, planned.sight, time.role.bounds_window)
    if not time.role.bounds_window:
        return Published(lag + _MILLISECOND, _NONE)
    until = Published(lag, _NONE if time.role is Role.WINDOW_END else -_MILLISECOND)
    return until if _is_whole(time.window) else Published(until.lag + _MILLISECOND, until.reach + _MILLISECOND)


def latest_final(planned: PlannedView) -> timedelta:
    """How long after its own time a row can still change by rows that are in time."""
    return _lag(planned.root, planned.sight, False)


def _is_whole(window: Window | None) -> bool:
    """Whether a window begins and ends at whole milliseconds."""
    if window is None or isinstance(window, Session):
        return False
    spans = [getattr(window, part.name) for part in fields(window)]
    return not any(span % _MILLISECOND for span in spans if isinstance(span, timedelta))


def published_order(planned: PlannedView) -> list[str]:
    """The columns by which the rows of a view are ordered for those that read it: time and key first, then the rest."""
    time, kinds = planned.time, {column.name: column.type for column in planned.columns}
    assert time is not None
    names = dict.fromkeys([time.name, *planned.key.columns, *kinds])
    return [name for name in names if not pa.types.is_nested(kinds[name])]


def _lag(stage: Stage, sight: timedelta | None, ends_at_windows: bool) -> timedelta:
    match stage:
        case Late():
            return _NONE
        case Assign():
            if ends_at_windows:
                return _NONE
            own = _longest(stage, sight) if isinstance(stage.window, Session) else stage.window.size
        case Join():
            own = lag_of(stage.bound)
        case Over():
            own = ahead(stage, sight)
        case Apply() if "session" in stage.source.lower():  # final one gap later, which is no longer than the horizon
            own = sight or _NONE
        case _:
            own = _NONE
    return own + max((_lag(below, sight, ends_at_windows) for below in stage.inputs), default=_NONE)


def _longest(stage: Assign, sight: timedelta | None) -> timedelta:
    if sight is None:
        raise NotSupportedYet(
            "the rows of sessions can't be read by another view in this version",
            hint="Show window_end, or state the longest session that counts with horizon = '…'.",
            origin=stage.origin,
        )
    return sight


def output_schema(planned: PlannedView) -> pa.Schema:
    """The view's columns as Arrow."""
    return schema_of(planned.columns)
