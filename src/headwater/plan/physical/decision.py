"""Decisions: the physical plan of a view, from its declaration and its stages."""

from __future__ import annotations

from datetime import timedelta

from headwater import model
from headwater.operators import Stage
from headwater.operators.join.stage import is_joined
from headwater.operators.kept import Kept
from headwater.operators.scan.stage import scans_of
from headwater.plan.execution import execution, shows_events
from headwater.plan.physical.end import end_of
from headwater.plan.physical.execution import Execution
from headwater.plan.physical.finality import waits
from headwater.plan.physical.kept import kept_between_steps, kept_in_state
from headwater.plan.physical.key import Key
from headwater.plan.physical.operators import operators_of
from headwater.plan.physical.pace import Pace, pace_of
from headwater.plan.physical.published import published
from headwater.plan.physical.step import Step, kept_parts, kept_totals, step_of
from headwater.plan.physical.sums import sums_of
from headwater.plan.physical.trace import found_by
from headwater.plan.physical.tracking import tracking_of
from headwater.plan.physical.view import Physical
from headwater.plan.planned import sight_of


def decide(view: model.View, root: Stage, key: Key) -> Physical:
    """Everything about how a view is carried out."""
    chosen, pace, sight = execution(view, root), pace_of(view, root), sight_of(view)
    is_live, is_settled = chosen.kind == "live", chosen.kind in ("settle", "maintained", "batch")
    totals, parts = kept_totals(view, root, chosen, pace), kept_parts(view, root, chosen, key)
    found = found_by(root) if chosen.kind == "maintained" and parts is None else None
    sums = sums_of(root, found) if found is not None else None
    traced = sums is not None or (found is not None and found.trace is not None)
    operators = operators_of(root, chosen, totals, parts, sums[0] if sums is not None else None, traced=traced)
    step = step_of(view, root, chosen, operators, found, keyed=key.kind != "row") if is_settled else None
    step = step.over_sums(*sums) if step is not None and sums is not None else step
    waiting = waits(root, sight)
    reach = (chosen.horizon or timedelta()) + waiting
    return Physical(
        execution=chosen,
        operators=operators,
        streaming=tracking_of(root, pace) if is_live else None,
        step=step,
        keeps=_kept(view, root, chosen, pace, step, reach),
        pace=pace,
        waits=waiting,
        reach=reach,
        end=end_of(root, sight),
        publishes=published(root, key.columns, pace, sight),
        first_copies=shows_events(root),
        written_once=chosen.emit is model.Emit.FINAL
        or (step is not None and step.as_they_come)
        or (not is_settled and not any(stage.groups_rows for stage in root.walk())),
        admitted_once=not view.is_forever
        and not root.is_stateless
        and not is_joined(root)
        and len(list(scans_of(root))) == 1,
        checks_key=key.kind == "declared" and bool(key.columns),
    )


def _kept(
    view: model.View, root: Stage, chosen: Execution, pace: Pace, step: Step | None, reach: timedelta
) -> tuple[Kept, ...]:
    if step is not None:
        return kept_between_steps(view, root, chosen, pace, step, reach)
    return kept_in_state(root, view.grace) if chosen.kind == "live" else ()
