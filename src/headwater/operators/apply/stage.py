"""Apply: a Python function on DataFrames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

from headwater.operators.finality import Finality
from headwater.operators.remedy import NOTHING_BOUNDS_IT, Remedy
from headwater.operators.stage import NONE, Stage
from headwater.operators.streaming import Streaming
from headwater.operators.tolerance import Tolerances, widest


@dataclass(frozen=True)
class Apply(Stage):
    """A Python function of DataFrames, one per branch, in the order of its parameters.

    `source` is its text with what it uses of its project. A row is final once the watermark has come to the value of
    its column `time`, and a session one gap later: its `gap` is the longest of them, None if it may be any.
    """

    branches: tuple[Stage, ...]
    module: str
    function: str
    source: str
    time: str
    gap: timedelta | None
    call: Callable[..., Any] = field(compare=False, repr=False)

    does: ClassVar[str] = "runs a Python function on"
    looks_around: ClassVar[bool] = True
    is_opaque: ClassVar[bool] = True
    bound_to_time: ClassVar[str] = "A Python function is given the rows of a stated span of time."

    @property
    def inputs(self) -> tuple[Stage, ...]:
        return self.branches

    @property
    def reach(self) -> timedelta | None:
        return None

    def finality(self, sight: timedelta | None) -> Finality:
        return Finality(waits=sight or NONE, changes=self.gap if self.gap is not None else sight)

    @property
    def admits_by_own_time(self) -> bool:
        return True

    @property
    def remedy(self) -> Remedy | None:
        hint = "State how far back an input can matter with horizon = '…'; '0 seconds' if rows stand alone."
        return Remedy("runs a Python function for ever", NOTHING_BOUNDS_IT, hint)

    @property
    def streaming(self) -> Streaming:
        return super().streaming._replace(obstacle="a Python function of DataFrames is run on slices of the log")

    def pruned(self, needed: set[str]) -> Stage:  # noqa: ARG002
        """The stage as it is: what a function reads of its inputs is its own affair."""
        return self

    @property
    def tolerances(self) -> Tolerances:
        below = [tolerance for branch in self.branches for tolerance in branch.tolerances.values()]
        return {column.name: widest(below) for column in self.columns} if below else {}

    @property
    def line(self) -> str:
        return f"Apply {self.module}.{self.function}"
