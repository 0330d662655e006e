"""What a view keeps between its batches: which operators keep what, and until when; and how much it is now.

State is bounded because everything in it is let go of once the watermark has passed an instant of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from headwater.engine.checkpoint import Checkpoint
from headwater.engine.kept import keeps_panes
from headwater.engine.totals import keeps_totals
from headwater.engine.view import pace_of
from headwater.log import TopicLog
from headwater.model import Session, spell_duration
from headwater.plan import PlannedView
from headwater.plan.execution import shows_events
from headwater.plan.stages import Aggregate, Assign, Deduplicate, Join, Scan, Stage
from headwater.plan.state import is_by_identity, is_endless

_OPERATORS = {
    "dedupe": "duplicates",
    "stateStoreSave": "aggregate",
    "sessionWindowStateStoreSaveExec": "sessions",
    "symmetricHashJoin": "join",
}
_BOUNDS = ("window_start", "window_end", "window_time")
_STORES = {"default": "", "left-keyWithIndexToValue": " (left)", "right-keyWithIndexToValue": " (right)"}


@dataclass(frozen=True)
class Kept:
    """What one operator keeps; `until` is the instant that the watermark has to pass before it is let go of."""

    operator: str
    what: str
    until: str | None = None

    def __str__(self) -> str:
        return f"{self.operator}: {self.what}{f', until {self.until}' if self.until else ''}"


def kept_by(planned: PlannedView) -> tuple[Kept, ...]:
    """What the operators of a view keep; nothing, if every row is on its own."""
    if (stage := keeps_panes(planned)) is not None:
        keys = ", ".join([*(key.name for key in stage.keys if key.name not in _BOUNDS), "pane"])
        ended = _after("the end of its last window", planned.view.grace)
        return (Kept("settle", "its position in the store"), Kept("panes", f"one row per {keys}", ended))
    if (stage := keeps_totals(planned)) is not None:
        keys = ", ".join(key.name for key in stage.keys)
        position = "its position in the store; each step reads what is new, and what counts no more"
        return (Kept("settle", position), Kept("totals", f"one row per {keys}", "no row counts in it"))
    if shows_events(planned.root) and planned.execution.kind == "settle":
        position = "its position in the store; each step reads the log from its oldest new event on"
        return (Kept("settle", position),)
    if planned.is_settled:
        known = planned.horizon is not None and planned.execution.kind == "settle"
        back = spell_duration(planned.horizon) if planned.horizon is not None and known else "all the way"
        kept = f"its position in the store; each step reads the log again, {back} back"
        return (Kept(planned.execution.kind, kept), *_counted(planned), *_once(planned))
    grace = planned.view.grace
    found = [kept for stage in planned.stages for kept in _kept(stage, grace)]
    if not any(isinstance(stage, Aggregate | Join) for stage in planned.stages) and _unique(planned.root):
        found.append(_identities(planned.root, grace))
    return tuple(found)


def _once(planned: PlannedView) -> Iterator[Kept]:
    """The events of which others are copies."""
    for scan in planned.scans:
        if scan.within is not None and planned.execution.kind == "settle":
            yield Kept(
                "once per id", "id, time and place of each event that was taken", _after("its time", 2 * scan.within)
            )


def _counted(planned: PlannedView) -> Iterator[Kept]:
    """The rows that count in groups without an end."""
    if planned.retention is not None and any(is_endless(stage) for stage in planned.stages):
        until = _after("their time", planned.retention + pace_of(planned).settles)
        yield Kept("groups without an end", "nothing; rows count in them", until)


def _kept(stage: Stage, grace: timedelta) -> Iterator[Kept]:
    match stage:
        case Aggregate():
            if _unique(stage.input):
                yield _identities(stage.input, grace)
            yield _groups(stage, grace)
        case Join():
            for number, below in enumerate(stage.inputs):
                if _unique(below):
                    yield _identities(below, grace)
                yield _side(stage, number, grace)
        case Deduplicate() if not is_by_identity(stage):
            keys = ", ".join(str(key) for key in stage.keys)
            yield Kept("deduplicate", f"{keys} of each row", _after("the time among them", grace))
        case _:
            return


def _groups(stage: Aggregate, grace: timedelta) -> Kept:
    keys = ", ".join(key.name for key in stage.keys)
    values = ", ".join(call.name for call in stage.aggregates if not call.name.startswith("_"))
    what = f"one row per {keys}{f' with {values}' if values else ''}"
    if isinstance(stage.window, Session):
        return Kept("sessions", what, _after("the session's end", grace + stage.window.gap))
    ended = "the end of its window" if stage.window is not None else "the time among its keys"
    return Kept("aggregate", what, _after(ended, grace))


def _side(stage: Join, number: int, grace: timedelta) -> Kept:
    side = ("left", "right")[number]
    topics = ", ".join(sorted({scan.relation for scan in stage.inputs[number].walk() if isinstance(scan, Scan)}))
    what = f"the rows of the {side} side ({topics})"
    if stage.bound is None:
        return Kept("join", what, _after("the end of their window", grace))
    reach = stage.bound.upper if number == 0 else -stage.bound.lower
    return Kept("join", what, _after("their event time", grace + reach))


def _identities(stage: Stage, grace: timedelta) -> Kept:
    """The rows that were taken once; in windows, once for each."""
    windows = [found.window for found in stage.walk() if isinstance(found, Assign)]
    if windows and not isinstance(windows[0], Session):
        what = "the id, the event time and the window of each row"
        return Kept("duplicates", what, _after("the end of that window", grace))
    gap = max((window.gap for window in windows if isinstance(window, Session)), default=timedelta())
    return Kept("duplicates", "the id and the event time of each row", _after("that time", grace + gap))


def _unique(stage: Stage) -> bool:
    below = list(stage.walk())
    return any(isinstance(found, Scan) and found.unique for found in below) and not any(
        isinstance(found, Aggregate | Join) for found in below
    )


def _after(what: str, delay: timedelta) -> str:
    if delay == timedelta():
        return what
    return f"{what} {'−' if delay < timedelta() else '+'} {spell_duration(abs(delay))}"


def rows_in_state(spark: Any, checkpoint: Path) -> dict[str, int]:
    """How many rows each kind of operator has in state after the last batch that succeeded, by Spark's own readers."""
    found: dict[str, int] = {}
    for operator in spark.read.format("state-metadata").load(str(checkpoint)).collect():
        if operator.stateStoreName not in _STORES:  # an index of others
            continue
        options = {"operatorId": operator.operatorId, "storeName": operator.stateStoreName}
        state = spark.read.format("statestore").options(**options).load(str(checkpoint))
        name = _OPERATORS.get(operator.operatorName, operator.operatorName) + _STORES[operator.stateStoreName]
        found[name] = found.get(name, 0) + int(state.count())
    return dict(sorted(found.items()))


def physical_plan(spark: Any, planned: PlannedView, logs: Mapping[str, TopicLog]) -> str:
    """The tree of Spark's own operators for a view: as a stream or, for one that is settled, in batch."""
    from headwater.engine.batch import BatchView
    from headwater.engine.live import LiveView

    if planned.is_settled:
        view = BatchView(planned, logs, dict.fromkeys(logs, 0))
        frame = view.frame(view.lowering(spark))
    else:
        nothing = Checkpoint.of(planned, Path())
        frame = LiveView(planned, (), logs, nothing, lambda _: None, lambda _: None).frame(spark)
    text = spark._jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "formatted")
    tree, _, _ = str(text).partition("\n\n")  # what follows are the details of each operator
    return tree.removeprefix("== Physical Plan ==").strip("\n")
