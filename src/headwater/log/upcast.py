"""Upcasts at work: rows of earlier versions as rows of today's.

Versions follow each other, and so do their upcasts: rows of version 1 go through that from 1, then through that from 2,
until they are of the topic's version. An upcast is called with tables of any number of rows, which must not be seen in
what it returns: the first of them that an object is called with is a *sample* as well, some rows of which are given to
the function once more, alone and in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headwater.errors import UpcastFailed
from headwater.log.shape import fit
from headwater.model import Column, Topic, Upcast, spell_type

SAMPLE = 8
_LONGEST_SHOWN = 300


class Upcasts:
    """The upcasts of a topic from one version on; the last of them gives `columns`, by default those of the topic."""

    def __init__(self, topic: Topic, version: int, columns: Sequence[Column] | None = None) -> None:
        known = {upcast.from_version: upcast for upcast in topic.upcasts}
        self.steps = [known[number] for number in range(version, topic.version)]
        last = topic.columns if columns is None else columns
        self._columns = [*(step.columns for step in self.steps[1:]), tuple(last)]
        self._sampled = False

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the version that rows come in."""
        return self.steps[0].columns

    def __call__(self, rows: pa.Table) -> pa.Table:
        """The rows in today's version, one for each; `UpcastFailed` names the upcast and the first row it fails on."""
        if not rows.num_rows:
            return fit(pa.table({}), self._columns[-1]) if self.steps else rows
        current = self._through(rows)
        if not self._sampled:
            self._sample(rows, current)
            self._sampled = True
        return current

    def _through(self, rows: pa.Table) -> pa.Table:
        for step, columns in zip(self.steps, self._columns, strict=True):
            rows = _applied(step, rows, columns)
        return rows

    def _sample(self, rows: pa.Table, current: pa.Table) -> None:
        chosen = pa.array(sorted({at * rows.num_rows // SAMPLE for at in range(SAMPLE)}, reverse=True))
        again, before = self._through(rows.take(chosen)), current.take(chosen)
        for at in range(len(chosen)):
            first, second = (shown_row(table, at) for table in (before, again))
            if first != second:
                raise _failed(
                    self.steps[0],
                    "is not deterministic",
                    f"It gave {first} and then {second} for {shown_row(rows.take(chosen), at)}",
                    "Let each row follow from its own row alone: not from chance, the clock, or the rows around it.",
                )


def _applied(step: Upcast, rows: pa.Table, columns: Sequence[Column]) -> pa.Table:
    try:
        returned: Any = step.body.function(rows)
    except Exception as cause:
        raise _raised(step, rows, cause) from cause
    if not isinstance(returned, pa.Table):
        raise _failed(step, f"returned a {type(returned).__name__}", None, "Return a pyarrow.Table.")
    if returned.num_rows != rows.num_rows:
        what = f"returned {returned.num_rows} rows for {rows.num_rows}"
        raise _failed(step, what, None, "Return one row for each, in their order.")
    try:
        return fit(returned, columns)
    except pa.ArrowException as cause:
        kinds = ", ".join(f"{column.name} {spell_type(column.type)}" for column in columns)
        hint = f"Return the columns of version {step.from_version + 1}: {kinds}."
        raise _failed(
            step, "returned what doesn't fit", f"{cause}. The first row was {shown_row(rows, 0)}", hint
        ) from cause


def _raised(step: Upcast, rows: pa.Table, cause: Exception) -> UpcastFailed:
    low, high = 0, rows.num_rows
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _raises(step, rows.slice(low, middle - low)) else (middle, high)
    told = f"for {shown_row(rows, low)}" if _raises(step, rows.slice(low, 1)) else f"for {rows.num_rows} rows together"
    what = f"raised {type(cause).__name__}: {' '.join(str(cause).split()) or '(no message)'}"
    return _failed(step, what, f"It was raised {told}", "Let the function take such a row.")


def _raises(step: Upcast, rows: pa.Table) -> bool:
    try:
        step.body.function(rows)
    except Exception:
        return True
    return False


def _failed(step: Upcast, what: str, detail: str | None, hint: str) -> UpcastFailed:
    return UpcastFailed(
        f'the upcast of "{step.topic}" from version {step.from_version} {what}',
        detail=None if detail is None else f"{detail}.",
        hint=hint,
        origin=step.origin,
        topic=step.topic,
        version=step.from_version,
    )


def shown_row(rows: pa.Table, at: int) -> str:
    """A row for people, shortened if it is long."""
    shown = repr(rows.slice(at, 1).to_pylist()[0])
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"
