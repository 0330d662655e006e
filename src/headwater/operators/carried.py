"""Carrying: a column of the rows below a stage is kept up to it, hidden, so that a store can tell its rows apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch

from headwater.operators.stage import SameRows, Stage

Shown = Callable[[Stage], str | None]
"""Tells what the rows of a stage call the column; None if they don't show it."""


@singledispatch
def carried(stage: Stage, name: str, shown: Shown) -> Stage | None:  # noqa: ARG001
    """The stage with one column more at its end, under a name made of `name`; None if it can't be passed on."""
    return None


@carried.register
def _(stage: SameRows, name: str, shown: Shown) -> Stage | None:
    same = carried(stage.input, name, shown)
    return None if same is None else replace(stage, input=same, columns=(*stage.columns, same.columns[-1]))
