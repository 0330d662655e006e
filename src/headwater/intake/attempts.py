"""Attempts: how often a dead letter was decoded, and when last; from a log of the redrives of its topic.

A letter was decoded once when it came, and again by each redrive that looked at it while it was dead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from headwater.intake.redrive import Redriven
from headwater.log import TopicLog
from headwater.log.read import read
from headwater.model import INSTANT, Column, Stream, Topic
from headwater.model.letter import SEEN

_COLUMNS = {"first": pa.int64(), "last": pa.int64(), "error": pa.string(), "rows": pa.int64(), "dead": pa.int64()}


def redrives_topic(topic: Topic) -> Topic:
    """The topic that keeps the redrives of another one: which commits of dead letters, which class, what came of it."""
    columns = tuple(Column(name, kind) for name, kind in _COLUMNS.items())
    return Stream(name=topic.name, columns=columns, comment=f"When dead letters of {topic.name} were decoded again")


def record_redrive(redrives: TopicLog, first: int, last: int, error: str | None, done: Redriven) -> None:
    """Write down a redrive that looked at the letters of these commits, of one class or of all."""
    row = {"first": first, "last": last, "error": error, "rows": done.rows, "dead": done.dead}
    redrives.append(pa.Table.from_pylist([row], pa.schema(list(_COLUMNS.items()))))


def with_attempts(redrives: TopicLog, letters: pa.Table) -> pa.Table:
    """Dead letters with when they were first and last seen, and how often."""
    commits, errors = letters["_commit"].to_numpy(), letters["error"].to_numpy(zero_copy_only=False)
    came_at = letters["_arrived_at"].combine_chunks()
    attempts = np.ones(letters.num_rows, np.int64)
    last = came_at.cast(pa.int64()).to_numpy().copy()
    for redrive in _redrives(redrives):
        looked_at = (commits >= redrive["first"]) & (commits <= redrive["last"])
        if redrive["error"] is not None:
            looked_at &= errors == redrive["error"]
        attempts[looked_at] += 1
        last[looked_at] = redrive["at"]
    columns = (came_at, pa.array(last, pa.int64()).cast(INSTANT), pa.array(attempts))
    for seen, values in zip(SEEN, columns, strict=True):
        letters = letters.append_column(seen, values)
    return letters


def _redrives(log: TopicLog) -> list[dict[str, Any]]:
    """Oldest first; `at` in microseconds."""
    if log.head < 0:
        return []
    redrives = read(log, columns=["first", "last", "error", "_arrived_at"])
    at = redrives["_arrived_at"].cast(pa.int64()).to_pylist()
    return [row | {"at": when} for row, when in zip(redrives.to_pylist(), at, strict=True)]
