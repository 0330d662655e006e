"""Equal times: a caution where the rows of a stream turn each other away.

A row is late if its end is not after the watermark that it meets. Where its end is its own time, and the watermark is
the newest event time itself, every row but the first of one time is late. A millisecond of delay, or of grace, is
enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from headwater import model
from headwater.findings import EqualTimesLate
from headwater.operators import Scan, Stage
from headwater.operators.assign.stage import is_plain
from headwater.operators.scan.stage import scans_of
from headwater.plan.context import Context


def judge_equal_times(context: Context, root: Stage, topics: Mapping[str, model.Topic]) -> None:
    """Caution where rows of one time turn each other away."""
    if not context.view.materialized or context.view.grace or context.view.is_forever:
        return
    strict = {name for name, topic in topics.items() if topic.time and topic.watermark == model.Bounded(timedelta())}
    gates = {scan.relation: (gate, scan) for gate, scan in _gates(root) if scan.relation in strict}
    for name, (gate, scan) in gates.items():
        context.findings.append(
            EqualTimesLate(
                f'view "{context.view.name}" {gate.does} stream "{name}", whose rows of equal times are late',
                detail="The stream's watermark is its newest event time, and a row whose time is not after the "
                "watermark is late: of the rows of one time the first alone is used.",
                hint=f"Write WATERMARK FOR {scan.time} AS {scan.time} - INTERVAL '0.001' SECOND, or give the view "
                "grace = '1 millisecond'.",
                origin=gate.origin or context.view.origin,
                view=context.view.name,
                topic=name,
            )
        )


def _gates(root: Stage) -> Iterator[tuple[Stage, Scan]]:
    """The stages that admit rows of a stream by their own time."""
    for gate in root.walk():
        if not gate.admits_by_own_time:
            continue
        for below in gate.inputs:
            if is_plain(below) and not any(stage.begins_anew for stage in below.walk()):
                yield from ((gate, scan) for scan in scans_of(below) if scan.kind == "stream")
