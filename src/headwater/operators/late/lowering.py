"""Late, lowered: what another view doesn't admit."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import functions as F

from headwater.operators import Assign, Late, Role
from headwater.operators.assign.lowering import assigned
from headwater.operators.assign.lowering.window import has_one
from headwater.operators.lowering.ledger import Rows
from headwater.operators.lowering.stamp import BEHIND, COMMIT, NEW, ROW, STAMP, TIME
from headwater.operators.lowering.walk import Lowering, lowered
from headwater.operators.stage import with_role


@lowered.register
def _(stage: Late, lowering: Lowering) -> Rows:
    """The rows that another view doesn't admit, by its own grace; they happen when they came."""
    below = stage.input
    apart = replace(lowering, grace=stage.grace, tally=None, turned_away=True)
    if isinstance(below, Assign):
        rows = lowering.lower(below.input)
        late = assigned(Rows(rows.frame), below, apart).frame
    else:
        rows = lowering.lower(below)
        late = apart.admit(Rows(rows.frame), below, F.col(f"`{stage.time}`")).frame
    came_at = {column.name: F.col(STAMP) for column in with_role(stage, Role.EVENT_TIME)}
    shown = [came_at.get(column.name, F.col(f"`{column.name}`")).alias(column.name) for column in stage.columns]
    carried = [F.col(name) for name in (STAMP, COMMIT, ROW, TIME, NEW, BEHIND) if name in late.columns]
    once = not isinstance(below, Assign) or has_one(below.window)
    return lowering.count(rows.then(late.select(*shown, *carried)), "filtered" if once else "expanded", by_filter=once)
