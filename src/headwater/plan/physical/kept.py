"""State: what the operators of a view keep between its steps, and until when.

It is bounded because everything in it is let go of once the watermark has passed an instant of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from headwater import model
from headwater.model import spell_duration
from headwater.operators import Stage
from headwater.operators.entry import taken_once
from headwater.operators.kept import Kept, after
from headwater.operators.scan.stage import scans_of
from headwater.plan.physical.execution import Execution
from headwater.plan.physical.finality import behind
from headwater.plan.physical.pace import Pace
from headwater.plan.physical.step import Step
from headwater.plan.physical.trace import Trace
from headwater.sql import WINDOW_COLUMNS


def kept_in_state(root: Stage, grace: timedelta) -> tuple[Kept, ...]:
    """The state that Spark's streaming keeps for a live view; nothing, if every row is on its own."""
    kept = (kept for stage in root.walk() for kept in stage.kept(grace + _behind(stage)))
    return (*kept, *taken_once(root, grace))


def kept_between_steps(
    view: model.View, root: Stage, execution: Execution, pace: Pace, step: Step, reach: timedelta
) -> tuple[Kept, ...]:
    """The state that a settled view keeps beside its rows, where it reaches so far."""
    if step.adds is not None:
        return tuple(_added_to(step, view.grace, forever=view.is_forever))
    if step.trace is not None:
        return (*_found_by_keys(root, step.trace), *_summed(step))
    if step.touched:
        (scan,) = scans_of(root)
        rows = f"those of {scan.relation} by {', '.join(step.touched)}, in memory"
        new = Kept("settle", "its position in the store; each step reads what is new")
        return (new, Kept("rows", rows, after("their time", reach + pace.settles)))
    if step.asks:
        return tuple(_asked(root, reach + pace.settles))
    if step.looks_back == "nothing":
        return (Kept("settle", "its position in the store; each step reads what is new"),)
    if step.looks_back == "events":
        position = "its position in the store; each step reads the log from its oldest new event on"
        return (Kept("settle", position),)
    known = execution.horizon is not None and step.looks_back == "reach"
    back = spell_duration(execution.horizon) if execution.horizon is not None and known else "all the way"
    position = f"its position in the store; each step reads the log again, {back} back"
    return (Kept(execution.kind, position), *_counted(view, root, pace), *_once(root, step))


def _added_to(step: Step, grace: timedelta, *, forever: bool) -> Iterator[Kept]:
    assert step.aggregate is not None
    names = [key.name for key in step.aggregate.keys]
    if step.adds == "panes":
        keys = ", ".join([*(name for name in names if name not in WINDOW_COLUMNS), "pane"])
        yield Kept("settle", "its position in the store")
        yield Kept("panes", f"one row per {keys}", after("the end of its last window", grace))
    elif step.adds == "parts":
        yield Kept("maintained" if forever else "settle", "its position in the store; each step reads what is new")
        if forever:
            yield Kept("groups", f"one row per {', '.join(names) or 'view'}, in sorted files, for ever")
            return
        what, window = f"one row per {', '.join(names)}, in memory", step.aggregate.window
        if isinstance(window, model.Session):
            yield Kept("parts", what, after("the session's end", grace + window.gap))
            return
        yield Kept(
            "parts", what, after("the end of its window" if window is not None else "the time among its keys", grace)
        )
    else:
        yield Kept("settle", "its position in the store; each step reads what is new, and what counts no more")
        yield Kept("totals", f"one row per {', '.join(names)}", "no row counts in it")


def _asked(root: Stage, open_for: timedelta) -> Iterator[Kept]:
    """The rows of tables that are asked for by key: of each the last one, and those that open events may ask for."""
    yield Kept("settle", "its position in the store; each step reads what is new")
    tables = dict.fromkeys((scan.relation, scan.key) for scan in scans_of(root) if scan.kind == "table")
    for table, key in tables:
        yield Kept(
            "rows", f"those of {table} by {', '.join(key)}, in memory; earlier ones", after("their time", open_for)
        )


def _found_by_keys(root: Stage, trace: Trace) -> Iterator[Kept]:
    """The rows of each topic, once for every way in which they are looked up."""
    yield Kept("maintained", "its position in the store; each step reads what is new, and what that leads to")
    scans = list(dict.fromkeys(scans_of(root)))
    for columns in trace.indexes:
        by = ", ".join("id" if name == "_id" else name for name in columns.names)
        yield Kept("rows", f"those of {scans[columns.scan].relation} by {by}, in sorted files, for ever")


def _summed(step: Step) -> Iterator[Kept]:
    if step.summed is not None:
        names = ", ".join(key.name for key in step.summed.keys)
        yield Kept("totals", f"one row per {names or 'view'}, in sorted files, for ever")


def _once(root: Stage, step: Step) -> Iterator[Kept]:
    """The events of which others are copies."""
    for scan in scans_of(root):
        if scan.within is not None and step.looks_back != "everything":
            yield Kept(
                "once per id", "id, time and place of each event that was taken", after("its time", 2 * scan.within)
            )


def _counted(view: model.View, root: Stage, pace: Pace) -> Iterator[Kept]:
    """The rows that count in groups without an end."""
    retention = view.retention if view.retention is not None else view.horizon
    if retention is not None and any(stage.is_endless for stage in root.walk()):
        until = None if view.is_forever else after("their time", retention + pace.settles)
        what = "nothing; rows count in them" + (" for ever" if view.is_forever else "")
        yield Kept("groups without an end", what, until)


def _behind(stage: Stage) -> timedelta:
    """The lag behind the watermark of the rows that enter a stage."""
    return max((behind(below) for below in stage.inputs), default=timedelta())
