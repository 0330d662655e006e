"""A plan in colour: the planner's own words, with its headings, stages and lineage set apart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.text import Text

from headwater.cli.output import console

if TYPE_CHECKING:
    from headwater.plan import Plan

_PARTS = (
    (re.compile(r'^(view) (".*") (\S+)$', re.MULTILINE), ("bold", "bold cyan", "dim")),
    (re.compile(r'^(outlet) (".*")$', re.MULTILINE), ("bold", "bold cyan")),
    (
        re.compile(
            r"^  (execution|emit|key|horizon|grace|columns|stages|lineage|state|version|spark|sends|to)\b", re.MULTILINE
        ),
        ("bold",),
    ),
    (re.compile(r"([├└│─]+)"), ("dim",)),
    (re.compile(r"(←)"), ("green",)),
)


def show_plan(plan: Plan, view: str | None) -> None:
    """Print the plan of one view or of all."""
    from headwater.plan import describe

    show_description(describe(plan, view))


def show_description(description: str) -> None:
    """Print a plan that was described."""
    text = Text(description)
    for pattern, styles in _PARTS:
        for matched in pattern.finditer(text.plain):
            for group, style in enumerate(styles, 1):
                text.stylize(style, *matched.span(group))
    console.print(text)
