"""Executions: how a view can be kept up to date, and what it can emit.

*live* is Spark's own streaming operators. It is chosen for every shape for which they were measured to give the rows
of a batch query, whatever the batching. *settle* is everything else: one batch query per advance of the watermark over
a slice of event time. Final rows of windows that overlap many times are settled too: combined from panes they cost less
than kept one by one. *batch* is the same query over the whole log; only the author of a view chooses it. *inline* is a
view without a store, whose stages are taken in by whoever reads it.

`emit = 'changes'` writes rows as they change, `emit = 'final'` once, when they are settled. Spark's streaming keeps no
changes of sessions and outer joins, so that these are emitted when final, unless they can be settled.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from headwater import model
from headwater.model import Emit
from headwater.plan.chain import unproven
from headwater.plan.key import hidden_identity, key_of
from headwater.plan.panes import MANY, is_overlapping, pane_aggregate, pane_of, windows_per_row
from headwater.plan.planned import Execution
from headwater.plan.stages import (
    STATELESS,
    Aggregate,
    Apply,
    Assign,
    Deduplicate,
    Join,
    Over,
    Scan,
    Stage,
    TopN,
)
from headwater.plan.state import ends, horizon, is_by_identity, is_endless, is_table

_OUTER = ("left", "right", "full")
_NOUNS: dict[type[Stage], str] = {Aggregate: "aggregate", Join: "join", Deduplicate: "deduplication"}
_LIVE_WINDOW_JOINS = ("inner", "left", "semi")


def execution(view: model.View, root: Stage) -> Execution:
    """How the view will be executed. An `emit` that can't be kept is found by `refused_emit`."""
    span = _horizon(view, root)
    if not view.materialized:
        emit = view.emit or Emit.CHANGES
        return Execution(
            "inline", "a view without a store is taken in by those that read it", emit, "", span, settles(root)
        )
    if view.execution in ("settle", "batch"):
        return Execution(view.execution, "as declared", *_settled_emit(view, root), span, settles(root))
    obstacle = _not_live(view, root)
    if obstacle is None and view.execution is None:
        obstacle = _overlapping(view, root) or _shown_early(view, root)
    if obstacle is not None:
        return Execution("settle", obstacle, *_settled_emit(view, root), span, settles(root))
    emitted = _live_emit(view, root, next(_append_only(root), None))
    return Execution("live", _why_live(root), *emitted, span, settles(root))


def executions(view: model.View, root: Stage) -> tuple[model.ViewExecution, ...]:
    """The ways in which a view can be kept up to date; all of them give the same rows."""
    live: tuple[model.ViewExecution, ...] = () if _not_live(view, root) else ("live",)
    settled: tuple[model.ViewExecution, ...] = () if _not_settled(view, root) else ("settle", "batch")
    return live + settled


def refused_execution(view: model.View, root: Stage) -> str | None:
    """Why a view can't be kept in the way that it asks for; None if it can."""
    if view.execution is None:
        return None
    reason = _not_live(view, root) if view.execution == "live" else _not_settled(view, root)
    return f"{reason[0].upper()}{reason[1:]}." if reason else None


def _not_live(view: model.View, root: Stage) -> str | None:
    append_only = next(_append_only(root), None)
    obstacle = next(_obstacles(view, root), None)
    if obstacle is None and append_only and view.emit is Emit.CHANGES:
        return f"Spark's streaming keeps no changes of {append_only}"
    if obstacle is None and view.every is not None:
        return "Spark's streaming shows what is not final whenever it changes"
    return obstacle


def _not_settled(view: model.View, root: Stage) -> str | None:
    if all(isinstance(stage, STATELESS) or _is_once(stage) for stage in root.walk()) and _not_live(view, root) is None:
        return "every row is computed from one row, so that there is nothing to wait for"
    if _not_live(view, root) is None and _gives_pairs(root):
        return "its pairs are written as soon as both rows are there, and to settle them would keep them back"
    return "nothing says how far back an input can matter" if _horizon(view, root) is None else None


def refused_cadence(view: model.View, root: Stage) -> tuple[str, str] | None:
    """Why a view can't show what isn't final at the cadence that it states, and what to do; None if it can."""
    leave_out = "Leave every out."
    if view.every is None:
        return None
    if view.every <= timedelta():
        return f"It states {model.spell_duration(view.every)}.", "Write how often, like every = '10 seconds'."
    if view.emit is Emit.FINAL:
        return "It emits a row once, when it is final.", "Leave every out, or write emit = 'changes'."
    if all(isinstance(stage, STATELESS) or _is_once(stage) for stage in root.walk()):
        return "Every row is computed from one row, and is final at once.", leave_out
    if settles(root) and key_of(view, root)[0].kind == "row":
        return (
            "Its rows have no key by which a change could find them.",
            "Declare what tells them apart with key = '…'.",
        )
    if any(isinstance(stage, Scan) and stage.kind == "view" for stage in root.walk()):
        return "It reads a view, whose rows come to it when they are final.", "State every for the view that it reads."
    return (
        ("Nothing says how far back an input can matter.", "State horizon = '…'.")
        if _horizon(view, root) is None
        else None
    )


def _gives_pairs(root: Stage) -> bool:
    kinds = {type(stage) for stage in root.walk()}
    return Join in kinds and Aggregate not in kinds


def shows_events(root: Stage) -> bool:
    """Whether a view shows events of streams that say what is unique, as they come: in no window, and each once.

    Whether an event was there before is asked of the log, so that none comes too late.
    """
    stages = list(root.walk())
    plain = is_stateless(root) and not any(isinstance(stage, Assign) for stage in stages)
    return plain and any(isinstance(stage, Scan) and stage.unique for stage in stages)


def _is_once(stage: Stage) -> bool:
    return isinstance(stage, Deduplicate) and is_by_identity(stage)


def refused_emit(view: model.View, root: Stage) -> tuple[str, str] | None:
    """Why the operators of a view can't keep the `emit` it asks for, and what to do; None if they can."""
    if view.emit is Emit.FINAL and not settles(root):
        return (
            "Its rows have no end in time, so that none is ever final.",
            "Write emit = 'changes', or group by a window.",
        )
    if key_of(view, root)[0].kind == "row" and not is_stateless(root):
        if not settles(root):
            return (
                "Its rows are never final, and have no key by which a change could find them.",
                "Declare what tells its rows apart with key = '…', or show the rank.",
            )
        if view.emit is Emit.CHANGES and _not_live(view, root):
            return "Its rows have no key by which a change could find them.", _remedy_of_key(root)
    append_only = next(_append_only(root), None)
    if view.emit is Emit.CHANGES and append_only and _horizon(view, root) is None:
        return (
            f"Spark's streaming keeps no changes of {append_only}, and nothing says how long one can be.",
            "Write emit = 'final', or state the longest that counts with horizon = '…'.",
        )
    return None


def _remedy_of_key(root: Stage) -> str:
    hidden = hidden_identity(root)
    if hidden:
        tell = "tells" if len(hidden) == 1 else "tell"
        return f"Show {', '.join(hidden)}, which {tell} its rows apart, or declare key = '…'; or write emit = 'final'."
    return "Write emit = 'final', or declare what tells its rows apart with key = '…'."


def _horizon(view: model.View, root: Stage) -> timedelta | None:
    return horizon(root, _stated(view))


def _stated(view: model.View) -> timedelta | None:
    stated = [span for span in (view.horizon, view.retention) if span is not None]
    return max(stated, default=None)


def is_stateless(root: Stage) -> bool:
    """Whether a stage and all below it keep nothing between rows."""
    return all(isinstance(stage, STATELESS) for stage in root.walk())


def settles(root: Stage) -> bool:
    """Whether every row becomes final at some instant; the rows of a table never do."""
    return not is_table(root) and not any(is_endless(stage) for stage in root.walk())


def _obstacles(view: model.View, root: Stage) -> Iterator[str]:
    """Why Spark's streaming operators can't execute the stages, or are not known to do so soundly."""
    if shows_events(root):
        yield "whether an event was there before is asked of the log"
    for stage in root.walk():
        own = _obstacle(stage)
        if own:
            yield own
    once = next(_append_only(root), None) is not None  # changes of it are refused for that, wherever it stands
    chained = unproven(root, Emit.FINAL if once else view.emit or Emit.CHANGES)
    if chained:
        yield chained


def _obstacle(stage: Stage) -> str | None:
    match stage:
        case Scan() if stage.within is not None:
            return "which of the events with one id is taken is decided over the log"
        case Apply():
            return "a Python function of DataFrames is run on slices of the log"
        case Over():
            return "Spark's streaming has no OVER windows"
        case TopN():
            return "Spark's streaming has no top-N"
        case Deduplicate() if stage.order and not is_by_identity(stage):
            return "Spark's streaming can't keep the first row by an order"
        case Deduplicate() | Aggregate() if not _is_evicted(stage):
            return "its groups have no end in time and are recomputed over what is retained"
        case Join():
            return _join_obstacle(stage)
    return None


def _is_evicted(stage: Deduplicate | Aggregate) -> bool:
    if isinstance(stage, Deduplicate):
        return is_by_identity(stage) or ends(stage.keys, stage.input)
    return ends((named.expression for named in stage.keys), stage.input)


def _join_obstacle(stage: Join) -> str | None:
    if stage.as_of is not None:
        return "Spark's streaming has no join as of an instant"
    if stage.kind == "anti":
        return "Spark's streaming has no anti join"
    if not stage.equal:
        return "Spark's streaming joins on equality only"
    if stage.window is not None and stage.kind not in _LIVE_WINDOW_JOINS:
        return f"Spark's streaming has no {stage.kind} join of windows"
    return None


def _append_only(root: Stage) -> Iterator[str]:
    """The operators of which Spark's streaming keeps no changes."""
    for stage in root.walk():
        if isinstance(stage, Aggregate) and isinstance(stage.window, model.Session):
            yield "sessions"
        if isinstance(stage, Join) and stage.kind in _OUTER:
            yield "outer joins"


def _overlapping(view: model.View, root: Stage) -> str | None:
    """Why windows that overlap are combined from panes rather than kept by Spark's streaming.

    A step combines the windows that became final. To show changes it would combine all that are open, of every key;
    Spark's streaming touches those of the keys that have new rows.
    """
    stage = pane_aggregate(root) if view.emit is Emit.FINAL else None
    if stage is None or not is_overlapping(stage.window) or (count := windows_per_row(stage.window)) < MANY:
        return None
    pane = model.spell_duration(pane_of(stage.window))
    return f"each row is in up to {count} windows: rows are aggregated once per {pane} and windows combined of that"


def _shown_early(view: model.View, root: Stage) -> str | None:
    """Why the rows of an outer join are settled, if nothing is said: so they are shown before they are final."""
    outer = any(isinstance(stage, Join) and stage.kind in _OUTER for stage in root.walk())
    wanted = outer and view.emit is None and key_of(view, root)[0].kind != "row" and _horizon(view, root) is not None
    return "Spark's streaming keeps no changes of outer joins" if wanted else None


def _why_live(root: Stage) -> str:
    if is_stateless(root):
        return "every row is computed from one row"
    names = [_NOUNS[type(stage)] for stage in root.walk() if not isinstance(stage, STATELESS)]
    return f"Spark's streaming keeps its {' and '.join(dict.fromkeys(names))}"


def _live_emit(view: model.View, root: Stage, append_only: str | None) -> tuple[Emit, str]:
    if view.emit is not None:
        return view.emit, "as declared"
    if append_only:
        return Emit.FINAL, f"Spark's streaming keeps no changes of {append_only}"
    return Emit.CHANGES, "a row is written once" if is_stateless(root) else "its operators keep changes"


def _settled_emit(view: model.View, root: Stage) -> tuple[Emit, str]:
    if view.emit is not None:
        return view.emit, "as declared"
    if is_stateless(root):
        return Emit.CHANGES, "a row is written once"
    if settles(root) and key_of(view, root)[0].kind == "row":
        return Emit.FINAL, "its rows have no key by which a change could find them"
    if settles(root):
        return Emit.CHANGES, "the open part is recomputed and the difference is written"
    return Emit.CHANGES, "no row is ever final"
