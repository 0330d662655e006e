"""Union: the rows of several inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from headwater.operators.stage import Stage
from headwater.operators.streaming import Streaming
from headwater.operators.tolerance import Tolerance, Tolerances, widest
from headwater.operators.unchanged import Sources, unchanged


@dataclass(frozen=True)
class Union(Stage):
    """The rows of all branches; columns correspond by position and are named as in the first."""

    branches: tuple[Stage, ...]

    keeps_state: ClassVar[bool] = False

    @property
    def inputs(self) -> tuple[Stage, ...]:
        return self.branches

    @property
    def streaming(self) -> Streaming:
        stateful = any(stage.keeps_state and not stage.is_by_identity for stage in self.walk())
        return super().streaming._replace(obstacle="a union reads rows of stateful operators" if stateful else None)

    def pruned(self, needed: set[str]) -> Stage:
        numbers = [number for number, column in enumerate(self.columns) if column.name in needed]
        branches = tuple(branch.pruned({branch.columns[number].name for number in numbers}) for branch in self.branches)
        return replace(self, branches=branches, columns=tuple(self.columns[number] for number in numbers))

    @property
    def tolerances(self) -> Tolerances:
        wide: dict[str, Tolerance] = {}
        for branch in self.branches:
            below = branch.tolerances
            for column, own in zip(self.columns, branch.columns, strict=True):
                if own.name in below:
                    known = [wide[column.name]] if column.name in wide else []
                    wide[column.name] = widest([below[own.name], *known])
        return wide

    @property
    def line(self) -> str:
        return f"Union {', '.join(column.name for column in self.columns)}"


@unchanged.register
def _(stage: Union, name: str) -> Sources:
    number = [column.name for column in stage.columns].index(name)
    return tuple((branch, branch.columns[number].name) for branch in stage.branches)
