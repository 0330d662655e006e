"""Closings: when windows over `_arrived_at` end, so that a run ticks then and no more often.

A window in the time of arrival closes with the next commit or tick after its end. Where nothing arrives somebody has to
tick; it matters until the last window that has a row in it has closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from headwater import model
from headwater.operators import Role, Stage
from headwater.operators.scan.stage import scans_of
from headwater.plan.planned import Plan, PlannedView

_SECOND, _NONE = timedelta(seconds=1), timedelta()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_MIDNIGHT = timedelta(minutes=15)
"""Local midnights are at whole quarters of an hour."""


@dataclass(frozen=True)
class Closing:
    """Instants at which windows of a view can close: every `step`, moved by `offset`.

    A row can matter to one that is up to `reach` after its arrival.
    """

    step: timedelta
    offset: timedelta
    reach: timedelta

    def due_after(self, passed_at: datetime, arrived_at: datetime) -> datetime | None:
        """The next one behind an instant; None if nothing that has arrived is in a window that closes then.

        >>> minutes = Closing(timedelta(minutes=1), timedelta(), timedelta(minutes=1))
        >>> minutes.due_after(_EPOCH + timedelta(seconds=75), _EPOCH + timedelta(seconds=70)) - _EPOCH
        datetime.timedelta(seconds=120)
        """
        due_at = _EPOCH + self.offset + ((passed_at - _EPOCH - self.offset) // self.step + 1) * self.step
        return due_at if due_at <= arrived_at + self.reach else None


def closings(plan: Plan) -> Mapping[str, tuple[Closing, ...]]:
    """The windows over the arrival in each topic that close, of all views that keep any."""
    by_topic: dict[str, list[Closing]] = {}
    for view in plan.views.values():
        for stage in view.stages if view.view.materialized else ():
            for closing in _closings_of(stage, view):
                for scan in (scan for scan in scans_of(stage) if scan.kind == "stream"):
                    by_topic.setdefault(scan.relation, []).append(closing)
    return {topic: tuple(dict.fromkeys(all_closings)) for topic, all_closings in by_topic.items()}


def _closings_of(stage: Stage, view: PlannedView) -> Iterator[Closing]:
    grace = view.view.grace
    for cut in stage.cut_by:
        if cut.role is Role.ARRIVAL_TIME and cut.window is not None:
            yield _closing(cut.window, grace)
        elif cut.role is Role.ARRIVAL_TIME and stage.groups_rows:
            yield Closing(_SECOND, _NONE, _SECOND + grace)


def _closing(window: model.Window, grace: timedelta) -> Closing:
    match window:
        case model.Tumble(size, offset):
            return Closing(size, offset + grace, size + grace)
        case model.Hop(size, slide, offset):
            return Closing(slide, offset + grace, size + grace)
        case model.Cumulate(size, step, offset):
            return Closing(step, offset + grace, size + grace)
        case model.Calendar():
            return Closing(_LOCAL_MIDNIGHT, window.offset + grace, window.size + grace)
        case model.Session(gap):  # each ends two gaps after its last row, whenever that came
            step = max(_SECOND, gap / 10)
            return Closing(step, _NONE, 2 * gap + grace + step)
