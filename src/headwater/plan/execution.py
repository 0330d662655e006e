"""Executions: how a view can be kept up to date, and what it can emit.

*live* is Spark's own streaming operators. It can be had for every shape for which they were measured to give the rows
of a batch query, whatever the batching. *settle* is everything else: one batch query per advance of the watermark over
a slice of event time. What has small steps is settled too, because one is a sixth of the work of a micro-batch: rows
that are written as they come, of one row each, or of rows that are not far apart in time; and groups that end and can
be kept in parts. So are final rows of windows that overlap many times: combined from panes they cost less than kept one
by one. *maintained* are views that hold every row for ever (`retention = 'forever'`): a step computes what the new rows
touch. *batch* is the same query over the whole log; only the author of a view chooses it. *inline* is a
view without a store, whose stages are taken in by whoever reads it.

`emit = 'changes'` writes rows as they change, `emit = 'final'` once, when they are settled. Spark's streaming keeps no
changes of sessions and outer joins, so that these are emitted when final, unless they can be settled.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from headwater import model
from headwater.model import Emit
from headwater.operators import Aggregate, Stage
from headwater.operators.aggregate.panes import MANY, by_panes, pane_aggregate
from headwater.operators.aggregate.parts import by_parts, not_in_parts
from headwater.operators.assign.stage import is_overlapping, is_plain, pane_of, windows_per_row
from headwater.operators.expression import listed
from headwater.operators.join.stage import is_joined
from headwater.operators.scan.stage import is_table, scans_of
from headwater.plan.chain import unproven
from headwater.plan.key import hidden_identity, key_of, left_out
from headwater.plan.physical.execution import Execution
from headwater.plan.physical.key import Key
from headwater.plan.state import horizon

_KEPT_IN_PARTS = "are kept in parts, and a step merges what is new into those that it touches"
NEAR = timedelta(minutes=10)
"""The farthest that rows are looked back on in small steps, unless the view says so: Spark's streaming keeps on disk
what is farther, and doesn't look at it again."""


def execution(view: model.View, root: Stage) -> Execution:
    """The execution of the view. An `emit` that can't be kept is refused by `refused_emit`."""
    span = _horizon(view, root)
    if not view.materialized:
        emit = view.emit or Emit.CHANGES
        return Execution(
            "inline", "a view without a store is taken in by those that read it", emit, "", span, settles(root)
        )
    if view.is_forever and view.execution != "batch":
        touched = "every row counts for ever, and a step computes what the new ones touch"
        return Execution("maintained", touched, *_settled_emit(view, root), None, settles(root))
    if view.execution in ("settle", "batch"):
        return Execution(view.execution, "as declared", *_settled_emit(view, root), span, settles(root))
    obstacle = _not_live(view, root)
    if view.execution is None and _sessions_in_parts(view, root, obstacle):
        emitted = _live_emit(view, root, next(_append_only(root), None))
        return Execution("settle", f"its sessions {_KEPT_IN_PARTS}", *emitted, span, settles(root))
    if obstacle is None and view.execution is None:
        better = (_in_small_steps, _overlapping, _shown_early, _in_parts)
        obstacle = next((reason for choose in better if (reason := choose(view, root)) is not None), None)
    if obstacle is not None:
        return Execution("settle", obstacle, *_settled_emit(view, root), span, settles(root))
    emitted = _live_emit(view, root, next(_append_only(root), None))
    return Execution("live", _why_live(view, root), *emitted, span, settles(root))


def executions(view: model.View, root: Stage) -> tuple[model.ViewExecution, ...]:
    """The ways in which a view can be kept up to date; all of them give the same rows."""
    if view.is_forever:
        return ("batch",)
    live: tuple[model.ViewExecution, ...] = () if _not_live(view, root) else ("live",)
    ways: tuple[model.ViewExecution, ...] = ("settle", "batch")
    return live + tuple(how for how in ways if not _not_settled(view, root, how))


def refused_execution(view: model.View, root: Stage) -> str | None:
    """Tells why a view can't be kept in the way that it asks for; None if it can."""
    if view.execution is None or (view.is_forever and view.execution == "batch"):
        return None
    if view.is_forever:
        return "Every row counts for ever, so that it is maintained by what has changed."
    reason = _not_live(view, root) if view.execution == "live" else _not_settled(view, root, view.execution)
    return f"{reason[0].upper()}{reason[1:]}." if reason else None


def _not_live(view: model.View, root: Stage) -> str | None:
    append_only = next(_append_only(root), None)
    obstacle = next(_obstacles(view, root), None)
    if obstacle is None and append_only and view.emit is Emit.CHANGES:
        return f"Spark's streaming keeps no changes of {append_only}"
    if obstacle is None and view.every is not None:
        return "Spark's streaming shows what is not final whenever it changes"
    return obstacle


def _not_settled(view: model.View, root: Stage, how: model.ViewExecution) -> str | None:
    if _not_live(view, root) is None and _gives_pairs(root) and not as_they_come(view, root):
        return "its pairs are written as soon as both rows are there, and to settle them would keep them back"
    known = _horizon(view, root) is not None or (how == "settle" and _adds_to_sessions(view, root))
    return None if known else "nothing says how far back an input can matter"


def _adds_to_sessions(view: model.View, root: Stage) -> bool:
    """Tells whether steps add to sessions, so that nothing need say how long one can be."""
    parts = parts_of(view, root, _settled_emit(view, root)[0], key_of(view, root)[0])
    return parts is not None and parts.is_of_sessions


def refused_cadence(view: model.View, root: Stage) -> tuple[str, str] | None:
    """Tells why a view can't show what isn't final at the cadence that it states, and what to do; None if it can."""
    leave_out = "Leave every out."
    if view.every is None:
        return None
    if view.every <= timedelta():
        return f"It states {model.spell_duration(view.every)}.", "Write how often, like every = '10 seconds'."
    if view.is_forever:
        return "Every row counts for ever, and what a step touches is shown at once.", leave_out
    if view.emit is Emit.FINAL:
        return "It emits a row once, when it is final.", "Leave every out, or write emit = 'changes'."
    if _is_row_by_row(root):
        return "Every row is computed from one row, and is final at once.", leave_out
    if settles(root) and key_of(view, root)[0].kind == "row":
        return (
            "Its rows have no key by which a change could find them.",
            "Declare what tells them apart with key = '…'.",
        )
    if any(stage.asks_python for stage in root.walk()):
        return "A match is shown as soon as it is found.", leave_out
    if any(scan.kind == "view" for scan in scans_of(root)):
        return "It reads a view, whose rows come to it when they are final.", "State every for the view that it reads."
    return (
        ("Nothing says how far back an input can matter.", "State horizon = '…'.")
        if _horizon(view, root) is None
        else None
    )


def _gives_pairs(root: Stage) -> bool:
    return is_joined(root) and not any(stage.groups_rows for stage in root.walk())


def as_they_come(view: model.View, root: Stage) -> bool:
    """Tells whether the rows of a view are written as they come: as soon as what they are made of is there, for good.

    A step then shows what it couldn't show without its new rows. One that is shown at a cadence is looked at as it was;
    and what Spark's streaming doesn't show so, `final` or without a key, is shown when it is final.
    """
    if view.every is not None or view.is_forever or not settles(root) or not all(map(_only_adds, root.walk())):
        return False
    if any(is_table(scan) or scan.within is not None for scan in scans_of(root)):
        return False
    if _is_row_by_row(root) or shows_events(root) or _not_live(view, root) is None:
        return True
    return view.emit is not Emit.FINAL and key_of(view, root)[0].kind != "row"


def _only_adds(stage: Stage) -> bool:
    return not stage.keeps_state or stage.streaming.only_adds


def _in_small_steps(view: model.View, root: Stage) -> str | None:
    """Tells why rows are written as they come in small steps, rather than by Spark's streaming, if they are."""
    if not as_they_come(view, root):
        return None
    if _is_row_by_row(root):
        return "every row is computed from one row, and a step computes those that are new"
    span = _horizon(view, root)
    if span is None or span > NEAR:
        return None
    back = f", and looks {model.spell_duration(span)} back" if span else ""
    return f"its rows are there for good once they come: a step computes those that are new{back}"


def shows_events(root: Stage) -> bool:
    """Tells whether a view shows events of streams that say what is unique, as they come: in no window, and each once.

    Whether an event was there before is asked of the log, so that none comes too late.
    """
    return is_plain(root) and any(scan.unique for scan in scans_of(root))


def _is_row_by_row(root: Stage) -> bool:
    """Tells whether every row is computed from one row."""
    return all(stage.is_by_identity for stage in root.walk() if stage.keeps_state)


def refused_emit(view: model.View, root: Stage) -> tuple[str, str] | None:
    """Tells why the operators of a view can't keep the `emit` it asks for, and what to do; None if they can."""
    if view.emit is Emit.FINAL and not settles(root):
        return (
            "Its rows have no end in time, so that none is ever final.",
            "Write emit = 'changes', or group by a window.",
        )
    if key_of(view, root)[0].kind == "row" and (not root.is_stateless or is_table(root)):
        if not settles(root):
            return (
                "Its rows are never final, and have no key by which a change could find them.",
                _remedy_of_endless_key(root),
            )
        if view.emit is Emit.CHANGES and _not_live(view, root) and not as_they_come(view, root):
            return "Its rows have no key by which a change could find them.", _remedy_of_key(root)
    append_only = next(_append_only(root), None)
    nothing_says = settles(root) and _horizon(view, root) is None and not _adds_to_sessions(view, root)
    if view.emit is Emit.CHANGES and append_only and nothing_says:
        return (
            f"Spark's streaming keeps no changes of {append_only}, and nothing says how long one can be.",
            "Write emit = 'final', or state the longest that counts with horizon = '…'.",
        )
    return None


def _remedy_of_key(root: Stage) -> str:
    if shown := _shows_identity(root):
        return f"{shown}, or declare key = '…'; or write emit = 'final'."
    return "Write emit = 'final', or declare what tells its rows apart with key = '…'."


def _remedy_of_endless_key(root: Stage) -> str:
    """The words for what would tell the rows of a view apart that are never final."""
    if shown := _shows_identity(root):
        return f"{shown}, or declare key = '…'."
    ranks = any(stage.looks_around for stage in root.walk())
    return f"Declare what tells its rows apart with key = '…'{', or show the rank' if ranks else ''}."


def _shows_identity(root: Stage) -> str:
    hidden = hidden_identity(root)
    tell = "tells" if len(hidden) == 1 else "tell"
    return f"Show {', '.join(hidden)}, which {tell} its rows apart" if hidden else ""


def _horizon(view: model.View, root: Stage) -> timedelta | None:
    return horizon(root, _stated(view))


def _stated(view: model.View) -> timedelta | None:
    stated = [span for span in (view.horizon, view.retention) if span not in (None, model.FOREVER)]
    return max(stated, default=None)


def settles(root: Stage) -> bool:
    """Tells whether every row becomes final at some instant; the rows of a table never do."""
    return not is_table(root) and not any(stage.is_endless for stage in root.walk())


def _obstacles(view: model.View, root: Stage) -> Iterator[str]:
    """Tells why Spark's streaming operators can't execute the stages, or aren't known to do so soundly."""
    if shows_events(root):
        yield "whether an event was there before is asked of the log"
    for stage in root.walk():
        if (obstacle := stage.streaming.obstacle) is not None:
            yield obstacle
    if view.emit is not Emit.FINAL and (names := left_out(view, root)):
        yield f"its key leaves out {' and '.join(names)}, by which Spark's streaming tells its groups apart"
    once = next(_append_only(root), None) is not None  # changes of it are refused for that, wherever it stands
    chained = unproven(root, Emit.FINAL if once else view.emit or Emit.CHANGES)
    if chained:
        yield chained


def _append_only(root: Stage) -> Iterator[str]:
    """The operators of which Spark's streaming keeps no changes."""
    return (what for stage in root.walk() if (what := stage.streaming.unchanging) is not None)


def _overlapping(view: model.View, root: Stage) -> str | None:
    """Tells why windows that overlap are combined from panes rather than kept by Spark's streaming.

    A step combines the windows that became final. To show changes it would combine all that are open, of every key;
    Spark's streaming touches those of the keys that have new rows.
    """
    stage = pane_aggregate(root) if view.emit is Emit.FINAL else None
    if stage is None or not is_overlapping(stage.window) or (count := windows_per_row(stage.window)) < MANY:
        return None
    pane = model.spell_duration(pane_of(stage.window))
    return f"each row is in up to {count} windows: rows are aggregated once per {pane} and windows combined of that"


def _shown_early(view: model.View, root: Stage) -> str | None:
    """Tells why rows of an outer join are settled, if nothing is said: so they are shown before they are final."""
    outer = next((stage.streaming.unchanging for stage in root.walk() if stage.streaming.shown_early), None)
    wanted = (
        outer is not None
        and view.emit is None
        and key_of(view, root)[0].kind != "row"
        and _horizon(view, root) is not None
    )
    return f"Spark's streaming keeps no changes of {outer}" if wanted else None


def _in_parts(view: model.View, root: Stage) -> str | None:
    """Tells why groups are kept in parts rather than by Spark's streaming, if they can be."""
    emit = _settled_emit(view, root)[0]
    if any(stage.is_opaque for stage in root.walk()) or parts_of(view, root, emit, key_of(view, root)[0]) is None:
        return None
    same = emit is _live_emit(view, root, next(_append_only(root), None))[0]
    return f"its groups {_KEPT_IN_PARTS}" if same else None


def _sessions_in_parts(view: model.View, root: Stage, obstacle: str | None) -> bool:
    """Tells whether sessions are kept in parts, rather than by Spark's streaming, which shows them when they are final.

    They are shown so here too, if nothing is said.
    """
    append_only = next(_append_only(root), None)
    emit = _live_emit(view, root, append_only)[0]
    parts = parts_of(view, root, emit, key_of(view, root)[0])
    if parts is None or not parts.is_of_sessions or any(stage.is_opaque for stage in root.walk()):
        return False
    return obstacle is None or emit is Emit.CHANGES


def parts_of(view: model.View, root: Stage, emit: Emit, key: Key) -> Aggregate | None:
    """The aggregate whose groups can be kept in parts between steps, if it keeps the only state of a view; else None.

    Each row of the view is one group. A step touches the groups that have new rows and no others, so that a key must
    tell the rows of any two groups apart where their changes are shown. Windows that overlap are combined of panes.
    """
    stateful = [stage for stage in root.walk() if stage.keeps_state]
    if view.every is not None or len(stateful) != 1 or by_panes(stateful[0]) is not None:
        return None
    if root.group_key is None or any(scan.within is not None or scan.kind == "table" for scan in scans_of(root)):
        return None
    known = emit is Emit.FINAL or _tells_groups_apart(key, root)
    parts = by_parts(stateful[0], forever=view.is_forever) if known else None
    return None if parts is not None and parts.is_of_sessions and view.is_forever else parts


def _tells_groups_apart(key: Key, root: Stage) -> bool:
    group = root.group_key
    if key.kind == "group" or group is None:
        return key.kind == "group"
    return {group.shown_as[column.name] for column in group.fields} <= set(key.columns)


def _why_live(view: model.View, root: Stage) -> str:
    if root.is_stateless:
        return "every row is computed from one row"
    span = _horizon(view, root)
    if view.execution is None and as_they_come(view, root) and span is not None:
        return f"its rows look {model.spell_duration(span)} back, farther than those of small steps do"
    names = [stage.noun for stage in root.walk() if stage.keeps_state]
    kept = f"Spark's streaming keeps its {' and '.join(dict.fromkeys(names))}"
    without = None if view.execution is not None else _without_small_steps(view, root)
    return f"{kept}; it has no small steps, because {without}" if without else kept


def _without_small_steps(view: model.View, root: Stage) -> str | None:
    """Tells why a view that is live has no small steps; None if nothing is to be said of that."""
    stateful = [stage for stage in root.walk() if stage.keeps_state]
    if (calls := not_in_parts(root)) and not is_joined(root):
        return f"{listed(calls)} can't be made of parts that are kept"
    if len(stateful) > 1:
        return "they add to one operator that keeps something, and it has several"
    if next((stage.streaming.unchanging for stage in stateful if stage.streaming.shown_early), None) is not None:
        if view.emit is Emit.FINAL:
            return "they would have to keep back what is declared to be shown once it is final"
        return "rows without a partner, which they would take back, have no key"
    if any(stage.is_opaque for stage in root.walk()):
        return "a function in Python reads its inputs as it likes"
    if any(by_panes(stage) is not None for stage in stateful):
        return "each would combine all windows that are open, of every key"
    return None


def _live_emit(view: model.View, root: Stage, append_only: str | None) -> tuple[Emit, str]:
    if view.emit is not None:
        return view.emit, "as declared"
    if append_only:
        return Emit.FINAL, f"Spark's streaming keeps no changes of {append_only}"
    return Emit.CHANGES, "a row is written once" if root.is_stateless else "its operators keep changes"


def _settled_emit(view: model.View, root: Stage) -> tuple[Emit, str]:
    if view.emit is not None:
        return view.emit, "as declared"
    if root.is_stateless or as_they_come(view, root):
        return Emit.CHANGES, "a row is written once"
    if settles(root) and key_of(view, root)[0].kind == "row":
        return Emit.FINAL, "its rows have no key by which a change could find them"
    if settles(root):
        return Emit.CHANGES, "what is open is compared with what it was, and the difference is written"
    return Emit.CHANGES, "no row is ever final"
