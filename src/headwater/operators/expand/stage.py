"""Expand: one row per element (explode and its kin)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from headwater.operators.expression import Expression
from headwater.operators.stage import Stage, Unary, with_added
from headwater.operators.tolerance import Tolerances, widest_read


@dataclass(frozen=True)
class Expand(Unary):
    """One row per element that `generator` gives for a row; `outer` keeps rows for which it gives none."""

    generator: Expression
    outputs: tuple[str, ...]
    outer: bool = False

    keeps_state: ClassVar[bool] = False
    passes_rows: ClassVar[bool] = True

    def pruned(self, needed: set[str]) -> Stage:
        below = self.input.pruned((needed - set(self.outputs)) | set(self.generator.reads))
        return replace(self, input=below, columns=with_added(below, self, self.outputs))

    @property
    def tolerances(self) -> Tolerances:
        below = self.input.tolerances
        generated = widest_read(self.generator, below)
        return {**below, **(dict.fromkeys(self.outputs, generated) if generated else {})}

    @property
    def line(self) -> str:
        return f"Expand {'outer ' if self.outer else ''}{self.generator} AS {', '.join(self.outputs)}"
