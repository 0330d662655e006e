"""The physical plan of one view."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headwater.operators import Stage
from headwater.operators.kept import Kept
from headwater.plan.physical.end import End
from headwater.plan.physical.execution import Execution
from headwater.plan.physical.operators import Operator
from headwater.plan.physical.pace import Pace
from headwater.plan.physical.published import Published
from headwater.plan.physical.step import Step
from headwater.plan.physical.tracking import Tracking


@dataclass(frozen=True)
class Physical:
    """A view as it is carried out.

    Its `operators` are those of its stages, inputs first. A live view has its `streaming`, a settled one its `step`;
    `keeps` is what either keeps beside its rows.

    A row becomes final at most `waits` after the time of its inputs, or the end of their window, and these lie at most
    `reach` before that. `end` is None where no column tells it; `publishes` where no derived topic could follow.

    `first_copies`: the view shows events of streams that say what is unique, the first copy of each in the log.
    `written_once`: no row of it is ever written again. `admitted_once`: it is one door by which rows are in time or
    late. `checks_key`: its author says what its key is, so that nothing but looking tells whether it tells rows apart.
    """

    execution: Execution
    operators: tuple[Operator, ...]
    streaming: Tracking | None
    step: Step | None
    keeps: tuple[Kept, ...]
    pace: Pace
    waits: timedelta
    reach: timedelta
    end: End | None
    publishes: Published | None
    first_copies: bool
    written_once: bool
    admitted_once: bool
    checks_key: bool

    def panes_of(self, stage: Stage) -> Stage | None:
        """The stage over panes by which a stage is carried out; None if it is done in another way."""
        return next((operator.panes for operator in self.operators if operator.stage is stage), None)
