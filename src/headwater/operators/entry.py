"""Entry: the events of `unique` streams, each of which is taken once where it enters the first operator with state."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from headwater.model import Session
from headwater.operators.assign.stage import windows_of
from headwater.operators.kept import Kept, after
from headwater.operators.scan.stage import scans_of
from headwater.operators.stage import Stage


def taken_once(stage: Stage, grace: timedelta) -> Iterator[Kept]:
    """The state by which the events of a stage are taken once; in windows, once for each."""
    entered = any(below.groups_rows or below.joins_rows for below in stage.walk())
    if entered or not any(scan.unique for scan in scans_of(stage)):
        return
    windows = list(windows_of(stage))
    if windows and not isinstance(windows[0], Session):
        what = "the id, the event time and the window of each row"
        yield Kept("duplicates", what, after("the end of that window", grace))
        return
    gap = max((window.gap for window in windows if isinstance(window, Session)), default=timedelta())
    yield Kept("duplicates", "the id and the event time of each row", after("that time", grace + gap))
