"""Late rows as a stream: what `FROM late(view)` reads.

A view admits rows once: where they come to their windows, or where their event time decides. The rows that it
turns away there are chosen by the same predicate on the log, turned around, so that a reader needs nothing of the view
but its declaration. They *happen* when they come, at the watermark that they were too late for: that is the event time
of the stream, and in it nothing is late.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from headwater import model
from headwater.operators import (
    Ancestor,
    Assign,
    Deduplicate,
    Field,
    Filter,
    Late,
    Role,
    Scan,
    Stage,
    Unary,
)
from headwater.operators.assign.stage import is_windowed
from headwater.operators.scan.stage import scans_of
from headwater.operators.stage import with_role
from headwater.sql import WINDOW_COLUMNS

CAME_AT = "_watermark"
"""The column that says when a late row came. Its name belongs to the log, so `*` doesn't stand for it."""


def late_rows(view: model.View, root: Stage) -> Late | str:
    """The stage of the rows that come too late for a view; or why there is none."""
    if not view.materialized:
        return "It is a view without a store: those that read it admit rows."
    if view.late == "drop":
        return "It declares late = 'drop'."
    if view.is_forever:
        return "Every row counts in it for ever, and none is too late."
    gates = [stage for stage in root.walk() if stage.keeps_state]
    scans = list(scans_of(root))
    if len(scans) != 1 or not all(isinstance(gate, Unary) for gate in gates[:1]):
        return "It admits the rows of several inputs, each in its own way."
    (scan,) = scans
    if scan.kind != "stream":
        return f'It reads the {scan.kind} "{scan.relation}", in which nothing is late.'
    if scan.within is not None:
        return f'It reads the stream "{scan.relation}", whose events are taken once before any view admits them.'
    if not gates and not (scan.unique and is_windowed(root)):
        return "Every row is computed from one row, and none is too late."
    if len(gates) > 1 and isinstance(gates[0], Deduplicate):
        return "It removes duplicates before it admits rows to what comes behind."
    return _turned_away(view, gates[0] if gates else None, root)


def _turned_away(view: model.View, gate: Stage | None, root: Stage) -> Late | str:
    """The rows that don't come to the view's first operator that keeps state, be it the one that knows copies."""
    below = gate.input if isinstance(gate, Unary) else root
    windows = [stage for stage in below.walk() if isinstance(stage, Assign)]
    if len(windows) > 1:
        return "It admits rows to a window of windows."
    if windows:
        (assign,) = windows
        assert isinstance(assign, Assign)
        if assign.input.column(assign.time) in with_role(assign.input, Role.ARRIVAL_TIME):
            return "Its windows are of arrival, and nothing is late for them."
        return _late(_with_filters(below, assign), view.grace, None)
    times = with_role(below, Role.EVENT_TIME)
    if not times:
        return "It doesn't pass on the event time that admits its rows."
    retained = (view.retention or view.horizon or timedelta()) if gate and gate.is_endless else timedelta()
    return _late(below, view.grace + retained, times[0].name)


def _with_filters(below: Stage, assign: Assign) -> Assign:
    """The windows, behind the filters right above them that don't read the windows: what those drop is never late."""
    above: list[Stage] = []
    while below is not assign:
        assert below.passes_rows and isinstance(below, Unary)
        above.append(below)
        below = below.input
    source = assign.input
    while above and isinstance(lowest := above.pop(), Filter) and not set(lowest.condition.reads) & set(WINDOW_COLUMNS):
        source = replace(lowest, input=source, columns=source.columns)
    return replace(assign, input=source)


def _late(below: Stage, grace: timedelta, time: str | None) -> Late:
    scan = next(scans_of(below))
    own = frozenset({Ancestor(scan.relation, CAME_AT)})
    came_at = Field(CAME_AT, model.INSTANT, False, own, Role.EVENT_TIME, hidden=True)
    kept = (field for field in below.columns if field.name != CAME_AT)
    columns = tuple(replace(field, role=None, window=None, varies=False) for field in kept)
    return Late((*columns, came_at), _by_arrival(below), grace, time, origin=below.origin)


def _by_arrival(stage: Stage) -> Stage:
    """The stages with the scan read in the time of the late rows. Copies of an event are rows of their own."""
    if isinstance(stage, Scan):
        return replace(stage, time=CAME_AT, unique=(), key=())
    assert isinstance(stage, Unary)
    return replace(stage, input=_by_arrival(stage.input))
