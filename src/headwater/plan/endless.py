"""The verdict on window functions over endless partitions (see `operators.over.endless`)."""

from __future__ import annotations

from datetime import timedelta

from headwater.findings import UnboundedState
from headwater.operators import Stage
from headwater.operators.over.endless import Refused, refused_calls
from headwater.plan.context import Context, is_refused


def judge_endless(context: Context, root: Stage, stated: timedelta | None) -> None:
    """Report the window functions that the stated horizon of a view gives no meaning, if nothing else is wrong."""
    if is_refused(context.view.name, context.findings):
        return
    for stage in root.walk() if stated is not None else ():
        for refused in refused_calls(stage):
            _report(context, stage, refused)


def _report(context: Context, stage: Stage, refused: Refused) -> None:
    view = context.view
    context.findings.append(
        UnboundedState(
            f'view "{view.name}" calls "{refused.function}" over a partition without an end',
            detail=refused.detail,
            hint=refused.hint,
            origin=stage.origin or view.origin,
            view=view.name,
            function=refused.function,
        )
    )
