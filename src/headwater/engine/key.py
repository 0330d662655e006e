"""Keys that authors declare: a store keeps one row of each, so that a view that has two must not go on.

A key that follows from what a view groups by, or from what is unique, tells its rows apart. One that is declared does
so if its author is right. What a step writes is looked at before it is written, and so is what batch gives.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headwater.engine.difference import texts_of
from headwater.errors import FunctionFailed, ViewFailed
from headwater.plan import PlannedView


def check_key(planned: PlannedView, rows: pa.Table) -> None:
    """Refuse rows that a declared key doesn't tell apart: in a store one would replace the other."""
    if not planned.physical.checks_key:
        return
    keys = rows.select(list(planned.key.columns))
    texts = texts_of(keys)
    if pc.count_distinct(texts).as_py() == keys.num_rows:
        return
    counted = texts.value_counts()
    least = pc.min(counted.field("values").filter(pc.greater(counted.field("counts"), 1)))
    alike = pc.indices_nonzero(pc.equal(texts, least))
    first = keys.slice(alike[0].as_py(), 1).to_pylist()[0]
    told = ", ".join(f"{name} = {value!r}" for name, value in first.items())
    is_function = planned.root.is_opaque
    raise (FunctionFailed if is_function else ViewFailed)(
        f'view "{planned.name}" has {len(alike)} rows of one key',
        detail=f"They have {told}, and a store keeps one row of a key. Nothing of them was written.",
        hint="Let the function return one row for each, or name more columns in key."
        if is_function
        else "Name more columns in key, or leave it out.",
        origin=planned.view.origin,
        view=planned.name,
    )
