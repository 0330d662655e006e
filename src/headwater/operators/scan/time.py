"""The words of a remedy that puts what a stage reads into windows."""

from __future__ import annotations

from headwater.operators.assign.stage import is_windowed
from headwater.operators.expression import Role
from headwater.operators.scan.stage import scans_of
from headwater.operators.stage import Stage, with_role


def event_time_of(stage: Stage) -> str:
    """The event time that a stage could be bounded by, as it is called where it is declared."""
    scan = next(scans_of(stage), None)
    if scan is None:
        return "at"
    times = with_role(scan, Role.EVENT_TIME)
    return times[0].name if times else scan.time or "at"


def tumble_of(stage: Stage, size: str = "INTERVAL '1' HOUR") -> str:
    """The relation that a stage reads, in windows."""
    scan = next(scans_of(stage), None)
    return f"TUMBLE(TABLE {scan.relation if scan else '…'}, DESCRIPTOR({event_time_of(stage)}), {size})"


def partition_by_window(stage: Stage, partition: list[str]) -> str:
    """The lines to write for partitions that end."""
    keys = ", ".join([*partition, "window_end"])
    if is_windowed(stage):
        return f"Partition by the window: PARTITION BY {keys}."
    return f"Write FROM {tumble_of(stage)} and PARTITION BY {keys}."
