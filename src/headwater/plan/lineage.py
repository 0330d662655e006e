"""Lineage: which columns of topics a view's columns derive from, and which views a column of a topic reaches.

A value *derives from* the columns that its expression names, through every stage and every view below. A view *reads*
more than that: the columns of its filters, its keys and its joins decide which rows there are.
"""

from __future__ import annotations

from headwater.operators import Ancestor
from headwater.plan.planned import Plan


def reaches(plan: Plan, topic: str, column: str) -> tuple[Ancestor, ...]:
    """The columns of views whose values derive from a column of a topic, as (view, column) in order."""
    wanted = Ancestor(topic, column)
    return tuple(
        sorted(
            Ancestor(view.name, name)
            for view in plan.views.values()
            for name, ancestors in view.lineage.items()
            if wanted in ancestors
        )
    )
