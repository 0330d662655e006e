"""The execution of a view: how it is kept up to date, and what it emits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from headwater import model

ExecutionKind = Literal["live", "settle", "maintained", "batch", "inline"]


@dataclass(frozen=True)
class Execution:
    """The way to keep a view up to date, what it emits, and why.

    *live*: by Spark's streaming operators. *settle*: by a batch query per advance of the watermark over a slice of
    event time that reaches `horizon` back. *maintained*: by what has changed, over all of time. *batch*: by the same
    query over the whole log. *inline*: not at all; whoever reads the view takes its stages in. `horizon` is how far
    back an input can matter, None where nothing says so. `settles` says whether a row of the view is ever final.
    """

    kind: ExecutionKind
    why: str
    emit: model.Emit
    emit_why: str
    horizon: timedelta | None
    settles: bool
