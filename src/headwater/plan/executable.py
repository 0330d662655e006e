"""The plans that no executor of this version can run: refused when a project is checked, not when a view first runs.

Each is understood, and its meaning is fixed; the finding says what to write until it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headwater import model
from headwater.errors import Finding, Origin
from headwater.findings import NotSupportedYet
from headwater.operators import Field, Role, Stage
from headwater.operators.as_of_join.stage import read_as_of
from headwater.operators.assign.stage import is_plain
from headwater.operators.join.stage import is_joined
from headwater.plan.physical.pace import times_of
from headwater.plan.planned import PlannedView


def judge_executable(
    planned: PlannedView, read_at: Mapping[str, Origin | None], views: Mapping[str, PlannedView]
) -> Iterator[Finding]:
    """Every reason why a view that is sound otherwise can't be executed; `read_at` is where its query names what, and
    `views` are those that it can read.
    """
    yield from _tables(planned, read_at)
    yield from _unpublished(planned, read_at, views)
    if Role.ARRIVAL_TIME in (roles := times_of(planned.stages)) and (len(roles) > 1 or is_joined(planned.root)):
        yield _finding(
            planned,
            "has both event time and arrival time in its windows and bounds, which has no executor in this version",
            planned.view.origin,
            hint="Make a view of its own for each.",
        )
    for stage in planned.stages:
        if not stage.passes_rows and any(each.comes_last for below in stage.inputs for each in below.walk()):
            yield _finding(
                planned,
                f"{stage.does or 'computes over'} the matches of a pattern, which has no executor in this version",
                stage.origin,
                hint="Make the pattern a view of its own, and read that.",
            )
        for field in _starts(stage):
            yield _finding(
                planned,
                f'tells windows of another view apart by "{field.name}", which has no executor in this version',
                stage.origin,
                hint="Group by, partition by or join on window_end.",
            )


def _tables(planned: PlannedView, read_at: Mapping[str, Origin | None]) -> Iterator[Finding]:
    as_of = read_as_of(planned.root)
    for scan in planned.scans:
        if scan.kind == "table" and scan not in as_of and not planned.view.is_forever:
            yield _finding(
                planned,
                f'reads table "{scan.relation}" beside others, and doesn\'t hold every row for ever',
                read_at.get(scan.relation.lower()),
                detail="Its rows change without end, so that none is ever final.",
                hint="Write WITH (retention = 'forever').",
            )


def _unpublished(
    planned: PlannedView, read_at: Mapping[str, Origin | None], views: Mapping[str, PlannedView]
) -> Iterator[Finding]:
    """The views that are read and whose rows could change for ever, for all that their plan says."""
    for name in sorted({scan.relation for scan in planned.scans if scan.kind == "view"}):
        if (read := views.get(name)) and read.time and read.execution.settles and read.physical.publishes is None:
            yield _finding(
                planned,
                f'reads view "{name}", whose rows are those of sessions, which has no executor in this version',
                read_at.get(name.lower()),
                detail="Nothing says how long after its own time a row of it can change.",
                hint="Show window_end there, or state the longest session that counts with horizon = '…'.",
            )


def _starts(stage: Stage) -> Iterator[Field]:
    """The starts of windows of another view by which a stage tells groups apart, where an end doesn't follow."""
    for below, keys in stage.paired_keys:
        fields = [field for key in keys if (field := below.column_of(key)) is not None]
        roles = {field.role for field in fields}
        if not is_plain(below):
            continue
        if Role.WINDOW_START in roles and not roles & {Role.WINDOW_END, Role.WINDOW_TIME}:
            started = next(field for field in fields if field.role is Role.WINDOW_START)
            if not isinstance(started.window, model.Tumble | model.Hop):
                yield started


def _finding(
    planned: PlannedView, what: str, origin: Origin | None, *, detail: str | None = None, hint: str | None = None
) -> Finding:
    summary = f'view "{planned.name}" {what}'
    return NotSupportedYet(
        summary, detail=detail, hint=hint, origin=origin or planned.view.origin, view=planned.view.name
    )
