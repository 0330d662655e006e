"""Executors: what keeps a view up to date by batch queries, as its plan says."""

from __future__ import annotations

from headwater.engine.events import EventsView
from headwater.engine.maintained.groups import GroupsView
from headwater.engine.maintained.sums import SumsView
from headwater.engine.maintained.traced import TracedView
from headwater.engine.partitions import PartitionsView
from headwater.engine.parts import PartsView
from headwater.engine.settle import SettleView
from headwater.plan import PlannedView
from headwater.plan.physical.step import Executor

_EXECUTORS: dict[Executor, type[SettleView]] = {
    "slices": SettleView,
    "parts": PartsView,
    "partitions": PartitionsView,
    "events": EventsView,
    "groups": GroupsView,
    "traces": TracedView,
    "sums": SumsView,
}


def executor_of(planned: PlannedView) -> type[SettleView]:
    """The executor of a view that is settled or maintained."""
    step = planned.physical.step
    assert step is not None, planned.name
    assert planned.horizon is not None or step.executor in ("parts", "groups") or step.looks_back == "everything"
    return _EXECUTORS[step.executor]
