"""Assign: the bounds of windows, added to each row once per window that the row is in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import ClassVar, TypeGuard

from headwater import model
from headwater.operators.assign.spelling import spell_window
from headwater.operators.expression import Role
from headwater.operators.finality import Finality
from headwater.operators.stage import NONE, Cut, Identity, Stage, Unary, with_added
from headwater.operators.streaming import Streaming
from headwater.operators.unchanged import Sources, unchanged
from headwater.sql import WINDOW_COLUMNS

MOST_WINDOWS = 1_000_000
"""A row can't be in more windows than this: each of them may be a row of the view."""


@dataclass(frozen=True)
class Assign(Unary):
    """Each row once per window that its column `time`, moved by `shift`, falls in.

    Adds window_start, window_end and window_time. The rows of a windowed view happen at its window_time, so that its
    window_end is moved back to it.
    """

    window: model.Window
    time: str
    shift: timedelta = timedelta()

    keeps_state: ClassVar[bool] = False
    puts_in_windows: ClassVar[bool] = True
    bound_to_time: ClassVar[str] = "A window ends, and lets go of what comes too late for it."

    @property
    def reach(self) -> timedelta | None:
        return None if isinstance(self.window, model.Session) else self.window.size

    @property
    def cut_by(self) -> Iterator[Cut]:
        column = self.input.column(self.time)
        if column is not None and column.role in (Role.EVENT_TIME, Role.ARRIVAL_TIME):
            yield Cut(column.role, self.window)

    def finality(self, sight: timedelta | None) -> Finality:
        return Finality(changes=sight if isinstance(self.window, model.Session) else self.window.size)

    @property
    def streaming(self) -> Streaming:
        """Spark's sessions ask by themselves whether a row has a time."""
        return super().streaming._replace(stays_up=not isinstance(self.window, model.Session), stamped=True)

    def pruned(self, needed: set[str]) -> Stage:
        keys = self.window.keys if isinstance(self.window, model.Session) else ()
        below = self.input.pruned((needed - set(WINDOW_COLUMNS)) | {self.time, *keys})
        return replace(self, input=below, columns=with_added(below, self, WINDOW_COLUMNS))

    @property
    def identity(self) -> tuple[Identity, ...] | None:
        """An event that is in several windows is a row in each."""
        below = self.input.identity
        several = [Identity("", "window_end", "window_end")] if is_overlapping(self.window) else []
        return below and (*below, *several)

    @property
    def line(self) -> str:
        return f"Assign {spell_window(self.window)} over {self.time}"

    def with_panes(self) -> Panes | None:
        if not is_overlapping(self.window) or not is_plain(self.input):
            return None
        return Panes(**{part.name: getattr(self, part.name) for part in fields(self)})


@dataclass(frozen=True)
class Panes(Assign):
    """An Assign whose rows stay one each: with the end of their last window and how many of the last admit them."""


def is_plain(stage: Stage) -> bool:
    """Tells whether rows are as they come from the log, with nothing kept between them and in no window yet."""
    return stage.is_stateless and not is_windowed(stage)


def is_windowed(stage: Stage) -> bool:
    """Tells whether a stage, or one below it, puts rows into windows."""
    return any(below.puts_in_windows for below in stage.walk())


def windows_of(stage: Stage) -> Iterator[model.Window]:
    """The windows that a stage, or one below it, puts rows into."""
    return (below.window for below in stage.walk() if isinstance(below, Assign))


def assigned_below(stage: Unary) -> Assign | None:
    """The stage that has put the rows of another one into windows, if they come from there as they are."""
    below = stage.input
    while below.passes_rows:
        (below,) = below.inputs
    return below if isinstance(below, Assign) else None


def length_of(window: model.Window | None) -> timedelta:
    """The longest time from a row to the end of its window, if nothing comes behind it."""
    if window is None:
        return NONE
    return window.gap if isinstance(window, model.Session) else window.size


def is_overlapping(window: model.Window | None) -> TypeGuard[model.Hop | model.Cumulate]:
    """Tells whether a row can be in several windows of this kind."""
    return isinstance(window, model.Hop | model.Cumulate)


def pane_of(window: model.Hop | model.Cumulate) -> timedelta:
    """The length of a pane: the distance of two ends of windows."""
    return window.slide if isinstance(window, model.Hop) else window.step


def windows_per_row(window: model.Hop | model.Cumulate) -> int:
    """In how many windows a row can be: as many panes are in the longest window."""
    return window.size // pane_of(window)


def ungrouped_sessions(root: Stage, *, grouped: bool = False) -> Iterator[Stage]:
    """The stages that put rows into sessions by which nothing right above them groups."""
    if isinstance(root, Assign) and isinstance(root.window, model.Session) and not grouped:
        yield root
    for below in () if root.begins_anew else root.inputs:
        yield from ungrouped_sessions(below, grouped=root.groups_rows or (root.passes_rows and grouped))


@unchanged.register
def _(stage: Assign, name: str) -> Sources:
    return () if name in WINDOW_COLUMNS else ((stage.input, name),)
