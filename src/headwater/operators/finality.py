"""Finality: how long an operator keeps its rows back, and for how long they can still change.

`sight` is how far away a row is seen where nothing in the query says so: as the view states it with its horizon.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

_NONE = timedelta()


class Finality(NamedTuple):
    """The times of one operator, each on its own; those of the operators of a view add up.

    Its rows lag `lag` behind the watermark. One of them is final at most `waits` after the time of its inputs or the
    end of their window, comes out of its window or its frame at most `held_back` after its own time, and `changes` for
    so long after it by rows that are in time; None if nothing says so. What it keeps `stays_open` beyond the grace of
    the view.
    """

    lag: timedelta = _NONE
    waits: timedelta = _NONE
    held_back: timedelta = _NONE
    changes: timedelta | None = _NONE
    stays_open: timedelta = _NONE
