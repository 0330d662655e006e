"""A plan in words: one tree of stages per view, as plain text."""

from __future__ import annotations

from collections.abc import Iterable

from headwater import model
from headwater.operators import Stage
from headwater.operators.assign.stage import is_overlapping, pane_of, windows_of, windows_per_row
from headwater.plan.planned import Plan, PlannedOutlet, PlannedView


def describe(plan: Plan, view: str | None = None) -> str:
    """The plan of one view, or of all views in the order in which they can be built; and what they are sent to."""
    views = [plan.view(view)] if view is not None else list(plan.views.values())
    outlets = [outlet for outlet in plan.outlets.values() if outlet.view in views]
    return "\n\n".join([*map(describe_view, views), *map(describe_outlet, outlets)])


def describe_outlet(planned: PlannedOutlet) -> str:
    """One outlet: what it sends, and where to."""
    outlet = planned.outlet
    differences = ", differences" if outlet.accumulation == "discard" else ""
    facts = [
        ("sends", f"{outlet.envelope} of {planned.view.name}{differences}"),
        ("to", outlet.to),
        ("key", ", ".join(planned.key)),
    ]
    return "\n".join([f'outlet "{planned.name}"', *(f"  {name:<10} {value}" for name, value in facts if value)])


def describe_view(planned: PlannedView) -> str:
    """One view: its execution, what it shows, its stages and its lineage."""
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
    """The combination of windows that overlap, where a view is settled."""
    stages = (operator.panes for operator in planned.physical.operators if operator.panes is not None)
    windows = [window for stage in stages for window in windows_of(stage) if is_overlapping(window)]
    lengths = {f"{model.spell_duration(pane_of(window))}, {windows_per_row(window)} to a window" for window in windows}
    return "; ".join(sorted(lengths))


def _retention(planned: PlannedView) -> str:
    endless = any(stage.is_endless for stage in planned.stages)
    return model.spell_duration(planned.retention) if endless and planned.retention is not None else ""


def _lineage(planned: PlannedView) -> Iterable[str]:
    width = max((len(name) for name in planned.lineage), default=0)
    for name, ancestors in planned.lineage.items():
        yield f"{name:<{width}} ← {', '.join(str(column) for column in sorted(ancestors)) or 'no column'}"


def _tree(stage: Stage) -> list[str]:
    lines = [stage.line]
    for number, below in enumerate(stage.inputs, start=1):
        last = number == len(stage.inputs)
        first, *rest = _tree(below)
        lines.append(f"{'└─' if last else '├─'} {first}")
        lines += [f"{'   ' if last else '│  '}{line}" for line in rest]
    return lines
