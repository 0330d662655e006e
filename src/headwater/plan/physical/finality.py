"""Finality: for how long the rows of a stage can still change, and how far they stay behind the watermark.

Each operator says it of itself (`operators.finality`); here it is added up over the stages of a view. `sight` is how
far away a row is seen where nothing in the query says so: as the view states it with its horizon.
"""

from __future__ import annotations

from datetime import timedelta

from headwater.operators import Stage

_NONE = timedelta()


def behind(stage: Stage) -> timedelta:
    """The time that the rows of a stage lag behind the watermark."""
    return stage.finality(None).lag + max((behind(below) for below in stage.inputs), default=_NONE)


def waits(stage: Stage, sight: timedelta | None) -> timedelta:
    """The time after that of its inputs, or after the end of their window, by which a row of a stage is final.

    Rows of endless groups never are, but what is retained is in the view's horizon.
    """
    return stage.finality(sight).waits + max((waits(below, sight) for below in stage.inputs), default=_NONE)


def held_back(stage: Stage, sight: timedelta | None) -> timedelta:
    """The time after its own by which a row comes out of the windows and the frames of a stage, at most.

    A row of a window is known when the window ends, one of a frame when what is ahead of it has come.
    """
    return stage.finality(sight).held_back + max((held_back(below, sight) for below in stage.inputs), default=_NONE)


def changes_for(stage: Stage, sight: timedelta | None, *, ends_at_windows: bool = False) -> timedelta | None:
    """The time after its own for which a row of a stage can change by rows that are in time; None if nothing says so.

    Where a row happens when its window ends (`ends_at_windows`), its window adds nothing.
    """
    if stage.begins_anew or (ends_at_windows and stage.puts_in_windows):
        return _NONE
    own = stage.finality(sight).changes
    below = [changes_for(each, sight, ends_at_windows=ends_at_windows) for each in stage.inputs]
    known = [span for span in below if span is not None]
    return None if own is None or len(known) < len(below) else own + max(known, default=_NONE)
