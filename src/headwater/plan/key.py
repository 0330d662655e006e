"""Keys: what tells the rows of a view apart in a store.

A view's key is the one it declares, or the columns that it groups, ranks or deduplicates by, or else the identity of
the rows that it is made of. The first rows of a whole without an end are told apart as those of the whole are, where
no rank shows. A key that isn't shown in the output can't be kept: two rows of the store would look the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    if grouped is None:
        return Key((), "row"), ()
    return _shown(grouped)


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


def _renamed(origins: Origins, stage: Project) -> Origins:
    shown: dict[str, str] = {}
    for named in stage.expressions:
        if named.expression.is_column:
            shown.setdefault(named.expression.reads[0].lower(), named.name)
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
