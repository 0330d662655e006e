"""The verdict on views that hold every row for ever: what has no meaning where nothing is late and nothing ends."""

from __future__ import annotations

from headwater.findings import OptionRefused
from headwater.operators import Stage
from headwater.operators.scan.stage import scans_of
from headwater.plan.context import Context


def judge_forever(context: Context, root: Stage) -> None:
    """Report the stages of a view without an end that only have a meaning in time."""
    if not context.view.is_forever:
        return
    for stage in root.walk():
        if stage.bound_to_time:
            _report(context, stage, stage.bound_to_time)
    if context.view.horizon is not None:
        context.findings.append(
            OptionRefused(
                f'view "{context.view.name}" holds every row for ever, and states a horizon',
                detail="No row is too far away from another to matter.",
                hint="Leave horizon out; or state how long a row counts: retention = '30 days'.",
                origin=context.view.origin,
                view=context.view.name,
            )
        )
    for scan in scans_of(root):
        if scan.within is not None:
            _report(context, scan, f'Which events of "{scan.relation}" are taken is decided within a span of time.')


def _report(context: Context, stage: Stage, reason: str) -> None:
    context.findings.append(
        OptionRefused(
            f'view "{context.view.name}" holds every row for ever, and reads what doesn\'t',
            detail=reason,
            hint="State how long a row counts: retention = '30 days'; or make a view of its own for that part. "
            "A period is also a value: GROUP BY date_trunc('DAY', at).",
            origin=stage.origin or context.view.origin,
            view=context.view.name,
        )
    )
