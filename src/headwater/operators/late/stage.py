"""Late: the rows that came too late for another view."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar

from headwater import model
from headwater.operators.expression import Role
from headwater.operators.stage import Stage, Unary, only, with_role
from headwater.operators.streaming import Streaming


@dataclass(frozen=True)
class Late(Unary):
    """The rows of the input that came too late: for the windows that it assigns, or for their own column `time`.

    `grace` is how long the view that turned them away waits behind that. They happen when they came: `_watermark` is
    their event time. A row that was late for several windows is there once for each. A row is late by itself.
    """

    grace: timedelta
    time: str | None = None

    keeps_state: ClassVar[bool] = False
    begins_anew: ClassVar[bool] = True
    bound_to_time: ClassVar[str] = "It reads the rows that were late for another view."

    @property
    def streaming(self) -> Streaming:
        return super().streaming._replace(stamped=True)

    def pruned(self, needed: set[str]) -> Stage:
        own = {column.name for column in with_role(self, Role.EVENT_TIME)}
        below = self.input.pruned((needed - own) | ({self.time} if self.time else set()))
        names = own | {column.name for column in below.columns}
        return replace(self, input=below, columns=only(self.columns, names))

    @property
    def line(self) -> str:
        grace = f" and a grace of {model.spell_duration(self.grace)}" if self.grace else ""
        return f"Late for {self.time or 'the window'}{grace}"
