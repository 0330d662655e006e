"""The way back in time at which inputs of a view can matter, and when its rows happen.

Reaches of stages that follow each other add up; their sum is the view's horizon (see `operators.stage`).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from headwater.operators import Field, Role, Stage
from headwater.operators.join.stage import is_joined
from headwater.operators.stage import NONE, times_among_keys

_HAPPENING = (Role.WINDOW_TIME, Role.WINDOW_END, Role.EVENT_TIME)


def is_by_time_behind_a_join(stage: Stage) -> bool:
    """Tells whether a stage groups the rows of a join by the instant of one of their sides, and not by a window."""
    times = times_among_keys(stage)
    return bool(times) and any(map(is_joined, stage.inputs)) and not any(field.is_window_bound for field in times)


def time_of(root: Stage) -> Field | None:
    """The column that says when a row of a view happens, for those that read the view; None if rows may lack one."""
    known = [field for field in root.visible if not field.nullable]
    return next((field for role in _HAPPENING for field in known if field.role is role), None)


def unbounded(root: Stage) -> Iterator[Stage]:
    """The stages that nothing in the query bounds; sessions are bounded, by their gap."""
    for stage in root.walk():
        if stage.reach is None and stage.keeps_state:
            yield stage


def horizon(root: Stage, stated: timedelta | None = None) -> timedelta | None:
    """The sum of the reaches on the longest way down; where one isn't known it is the `stated` one, None without.

    Endless groups of endless groups are made of what is retained already.
    """
    if root.begins_anew:
        return NONE
    own = root.reach
    if own is None:
        retained = root.is_endless and any(below.is_endless for below in root.walk() if below is not root)
        own = NONE if retained else stated
    below = [horizon(stage, stated) for stage in root.inputs]
    known = [span for span in below if span is not None]
    if own is None or len(known) != len(below):
        return None
    return own + max(known, default=NONE)


def known_reach(root: Stage) -> timedelta:
    """The horizon as far as it is known: what a stated one must not be shorter than."""
    if root.begins_anew:
        return NONE
    return root.least_reach + max((known_reach(stage) for stage in root.inputs), default=NONE)
