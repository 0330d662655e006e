"""Executors: what keeps a view up to date by batch queries, as its plan says."""

from __future__ import annotations

from headwater.engine.maintained.groups import GroupsView
from headwater.engine.maintained.traced import TracedView
from headwater.engine.partitions import PartitionsView
from headwater.engine.parts import PartsView
from headwater.engine.settle import SettleView
from headwater.plan import PlannedView


def executor_of(planned: PlannedView) -> type[SettleView]:
    """The executor of a view that is settled or maintained."""
    step = planned.physical.step
    if step is not None and step.trace is not None:
        return TracedView
    if step is not None and step.touched:
        return PartitionsView
    if step is None or step.adds != "parts":
        return SettleView
    return GroupsView if planned.execution.kind == "maintained" else PartsView
