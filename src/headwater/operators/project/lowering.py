"""Project, lowered: the columns, and what travels beside them."""

from __future__ import annotations

from headwater.operators import Project
from headwater.operators.lowering.columns import carried, named_column
from headwater.operators.lowering.ledger import Rows
from headwater.operators.lowering.walk import Lowering, lowered


@lowered.register
def _(stage: Project, lowering: Lowering) -> Rows:
    rows = lowering.lower(stage.input)
    return rows.then(rows.frame.select(*map(named_column, stage.expressions), *carried(rows.frame)))
