"""Sums: groups of a view over all of time that a step adds its new rows to, and takes off what is no more.

What is in a group may be rows of several topics that were joined, and what tells groups apart a value that is in no
log. To find all rows of a group would take as long as the group is large, if it can be done; to find the rows that have
changed *below* the groups, as they were and as they are, takes what they are. Where everything in a group adds up that
is enough: counts, sums and exact averages.
"""

from __future__ import annotations

from headwater.operators import Aggregate, Stage
from headwater.operators.aggregate.totals import by_sums
from headwater.plan.physical.trace import Found, Trace, found_by


def sums_of(root: Stage, found: Found) -> tuple[Aggregate, Trace] | None:
    """The aggregate whose sums are kept, and the trace to its rows; None if groups are computed of all their rows.

    That is cheaper only if they can be `found` by what leads to the rows that have changed anyway.
    """
    stage = root
    while not stage.keeps_state and len(stage.inputs) == 1:
        (stage,) = stage.inputs
    aggregate = by_sums(stage)
    below = found_by(aggregate.input).trace if aggregate is not None else None
    if aggregate is None or below is None:
        return None
    if found.trace is not None and set(found.trace.indexes) <= set(below.indexes):
        return None
    return aggregate, below
