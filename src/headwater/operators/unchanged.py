"""Unchanged columns: those of a stage whose value in each row is that of a column of an input.

By them a row is found below a stage by what it shows above it.
"""

from __future__ import annotations

from functools import singledispatch

from headwater.operators.stage import SameRows, Stage

Sources = tuple[tuple[Stage, str], ...]


@singledispatch
def unchanged(_stage: Stage, _name: str) -> Sources:
    """The columns that an output column is, with the inputs that they are of: one, or, where rows come from several,
    one of each; none where it is computed.
    """
    return ()


@unchanged.register
def _(stage: SameRows, name: str) -> Sources:
    return ((stage.input, name),) if stage.input.column(name) is not None else ()


@singledispatch
def columns_of_keys(stage: Stage) -> dict[str, str]:
    """The keys of groups or partitions that are columns of the input, by the names that the stage has for them."""
    return {key.reads[0]: key.reads[0] for key in stage.group_keys if key.is_column}
