"""Keys: what tells the rows of a view apart in a store.

A view's key is the one it declares, or the columns that it groups, ranks or deduplicates by, or else the identity of
the rows that it is made of. The first rows of a whole without an end are told apart as those of the whole are, where
no rank shows. A key that isn't shown in the output can't be kept: two rows of the store would look the same.

Where each row is made of an event, or of one of each side of a join, and their streams say what is `unique`, the key is
the ids and the times of these events, if the view shows them: an id that comes again at another time is another event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import pyarrow as pa

from headwater import model
from headwater.plan.planned import Key
from headwater.plan.stages import (
    Aggregate,
    Assign,
    Deduplicate,
    Expand,
    Expression,
    Field,
    Filter,
    Join,
    Over,
    Project,
    Role,
    Scan,
    Stage,
    TopN,
)
from headwater.plan.state import is_endless


def key_of(view: model.View, root: Stage) -> tuple[Key, tuple[str, ...]]:
    """The key of a view, and the columns that it would need and the output doesn't show."""
    if view.key:
        missing = tuple(name for name in view.key if root.column(name) is None)
        shown = tuple(field.name for name in view.key if (field := root.column(name)) is not None)
        return Key(shown, "declared"), missing
    grouped = _group(root)
    if grouped is not None:
        return _shown(grouped)
    events = _events(root)
    shown = tuple(event.column for event in events or () if event.column is not None)
    return Key(tuple(dict.fromkeys(shown)), "event") if events and len(shown) == len(events) else Key((), "row"), ()


def hidden_identity(root: Stage) -> tuple[str, ...]:
    """The columns of streams that would tell the rows of a view apart if it showed them; none if no columns do."""
    hidden = (f"{event.relation}.{event.name}" for event in _events(root) or () if event.column is None)
    return tuple(dict.fromkeys(hidden))


class Event(NamedTuple):
    """A column that identifies an event of a stream, and what the rows that are made of it call it, if they have it."""

    relation: str
    name: str
    column: str | None


def _events(stage: Stage) -> tuple[Event, ...] | None:
    """The columns that identify the events that a row of a stage is made of; None if something else tells rows apart.

    An event that is in several windows is a row in each.
    """
    match stage:
        case Scan(kind="stream"):
            return tuple(Event(stage.relation, name, _plain(stage, name)) for name in stage.key) or None
        case Filter() | Over() | TopN() | Deduplicate():
            return _events(stage.input)
        case Project():
            shown = _shown_by(stage)
            return _mapped(_events(stage.input), lambda name: shown.get(name.lower()))
        case Assign():
            several = isinstance(stage.window, model.Hop | model.Cumulate)
            below = _events(stage.input)
            return below and (*below, *([Event("", "window_end", "window_end")] if several else []))
        case Join():
            return _of_pairs(stage)
    return None


def _of_pairs(stage: Join) -> tuple[Event, ...] | None:
    """Those of both rows of a pair; of the left one where the right one only decides whether it is there, or is one."""
    names: dict[tuple[str, str], str] = {}
    for (side, name), field in zip(stage.renames, stage.columns, strict=True):
        names.setdefault((side, name.lower()), field.name)
    left = _mapped(_events(stage.left), lambda name: names.get(("left", name.lower())))
    if stage.kind in ("semi", "anti") or stage.as_of is not None:
        return left
    right = _mapped(_events(stage.right), lambda name: names.get(("right", name.lower())))
    return (*left, *right) if left and right else None


def _mapped(events: tuple[Event, ...] | None, shown: Callable[[str], str | None]) -> tuple[Event, ...] | None:
    return events and tuple(event._replace(column=event.column and shown(event.column)) for event in events)


def _plain(stage: Stage, name: str) -> str | None:
    """A column by which a store can find rows: of a value that is equal to itself alone."""
    field = stage.column(name)
    odd = field is None or pa.types.is_nested(field.type) or pa.types.is_floating(field.type)
    return None if odd or field is None else field.name


Origins = Mapping[str, str | None]
"""For each column of a group's key, what the output calls it; None if it doesn't show it."""


def _group(root: Stage) -> tuple[tuple[Field, ...], Origins] | None:
    """The key columns of the last stage that gives one row per group, and what the output calls them."""
    match root:
        case Aggregate():
            fields = root.columns[: len(root.keys)]
            return fields, {field.name: field.name for field in fields}
        case Deduplicate():
            return _ranked(root)
        case TopN():
            return _ranked(root) or (_group(root.input) if is_endless(root) else None)
        case Scan(kind="table"):
            keys = tuple(field for name in root.key if (field := root.column(name)) is not None)
            return keys, {field.name: field.name for field in keys}
        case Project():
            below = _group(root.input)
            return (below[0], _renamed(below[1], root)) if below else None
        case Filter() | Over():
            return _group(root.input)
        case Assign() | Expand():
            return None
    return None


def _ranked(stage: Deduplicate | TopN) -> tuple[tuple[Field, ...], Origins] | None:
    keys: Iterable[Expression] = stage.keys if isinstance(stage, Deduplicate) else stage.partition
    many = isinstance(stage, TopN) and (stage.limit > 1 or stage.ranking != "row_number")
    if many and not (isinstance(stage, TopN) and stage.rank and stage.ranking == "row_number"):
        return None
    found = [stage.column(key.reads[0]) if key.is_column else None for key in keys]
    if None in found:
        return None
    fields = [field for field in found if field is not None]
    if many and isinstance(stage, TopN):
        rank = stage.column(stage.rank or "")
        fields += [rank] if rank else []
    return tuple(fields), {field.name: field.name for field in fields}


def _shown_by(stage: Project) -> dict[str, str]:
    """What a projection calls the columns that it passes on."""
    shown: dict[str, str] = {}
    for named in stage.expressions:
        if named.expression.is_column:
            shown.setdefault(named.expression.reads[0].lower(), named.name)
    return shown


def _renamed(origins: Origins, stage: Project) -> Origins:
    shown = _shown_by(stage)
    return {name: shown.get(place.lower()) if place else None for name, place in origins.items()}


def _shown(grouped: tuple[tuple[Field, ...], Origins]) -> tuple[Key, tuple[str, ...]]:
    fields, origins = grouped
    columns = tuple(name for field in fields if (name := origins[field.name]) is not None)
    missing = [field for field in fields if origins[field.name] is None]
    hidden = tuple(field.name for field in missing if not _follows(field, fields, origins))
    return Key(columns, "group"), hidden


def _follows(field: Field, fields: tuple[Field, ...], origins: Origins) -> bool:
    """Whether a bound of a window follows from another bound of it that is shown."""
    if field.role is None or not field.role.bounds_window:
        return False
    by_start = isinstance(field.window, model.Tumble | model.Calendar | model.Hop)
    roles = (Role.WINDOW_END, Role.WINDOW_TIME, *([Role.WINDOW_START] if by_start else []))
    return any(
        other.role in roles and other.window == field.window and origins[other.name] is not None for other in fields
    )
