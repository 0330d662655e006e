"""A plan in words: one tree of stages per view, as plain text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

from headwater import model
from headwater.plan.panes import by_panes, is_overlapping, pane_of, windows_per_row
from headwater.plan.planned import Plan, PlannedOutlet, PlannedView
from headwater.plan.stages import (
    Aggregate,
    Apply,
    Assign,
    Deduplicate,
    Expand,
    Expression,
    Filter,
    Join,
    Late,
    Over,
    Project,
    Scan,
    Stage,
    TopN,
    Union,
)
from headwater.plan.state import is_endless


def describe(plan: Plan, view: str | None = None) -> str:
    """The plan of one view, or of all views in the order in which they can be built; and what they are sent to."""
    views = [plan.view(view)] if view is not None else list(plan.views.values())
    outlets = [outlet for outlet in plan.outlets.values() if outlet.view in views]
    return "\n\n".join([*map(describe_view, views), *map(describe_outlet, outlets)])


def describe_outlet(planned: PlannedOutlet) -> str:
    """What one outlet sends, and where to."""
    outlet = planned.outlet
    differences = ", differences" if outlet.accumulation == "discard" else ""
    facts = [
        ("sends", f"{outlet.envelope} of {planned.view.name}{differences}"),
        ("to", outlet.to),
        ("key", ", ".join(planned.key)),
    ]
    return "\n".join([f'outlet "{planned.name}"', *(f"  {name:<10} {value}" for name, value in facts if value)])


def describe_view(planned: PlannedView) -> str:
    """How one view is executed, what it shows, its stages and its lineage."""
    execution = planned.execution
    horizon = model.spell_duration(execution.horizon) if execution.horizon is not None else "not known"
    shown = ", ".join(planned.key.columns) or ("one row in all" if planned.key.kind == "group" else "")
    facts = [
        ("execution", f"{execution.kind}: {execution.why}"),
        ("emit", f"{execution.emit.value}: {execution.emit_why}" if execution.emit_why else ""),
        ("panes", _panes(planned)),
        ("every", model.spell_duration(planned.view.every) if planned.view.every is not None else ""),
        ("key", "each row by its identity in the log" if planned.key.kind == "row" else shown),
        ("horizon", horizon),
        ("retention", _retention(planned)),
        ("grace", model.spell_duration(planned.view.grace)),
        ("columns", ", ".join(str(column) for column in planned.columns)),
    ]
    lines = [f'view "{planned.name}" {planned.fingerprint}']
    lines += [f"  {name:<10} {value}" for name, value in facts if value]
    lines += ["  stages", *(f"    {line}" for line in _tree(planned.root))]
    lines += ["  lineage", *(f"    {line}" for line in _lineage(planned))]
    return "\n".join(lines)


def _panes(planned: PlannedView) -> str:
    """How windows that overlap are combined, where a view is settled."""
    if planned.execution.kind != "settle":
        return ""
    aggregates = (stage for stage in planned.stages if isinstance(stage, Aggregate) and by_panes(stage))
    windows = [stage.window for stage in aggregates if is_overlapping(stage.window)]
    lengths = {f"{model.spell_duration(pane_of(window))}, {windows_per_row(window)} to a window" for window in windows}
    return "; ".join(sorted(lengths))


def _retention(planned: PlannedView) -> str:
    endless = any(is_endless(stage) for stage in planned.stages)
    return model.spell_duration(planned.retention) if endless and planned.retention is not None else ""


def _lineage(planned: PlannedView) -> Iterable[str]:
    width = max((len(name) for name in planned.lineage), default=0)
    for name, ancestors in planned.lineage.items():
        yield f"{name:<{width}} ← {', '.join(str(found) for found in sorted(ancestors)) or 'no column'}"


def _tree(stage: Stage) -> list[str]:
    lines = [line(stage)]
    for place, below in enumerate(stage.inputs, start=1):
        last = place == len(stage.inputs)
        first, *rest = _tree(below)
        lines.append(f"{'└─' if last else '├─'} {first}")
        lines += [f"{'   ' if last else '│  '}{found}" for found in rest]
    return lines


@singledispatch
def line(stage: Stage) -> str:
    """One stage in one line."""
    raise TypeError(stage)


@line.register
def _(stage: Scan) -> str:
    columns = ", ".join(field.name for field in stage.columns)
    unique = f" unique by {', '.join(stage.unique)}" if stage.unique else ""
    once = f" once per id within {model.spell_duration(stage.within)}" if stage.within is not None else ""
    return f"Scan {stage.kind} {stage.relation}{unique}{once}: {columns or 'no column'}"


@line.register
def _(stage: Filter) -> str:
    return f"Filter {stage.condition}"


@line.register
def _(stage: Project) -> str:
    return f"Project {_list(stage.expressions)}"


@line.register
def _(stage: Expand) -> str:
    return f"Expand {'outer ' if stage.outer else ''}{stage.generator} AS {', '.join(stage.outputs)}"


@line.register
def _(stage: Assign) -> str:
    return f"Assign {spell_window(stage.window)} over {stage.time}"


@line.register
def _(stage: Late) -> str:
    grace = f" and a grace of {model.spell_duration(stage.grace)}" if stage.grace else ""
    return f"Late for {stage.time or 'the window'}{grace}"


@line.register
def _(stage: Join) -> str:
    parts = [f"{_qualified('l', left)} = {_qualified('r', right)}" for left, right in stage.equal]
    text = f"Join {stage.kind}{' on ' + ' and '.join(parts) if parts else ''}"
    if stage.bound is not None:
        text += f" within {stage.bound}"
    if stage.window is not None:
        text += f" in the same {spell_window(stage.window)}"
    if stage.as_of is not None:
        text += f" as of {stage.as_of.time}"
    return f"{text} where {stage.residual}" if stage.residual else text


@line.register
def _(stage: Union) -> str:
    return f"Union {', '.join(field.name for field in stage.columns)}"


@line.register
def _(stage: Deduplicate) -> str:
    order = f", the first by {_list(stage.order)}" if stage.order else ""
    return f"Deduplicate by {_list(stage.keys)}{order}"


@line.register
def _(stage: Aggregate) -> str:
    keys = f" by {_list(stage.keys)}" if stage.keys else ""
    having = f" having {stage.having}" if stage.having else ""
    return f"Aggregate{keys}: {_list(stage.aggregates) or 'nothing'}{having}"


@line.register
def _(stage: Over) -> str:
    return f"Over {_list(stage.functions)}"


@line.register
def _(stage: TopN) -> str:
    by = f" per {_list(stage.partition)}" if stage.partition else ""
    return f"TopN {stage.limit} by {stage.ranking}{by}, ordered by {_list(stage.order)}"


@line.register
def _(stage: Apply) -> str:
    return f"Apply {stage.module}.{stage.function}"


def _qualified(side: str, expression: Expression) -> str:
    return f"{side}.{expression}" if expression.is_column else f"{side}: {expression}"


def _list(parts: Iterable[object]) -> str:
    return ", ".join(str(part) for part in parts)


def _calendar(window: model.Calendar) -> str:
    lengths = (("year", 12), ("month", 1)) if window.unit == "month" else (("week", 7), ("day", 1))
    name, size = next((name, size) for name, size in lengths if window.count % size == 0)
    count = window.count // size
    return f"{count} {name}{'s' if count > 1 else ''}"


def spell_window(window: model.Window) -> str:
    """The window in a few words.

    >>> from datetime import timedelta
    >>> spell_window(model.Hop(timedelta(minutes=5), timedelta(minutes=1)))
    'HOP of 5 minutes every 1 minute'
    """
    match window:
        case model.Tumble():
            text = f"TUMBLE of {model.spell_duration(window.size)}"
        case model.Calendar():
            text = f"TUMBLE of {_calendar(window)} in {window.zone}"
        case model.Hop():
            text = f"HOP of {model.spell_duration(window.size)} every {model.spell_duration(window.slide)}"
        case model.Cumulate():
            text = f"CUMULATE to {model.spell_duration(window.size)} by {model.spell_duration(window.step)}"
        case model.Session():
            keys = f" per {', '.join(window.keys)}" if window.keys else ""
            return f"SESSION with a gap of {model.spell_duration(window.gap)}{keys}"
    return f"{text} offset by {model.spell_duration(window.offset)}" if window.offset else text
