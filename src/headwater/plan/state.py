"""State: what bounds it, and how far back in time an input can matter.

The *reach* of a stage is the greatest distance in event time between a row that it gives and a row that it needed for
it: the size of a window, the bound of a join, the frame of an OVER. It is None where nothing in the query bounds it:
then the state would grow for ever, unless the view states its `horizon` or its `retention`: nothing beyond it is seen.
Reaches of stages that follow each other add up; their sum is the view's horizon.

A group or a partition *ends* if one of its keys is a time: no later row can join it. One without such a key is
*endless*: it holds the rows of the view's retention, each from its time on until the watermark has passed its time, the
retention and grace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import singledispatch

from headwater import model
from headwater.plan.stages import (
    STATELESS,
    Aggregate,
    Apply,
    Assign,
    Deduplicate,
    Expression,
    Field,
    Join,
    Late,
    Over,
    OverCall,
    Role,
    Scan,
    Stage,
    TopN,
)

_ENDING = (Role.EVENT_TIME, Role.ARRIVAL_TIME, Role.WINDOW_START, Role.WINDOW_END, Role.WINDOW_TIME)
_HAPPENING = (Role.WINDOW_TIME, Role.WINDOW_END, Role.EVENT_TIME)
_NONE = timedelta()


@singledispatch
def reach(_stage: Stage) -> timedelta | None:
    """How far back a stage looks, None if nothing bounds it."""
    return _NONE


@reach.register
def _(stage: Assign) -> timedelta | None:
    return None if isinstance(stage.window, model.Session) else stage.window.size


@reach.register
def _(stage: Join) -> timedelta | None:
    if stage.bound is not None:
        return stage.bound.reach
    return _NONE if stage.window is not None or stage.as_of is not None else None


@reach.register
def _(stage: Aggregate) -> timedelta | None:
    known = stage.window is not None or ends((named.expression for named in stage.keys), stage.input)
    return _NONE if known else None


@reach.register
def _(stage: Deduplicate) -> timedelta | None:
    return _NONE if ends(stage.keys, stage.input) or is_by_identity(stage) else None


@reach.register
def _(stage: TopN) -> timedelta | None:
    return _NONE if ends(stage.partition, stage.input) else None


@reach.register
def _(stage: Over) -> timedelta | None:
    found = [reach_of(call, stage.input) for call in stage.functions]
    known = [span for span in found if span is not None]
    return max(known) if len(known) == len(found) else None


@reach.register
def _(_stage: Apply) -> timedelta | None:
    return None


def is_endless(stage: Stage) -> bool:
    """Whether a stage keeps groups or partitions that never end, so that what it gives is never final."""
    return isinstance(stage, Aggregate | Deduplicate | TopN) and reach(stage) is None


def reach_of(call: OverCall, below: Stage) -> timedelta | None:
    """How far from a row a window function looks, None if nothing in it says so."""
    if ends(call.partition, below):
        return _NONE
    by_time = len(call.order) == 1 and order_time(call, below) is not None
    return call.frame.reach if call.frame and by_time else None


def order_time(call: OverCall, below: Stage) -> Field | None:
    """The column of event time that comes first in the order of a window function, if one does."""
    field = _column(call.order[0].expression, below) if call.order else None
    is_time = field is not None and _is_time(field) and field.role is not Role.ARRIVAL_TIME
    return field if is_time else None


def ends(keys: Iterable[Expression], below: Stage) -> bool:
    """Whether a group of these keys is over at some instant: one of them is a time that every row has.

    Behind an outer join the time of the other side can be NULL, and rows without a time go on for ever.
    """
    fields = (_column(key, below) for key in keys)
    return any(field is not None and _is_time(field) and not field.nullable for field in fields)


def is_by_time_behind_a_join(stage: Stage) -> bool:
    """Whether a stage groups the rows of a join by the instant of one of their sides, and not by a window."""
    roles = {field.role for field in times_among_keys(stage)}
    is_joined = any(isinstance(found, Join) for below in stage.inputs for found in below.walk())
    return is_joined and bool(roles) and not any(role.bounds_window for role in roles if role)


def times_among_keys(stage: Stage) -> list[Field]:
    """The keys of a stage that are times, whether or not every row has them."""
    match stage:
        case Aggregate():
            keys = [named.expression for named in stage.keys]
        case Deduplicate():
            keys = list(stage.keys)
        case TopN():
            keys = list(stage.partition)
        case _:
            return []
    return [field for key in keys if (field := _column(key, stage.input)) and _is_time(field)]


def _is_time(field: Field) -> bool:
    """Whether all rows with one value of a column are there at some instant. Growing windows share their start."""
    grows = isinstance(field.window, model.Cumulate | model.Session)
    return field.role in _ENDING and not (field.role is Role.WINDOW_START and grows)


def _column(expression: Expression, below: Stage) -> Field | None:
    return below.column(expression.reads[0]) if expression.is_column else None


def is_by_identity(stage: Deduplicate) -> bool:
    """Whether rows are duplicates only if they are the same event: the stream's `unique` columns are among the keys."""
    scans = [found for found in stage.walk() if isinstance(found, Scan)]
    keys = {ancestor for key in stage.keys if key.is_column for ancestor in _ancestors(key, stage.input)}
    return len(scans) == 1 and all(
        scan.unique and {(scan.relation, column) for column in scan.unique} <= keys for scan in scans
    )


def _ancestors(key: Expression, below: Stage) -> Iterable[tuple[str, str]]:
    field = below.column(key.reads[0])
    return field.ancestors if field else ()


def is_table(stage: Stage) -> bool:
    """Whether the rows of a stage are the current rows of a table rather than events."""
    below = list(stage.walk())
    is_read = any(isinstance(found, Scan) and found.kind == "table" for found in below)
    return is_read and all(isinstance(found, STATELESS) for found in below)


def time_of(root: Stage) -> Field | None:
    """The column that says when a row of a view happens, for those that read the view; None if rows may lack one."""
    known = [field for field in root.visible if not field.nullable]
    return next((field for role in _HAPPENING for field in known if field.role is role), None)


def unbounded(root: Stage) -> Iterator[Stage]:
    """The stages that nothing in the query bounds; sessions are bounded, by their gap."""
    for stage in root.walk():
        if reach(stage) is None and not isinstance(stage, Assign):
            yield stage


def horizon(root: Stage, stated: timedelta | None = None) -> timedelta | None:
    """The sum of the reaches on the longest way down; where one isn't known it is the `stated` one, None without.

    Endless groups of endless groups are made of what is retained already.
    """
    if isinstance(root, Late):  # a row is late by itself
        return _NONE
    own = reach(root)
    if own is None:
        retained = is_endless(root) and any(is_endless(found) for below in root.inputs for found in below.walk())
        own = _NONE if retained else stated
    below = [horizon(stage, stated) for stage in root.inputs]
    known = [span for span in below if span is not None]
    if own is None or len(known) != len(below):
        return None
    return own + max(known, default=_NONE)


def known_reach(root: Stage) -> timedelta:
    """The horizon as far as it is known: what a stated one must not be shorter than."""
    if isinstance(root, Late):
        return _NONE
    own = reach(root) or _NONE
    if isinstance(root, Over):
        own = max((reach_of(call, root.input) or _NONE for call in root.functions), default=_NONE)
    return own + max((known_reach(stage) for stage in root.inputs), default=_NONE)
