"""The columns of a view that add up: the value of a group is the sum of the values of its parts.

Counts and sums do, where they are exact: integers and decimals. The difference between two values of such a column is
what the rows in between have brought, so it can be sent instead of a new total (*discard*, as Beam calls it).
"""

from __future__ import annotations

from headwater.plan.planned import PlannedView


def not_additive(view: PlannedView) -> str | None:
    """The first column, beside the key, that doesn't add up; None if all do."""
    names = view.root.additive
    others = (column.name for column in view.columns if column.name not in view.identity)
    return next((name for name in others if name not in names), None)
