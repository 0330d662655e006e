"""Derived topics: the final rows of a view, for the views that read it.

Whoever writes one decides its watermark: the view itself knows up to when its rows are final. The rows of a commit are
stamped with the watermark before it and are all later than that, so that in a derived topic nothing is ever late.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pyarrow as pa

from headwater.log.append import Request, stamp_history
from headwater.log.clock import Clock
from headwater.log.datafile import measured_columns, write_file
from headwater.log.journal import Proposal, microseconds, milliseconds
from headwater.log.topic import TopicLog


def publish(log: TopicLog, rows: pa.Table, before: datetime, after: datetime, source: str) -> bool:
    """Commit rows and the watermark after them, if the topic's watermark still is the one before; tell whether it was.

    The rows are the next ones only if nobody has published since they were chosen.
    """

    def propose(number: int, clock: Clock) -> Proposal | None:
        if clock.watermark != microseconds(before):
            return None
        arrived = max(microseconds(log.now()), clock.present)
        stamped = stamp_history(log.topic, number, Request.of(rows, source, arrived), clock.watermark, 0)
        file = write_file(log.storage, stamped, measured_columns(log.topic)) if rows.num_rows else None
        return Proposal(
            kind="derived",
            clock=replace(clock, arrived=arrived).advance(microseconds(after)),
            note={"rows": rows.num_rows, "sources": [source]},
            actions=[file.as_action(milliseconds(log.now()))] if file else [],
            files=[file.path] if file else [],
        )

    return log.commit(propose) is not None
