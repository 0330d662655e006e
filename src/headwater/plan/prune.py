"""Pruning: from the rows of a view down to its scans, only the columns that something uses are kept.

A scan then names exactly the columns that the source has to read (beside the event time and what identifies a row,
which an executor adds itself), and a projection that changes nothing disappears.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import singledispatch

from headwater import model
from headwater.plan.stages import (
    Aggregate,
    Apply,
    Assign,
    Deduplicate,
    Expand,
    Expression,
    Field,
    Filter,
    Join,
    Late,
    Ordering,
    Over,
    Project,
    Role,
    Scan,
    Stage,
    TopN,
    Union,
)
from headwater.sql.spelling import spell_name

WINDOW_COLUMNS = ("window_start", "window_end", "window_time")


def prune(stage: Stage) -> Stage:
    """The same rows from stages that carry no more columns than are used."""
    return _prune(stage, {field.name for field in stage.visible})


@singledispatch
def _prune(stage: Stage, needed: set[str]) -> Stage:
    raise TypeError(stage, needed)


@_prune.register
def _(stage: Scan, needed: set[str]) -> Stage:
    return replace(stage, columns=_only(stage.columns, needed))


@_prune.register
def _(stage: Filter, needed: set[str]) -> Stage:
    below = _prune(stage.input, needed | set(stage.condition.reads))
    return replace(stage, input=below, columns=below.columns)


@_prune.register
def _(stage: Project, needed: set[str]) -> Stage:
    kept = tuple(named for named in stage.expressions if named.name in needed)
    below = _prune(stage.input, _reads(named.expression for named in kept))
    columns = _only(stage.columns, needed)
    unchanged = all(named.expression.sql == spell_name(named.name) for named in kept)
    shown = not any(field.hidden for field in below.columns)
    if unchanged and shown and [field.name for field in below.columns] == [field.name for field in columns]:
        return below
    return replace(stage, input=below, columns=columns, expressions=kept)


@_prune.register
def _(stage: Expand, needed: set[str]) -> Stage:
    below = _prune(stage.input, (needed - set(stage.outputs)) | set(stage.generator.reads))
    return replace(stage, input=below, columns=_added(below, stage, stage.outputs))


@_prune.register
def _(stage: Assign, needed: set[str]) -> Stage:
    keys = stage.window.keys if isinstance(stage.window, model.Session) else ()
    below = _prune(stage.input, (needed - set(WINDOW_COLUMNS)) | {stage.time, *keys})
    return replace(stage, input=below, columns=_added(below, stage, WINDOW_COLUMNS))


@_prune.register
def _(stage: Late, needed: set[str]) -> Stage:
    own = {field.name for field in stage.with_role(Role.EVENT_TIME)}
    below = _prune(stage.input, (needed - own) | ({stage.time} if stage.time else set()))
    names = own | {field.name for field in below.columns}
    return replace(stage, input=below, columns=_only(stage.columns, names))


@_prune.register
def _(stage: Join, needed: set[str]) -> Stage:
    kept = [(place, field) for place, field in zip(stage.renames, stage.columns, strict=True) if field.name in needed]
    wanted = {side: {name for (found, name), _ in kept if found == side} for side in ("left", "right")}
    wanted["left"] |= _reads(left for left, _ in stage.equal)
    wanted["right"] |= _reads(right for _, right in stage.equal)
    for read in stage.residual.reads if stage.residual else ():
        wanted["left" if read.startswith("l.") else "right"].add(read[2:])
    if stage.bound:
        wanted["left"].add(stage.bound.left)
        wanted["right"].add(stage.bound.right)
    if stage.as_of:
        wanted["left"].add(stage.as_of.time)
    return replace(
        stage,
        left=_prune(stage.left, wanted["left"]),
        right=_prune(stage.right, wanted["right"]),
        renames=tuple(place for place, _ in kept),
        columns=tuple(field for _, field in kept),
    )


@_prune.register
def _(stage: Union, needed: set[str]) -> Stage:
    places = [place for place, field in enumerate(stage.columns) if field.name in needed]
    branches = tuple(_prune(branch, {branch.columns[place].name for place in places}) for branch in stage.branches)
    return replace(stage, branches=branches, columns=tuple(stage.columns[place] for place in places))


@_prune.register
def _(stage: Deduplicate, needed: set[str]) -> Stage:
    used = needed | _reads(stage.keys) | _ordered(stage.order)
    rank = stage.rank if stage.rank in needed else None
    below = _prune(stage.input, used - {stage.rank or ""})
    return replace(stage, input=below, rank=rank, columns=_added(below, stage, [rank] if rank else []))


@_prune.register
def _(stage: Aggregate, needed: set[str]) -> Stage:
    used = needed | set(stage.having.reads if stage.having else ())
    calls = tuple(call for call in stage.aggregates if call.name in used)
    reads = _reads([named.expression for named in stage.keys] + [call.expression for call in calls])
    names = {named.name for named in stage.keys} | {call.name for call in calls}
    return replace(stage, input=_prune(stage.input, reads), aggregates=calls, columns=_only(stage.columns, names))


@_prune.register
def _(stage: Over, needed: set[str]) -> Stage:
    calls = tuple(call for call in stage.functions if call.name in needed)
    names = {call.name for call in stage.functions}
    below = _prune(stage.input, (needed - names) | _reads(call.expression for call in calls))
    if not calls:
        return below
    return replace(stage, input=below, functions=calls, columns=_added(below, stage, [call.name for call in calls]))


@_prune.register
def _(stage: TopN, needed: set[str]) -> Stage:
    used = needed | _reads(stage.partition) | _ordered(stage.order)
    rank = stage.rank if stage.rank in needed else None
    below = _prune(stage.input, used - {stage.rank or ""})
    return replace(stage, input=below, rank=rank, columns=_added(below, stage, [rank] if rank else []))


@_prune.register
def _(stage: Apply, _needed: set[str]) -> Stage:
    return stage


def _only(columns: Iterable[Field], names: set[str]) -> tuple[Field, ...]:
    return tuple(field for field in columns if field.name in names)


def _added(below: Stage, stage: Stage, names: Iterable[str]) -> tuple[Field, ...]:
    """The columns of the stage below, and those that the stage adds to them."""
    added = set(names)
    kept = tuple(field for field in below.columns if field.name not in added)
    return (*kept, *(field for field in stage.columns if field.name in added))


def _reads(expressions: Iterable[Expression]) -> set[str]:
    return {name for expression in expressions for name in expression.reads}


def _ordered(order: Iterable[Ordering]) -> set[str]:
    return _reads(term.expression for term in order)
