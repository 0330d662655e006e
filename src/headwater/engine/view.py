"""The rest of what an execution needs to know of a planned view: how far its topics have come, and its columns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import pyarrow as pa

from headwater.log import TopicLog
from headwater.log.cut import cut_by_name
from headwater.log.read import passed_at, watermark_at
from headwater.model import schema_of
from headwater.plan import PlannedView

Logs = Mapping[str, TopicLog]
_MARGIN = timedelta(seconds=1)


def reached_by(planned: PlannedView, logs: Logs, upto: Mapping[str, int]) -> datetime:
    """The end of what is final of a view, but for its own delay: the least that the topics of its rows have reached."""
    clock = watermark_at if planned.physical.pace.stamp == "_watermark" else passed_at
    return min(clock(logs[topic], upto[topic]) for topic in {scan.relation for scan in planned.scans} & upto.keys())


def heads_of(planned: PlannedView, logs: Logs) -> dict[str, int]:
    """The commits up to which a view can be, as of now: a cut of its topics, if it takes steps of all at once."""
    return cut_by_name(logs) if planned.is_settled else {name: max(log.head, 0) for name, log in logs.items()}


def span_of(planned: PlannedView, row: Mapping[str, object]) -> tuple[datetime, datetime] | None:
    """When the events behind a row have happened, as far as its values tell; None if at any time."""
    times = {column.name for column in planned.root.columns if column.role is not None}
    at = next((value for name, value in row.items() if name in times and isinstance(value, datetime)), None)
    if at is None or planned.horizon is None or not planned.execution.settles:
        return None
    if any(stage.comes_last for stage in planned.stages):
        return None
    reach = planned.physical.reach + _MARGIN
    return at - reach, at + reach


def output_schema(planned: PlannedView) -> pa.Schema:
    """The view's columns as Arrow."""
    return schema_of(planned.columns)
