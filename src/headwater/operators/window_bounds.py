"""The bounds of windows, as columns of a stage: what reads them, and what passes them on unchanged."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.operators.expression import Expression
from headwater.operators.stage import Stage


def reads_bounds(expressions: Iterable[Expression], below: Stage) -> bool:
    """Tells whether one of the expressions reads a bound of a window."""
    read = (below.column(name) for expression in expressions for name in expression.reads)
    return any(column is not None and column.is_window_bound for column in read)


def passes_bounds(expressions: Iterable[Expression], below: Stage) -> bool:
    """Tells whether the bounds of windows are at most passed on, unchanged."""
    return not reads_bounds([expression for expression in expressions if not expression.is_column], below)
