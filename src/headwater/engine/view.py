"""What an execution needs to know of a planned view."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa

from headwater.model import Session, schema_of
from headwater.plan import PlannedView
from headwater.plan.stages import Aggregate


def delay_of(planned: PlannedView) -> timedelta:
    """How long after the end of its window a row of the view is final.

    A session stays open one gap longer than its grace, so that no admitted row can touch a session that has closed.
    """
    windows = [stage.window for stage in planned.stages if isinstance(stage, Aggregate)]
    gaps = [window.gap for window in windows if isinstance(window, Session)]
    return planned.view.grace + max(gaps, default=timedelta())


def output_schema(planned: PlannedView) -> pa.Schema:
    """The view's columns as Arrow."""
    return schema_of(planned.columns)
