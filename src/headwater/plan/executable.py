"""What no executor of this version can do: found when a project is checked, and not when a view first runs.

Each is understood, and its meaning is fixed; the finding says what to write until it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from headwater import model
from headwater.errors import Finding, NotSupportedYet, Origin
from headwater.plan.planned import PlannedView
from headwater.plan.stages import (
    STATELESS,
    Aggregate,
    Assign,
    Deduplicate,
    Expression,
    Field,
    Join,
    Role,
    Stage,
    TopN,
)

_TIMES = (Role.EVENT_TIME, Role.ARRIVAL_TIME)


def judge_executable(planned: PlannedView, read_at: Mapping[str, Origin | None]) -> Iterator[Finding]:
    """Every reason why a view that is sound otherwise can't be executed; `read_at` is where its query names what."""
    yield from _tables(planned, read_at)
    if Role.ARRIVAL_TIME in (roles := times_of(planned.stages)) and (len(roles) > 1 or _joins(planned)):
        yield _finding(
            planned,
            "has both event time and arrival time in its windows and bounds, which has no executor in this version",
            planned.view.origin,
            hint="Make a view of its own for each.",
        )
    for stage in planned.stages:
        for field in _starts(stage):
            yield _finding(
                planned,
                f'tells windows of another view apart by "{field.name}", which has no executor in this version',
                stage.origin,
                hint="Group by, partition by or join on window_end.",
            )


def times_of(stages: Sequence[Stage]) -> set[Role]:
    """The kinds of time that stages cut rows by; the bounds of windows go back to those of the windows."""
    return {role for stage in stages for role in _own_times(stage)}


def _own_times(stage: Stage) -> Iterator[Role]:
    match stage:
        case Assign():
            names = [stage.time]
        case Aggregate():
            names = [name for key in stage.keys if key.expression.is_column for name in key.expression.reads]
        case _:
            return
    for name in names:
        field = stage.input.column(name)
        if field is not None and field.role in _TIMES:
            yield field.role


def _joins(planned: PlannedView) -> bool:
    return any(isinstance(stage, Join) for stage in planned.stages)


def _tables(planned: PlannedView, read_at: Mapping[str, Origin | None]) -> Iterator[Finding]:
    as_of = {
        scan
        for stage in planned.stages
        if isinstance(stage, Join) and stage.as_of is not None
        for scan in stage.right.walk()
    }
    for scan in planned.scans:
        if scan.kind == "table" and scan in as_of:
            yield _finding(
                planned,
                f'joins table "{scan.relation}" as of an instant, which has no executor in this version',
                read_at.get(scan.relation.lower()),
                detail="It will come: the declaration is right as it is.",
                hint="Until then declare the table's changes with CREATE STREAM, and join within a bound in time.",
            )
        elif scan.kind == "table":
            yield _finding(
                planned,
                f'reads table "{scan.relation}", which no view can do in this version',
                read_at.get(scan.relation.lower()),
                detail="It will come: the declaration is right as it is.",
                hint="Until then declare its changes with CREATE STREAM, and keep the newest of each key with QUALIFY "
                "ROW_NUMBER() OVER (PARTITION BY key ORDER BY at DESC) = 1 and retention = '…'.",
            )


def _starts(stage: Stage) -> Iterator[Field]:
    """The starts of windows of another view by which a stage tells groups apart, where an end doesn't follow."""
    for below, keys in _keys(stage):
        fields = [found for key in keys if key.is_column and (found := below.column(key.reads[0]))]
        roles = {found.role for found in fields}
        assigned = any(isinstance(found, Assign) for found in below.walk())
        if assigned or not all(isinstance(found, STATELESS) for found in below.walk()):
            continue
        if Role.WINDOW_START in roles and not roles & {Role.WINDOW_END, Role.WINDOW_TIME}:
            started = next(found for found in fields if found.role is Role.WINDOW_START)
            if not isinstance(started.window, model.Tumble | model.Hop):
                yield started


def _keys(stage: Stage) -> Iterator[tuple[Stage, Sequence[Expression]]]:
    match stage:
        case Aggregate():
            yield stage.input, [key.expression for key in stage.keys]
        case Deduplicate():
            yield stage.input, stage.keys
        case TopN():
            yield stage.input, stage.partition
        case Join() if stage.bound is None:
            yield stage.left, [pair[0] for pair in stage.equal]
            yield stage.right, [pair[1] for pair in stage.equal]


def _finding(
    planned: PlannedView, what: str, origin: Origin | None, *, detail: str | None = None, hint: str | None = None
) -> Finding:
    summary = f'view "{planned.name}" {what}'
    return NotSupportedYet(
        summary, detail=detail, hint=hint, origin=origin or planned.view.origin, view=planned.view.name
    )
