"""Equal times: a caution where the rows of a stream turn each other away.

A row is late if its end is not after the watermark that it meets. Where its end is its own time, and the watermark is
the newest event time itself, every row but the first of one time is late. A millisecond of delay, or of grace, is
enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from headwater import model
from headwater.errors import EqualTimesLate
from headwater.plan.context import Context
from headwater.plan.stages import (
    STATELESS,
    Aggregate,
    Apply,
    Assign,
    Deduplicate,
    Join,
    Late,
    Over,
    Role,
    Scan,
    Stage,
)

_DOES: dict[type[Stage], str] = {
    Join: "joins",
    Over: "looks at the rows around a row of",
    Aggregate: "groups by the event time of",
    Deduplicate: "removes duplicates of",
    Apply: "runs a Python function on",
}


def judge_equal_times(context: Context, root: Stage, topics: Mapping[str, model.Topic]) -> None:
    """Caution where rows of one time turn each other away."""
    if not context.view.materialized or context.view.grace:
        return
    strict = {name for name, topic in topics.items() if topic.time and topic.watermark == model.Bounded(timedelta())}
    gates = {scan.relation: (gate, scan) for gate, scan in _gates(root) if scan.relation in strict}
    for name, (gate, scan) in gates.items():
        context.findings.append(
            EqualTimesLate(
                f'view "{context.view.name}" {_DOES[type(gate)]} stream "{name}", whose rows of equal times are late',
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
        if not _is_by_own_time(gate):
            continue
        for below in gate.inputs:
            stages = list(below.walk())
            if all(isinstance(stage, STATELESS) and not isinstance(stage, Assign | Late) for stage in stages):
                yield from ((gate, stage) for stage in stages if isinstance(stage, Scan) and stage.kind == "stream")


def _is_by_own_time(stage: Stage) -> bool:
    match stage:
        case Join():
            return stage.bound is not None
        case Over() | Apply():
            return True
        case Aggregate() | Deduplicate():
            keys = [key.expression for key in stage.keys] if isinstance(stage, Aggregate) else stage.keys
            times = [stage.input.column(key.reads[0]) for key in keys if key.is_column]
            return any(field is not None and field.role is Role.EVENT_TIME for field in times)
    return False
