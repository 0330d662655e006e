"""Keys that authors declare: a store keeps one row of each, so that a view that has two must not go on.

A key that follows from what a view groups by, or from what is unique, tells its rows apart. One that is declared does
so if its author is right. What a step writes is looked at before it is written, and so is what batch gives. A row that
is new must not have the key of one that an earlier step has written: a store is told how many are, and says if some of
their keys are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from headwater.engine.difference import texts_of
from headwater.errors import BatchRefused, FunctionFailed, ViewFailed
from headwater.plan import PlannedView


def check_key(planned: PlannedView, rows: pa.Table) -> None:
    """Refuse rows that a declared key doesn't tell apart: in a store one would replace the other."""
    if not planned.physical.checks_key:
        return
    keys = _keys(planned, rows)
    texts = texts_of(keys)
    if pc.count_distinct(texts).as_py() == keys.num_rows:
        return
    counted = texts.value_counts()
    least = pc.min(counted.field("values").filter(pc.greater(counted.field("counts"), 1)))
    alike = pc.indices_nonzero(pc.equal(texts, least))
    raise _of_one_key(planned, len(alike), keys.slice(alike[0].as_py(), 1))


def new_keys(planned: PlannedView, now: pa.Table, before: pa.Table | None = None) -> pa.Table | None:
    """The keys of the rows that a step adds: of what it shows now, those that no row that it changes had before.

    None where they needn't be known, because a key can't but tell rows apart.
    """
    if not planned.physical.checks_key:
        return None
    if before is None:
        return _keys(planned, now)
    rows, known = texts_of(now), texts_of(before)
    changed = _keys(planned, now.filter(pc.invert(pc.is_in(rows, value_set=known))))
    replaced = _keys(planned, before.filter(pc.invert(pc.is_in(known, value_set=rows))))
    return changed.filter(pc.invert(pc.is_in(texts_of(changed), value_set=texts_of(replaced))))


@contextmanager
def naming_taken(planned: PlannedView, new: pa.Table | None, there: Callable[[], pa.Table]) -> Iterator[None]:
    """Tell which key of new rows is taken, where a store refuses a batch for that; `there` are the rows that it has."""
    try:
        yield
    except BatchRefused as refused:
        if new is None:
            raise
        taken = new.filter(pc.is_in(texts_of(new), value_set=texts_of(_keys(planned, there()))))
        if taken.num_rows == 0:
            raise
        raise _of_one_key(planned, 2, taken.slice(0, 1)) from refused


def _keys(planned: PlannedView, rows: pa.Table) -> pa.Table:
    return rows.select(list(planned.key.columns))


def _of_one_key(planned: PlannedView, count: int, key: pa.Table) -> ViewFailed:
    told = ", ".join(f"{name} = {value!r}" for name, value in key.to_pylist()[0].items())
    is_function = planned.root.is_opaque
    return (FunctionFailed if is_function else ViewFailed)(
        f'view "{planned.name}" has {count} rows of one key',
        detail=f"They have {told}, and a store keeps one row of a key. Nothing of them was written.",
        hint="Let the function return one row for each, or name more columns in key."
        if is_function
        else "Name more columns in key, or leave it out.",
        origin=planned.view.origin,
        view=planned.name,
    )
