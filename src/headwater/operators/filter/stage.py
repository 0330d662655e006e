"""Filter: rows for which a condition is true."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from headwater.operators.expression import Expression
from headwater.operators.stage import SameRows, Stage
from headwater.operators.window_bounds import reads_bounds


@dataclass(frozen=True)
class Filter(SameRows):
    """Rows of the input for which `condition` is true."""

    condition: Expression

    keeps_state: ClassVar[bool] = False
    passes_rows: ClassVar[bool] = True

    def pruned(self, needed: set[str]) -> Stage:
        below = self.input.pruned(needed | set(self.condition.reads))
        return replace(self, input=below, columns=below.columns)

    @property
    def additive(self) -> frozenset[str]:
        return self.input.additive

    @property
    def line(self) -> str:
        return f"Filter {self.condition}"

    def with_panes(self) -> Self | None:
        below = None if reads_bounds([self.condition], self.input) else self.input.with_panes()
        return replace(self, input=below) if below is not None else None
