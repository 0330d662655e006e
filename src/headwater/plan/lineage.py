"""Lineage: which columns of topics a view's columns derive from, and which views a column of a topic reaches.

A value *derives from* the columns that its expression names, through every stage and every view below. A view *reads*
more than that: the columns of its filters, its keys and its joins decide which rows there are.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.plan.planned import Plan
from headwater.plan.stages import Ancestor

Lineage = Mapping[str, Mapping[str, frozenset[Ancestor]]]


def lineage(plan: Plan) -> Lineage:
    """For every column of every view, the columns of topics that its value derives from, through views."""
    return {view.name: view.lineage for view in plan.views.values()}


def reads(plan: Plan) -> Mapping[str, frozenset[Ancestor]]:
    """For every view, the columns of topics that decide what its rows are, through views."""
    return {view.name: view.reads for view in plan.views.values()}


def reaches(plan: Plan, topic: str, column: str) -> tuple[Ancestor, ...]:
    """The columns of views whose values derive from a column of a topic, as (view, column) in order."""
    wanted = Ancestor(topic, column)
    return tuple(
        sorted(
            Ancestor(view, name)
            for view, columns in lineage(plan).items()
            for name, ancestors in columns.items()
            if wanted in ancestors
        )
    )
