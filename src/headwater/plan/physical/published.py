"""Publication: how the derived topic of a view follows it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta

import pyarrow as pa

from headwater.model import Session, Window
from headwater.operators import Field, Role, Stage
from headwater.plan.physical.finality import changes_for
from headwater.plan.physical.pace import Pace
from headwater.plan.state import time_of

_NONE, _MILLISECOND = timedelta(), timedelta(milliseconds=1)


@dataclass(frozen=True)
class Published:
    """The derived topic of a view, following it.

    At a watermark W of the view that of the topic is W − `lag`: every row that comes to the topic later happens later.
    The rows that happen up to `reach` after the topic's watermark have been published, `by` time, key and the rest.
    """

    lag: timedelta
    reach: timedelta
    by: tuple[str, ...]

    def watermark(self, reached: datetime) -> datetime:
        """The topic's watermark, in whole milliseconds, when the view has reached one."""
        exact = reached - self.lag
        return exact.replace(microsecond=exact.microsecond // 1000 * 1000)


def published(root: Stage, key: tuple[str, ...], pace: Pace, sight: timedelta | None) -> Published | None:
    """The derived topic of a view, following it; None if its rows don't say when they happened, or for how long they
    change.

    A row of a window happens when the window ends: windows of whole milliseconds that are not final at a watermark end
    at least a millisecond after it. Any other row happens before the end of a window that it was in.
    """
    time = time_of(root)
    if time is None or time.role is None:
        return None
    changes = changes_for(root, sight, ends_at_windows=time.role.bounds_window)
    if changes is None:
        return None
    lag, by = pace.settles + changes, _order(root, time, key)
    if not time.role.bounds_window:
        return Published(lag + _MILLISECOND, _NONE, by)
    reach = _NONE if time.role is Role.WINDOW_END else -_MILLISECOND
    if _is_whole(time.window):
        return Published(lag, reach, by)
    return Published(lag + _MILLISECOND, reach + _MILLISECOND, by)


def _is_whole(window: Window | None) -> bool:
    """Tells whether a window begins and ends at whole milliseconds."""
    if window is None or isinstance(window, Session):
        return False
    spans = [getattr(window, part.name) for part in fields(window)]
    return not any(span % _MILLISECOND for span in spans if isinstance(span, timedelta))


def _order(root: Stage, time: Field, key: tuple[str, ...]) -> tuple[str, ...]:
    """The columns by which rows are ordered for those that read them: time and key first, then the rest."""
    kinds = {column.name: column.type for column in root.columns if not column.hidden or column.name in key}
    names = dict.fromkeys([time.name, *key, *kinds])
    return tuple(name for name in names if not pa.types.is_nested(kinds[name]))
