"""Keys: what tells the rows of a view apart in a store.

A view's key is the one it declares, or the columns that it groups, ranks or deduplicates by, or else the identity of
the rows that it is made of. The first rows of a whole without an end are told apart as those of the whole are, where
no rank shows. A key that isn't shown in the output can't be kept: two rows of the store would look the same.

Where each row is made of an event, or of one of each side of a join, and their streams say what is `unique`, the key is
the ids and the times of these events, if the view shows them: an id that comes again at another time is another event.
"""

from __future__ import annotations

from headwater import model
from headwater.operators import Field, Role, Stage
from headwater.operators.stage import GroupKey
from headwater.plan.physical.key import Key


def key_of(view: model.View, root: Stage) -> tuple[Key, tuple[str, ...]]:
    """The key of a view, and the columns that it would need and the output doesn't show."""
    if view.key:
        missing = tuple(name for name in view.key if root.column(name) is None)
        shown = tuple(field.name for name in view.key if (field := root.column(name)) is not None)
        return Key(shown, "declared"), missing
    grouped = root.group_key
    if grouped is not None:
        return _shown(grouped)
    identity = root.identity
    shown = tuple(part.column for part in identity or () if part.column is not None)
    known = identity and len(shown) == len(identity)
    return Key(tuple(dict.fromkeys(shown)), "event") if known else Key((), "row"), ()


def left_out(view: model.View, root: Stage) -> tuple[str, ...]:
    """The columns that a view groups by and its declared key leaves out: several groups may have one key."""
    grouped = root.group_key
    if grouped is None or not view.key:
        return ()
    declared = {field.name for name in view.key if (field := root.column(name)) is not None}
    return _shown(grouped.renamed(lambda column: column if column in declared else None))[1]


def hidden_identity(root: Stage) -> tuple[str, ...]:
    """The columns of topics that would tell the rows of a view apart if it showed them; none if no columns do."""
    hidden = (f"{part.relation}.{part.name}" for part in root.identity or () if part.column is None)
    return tuple(dict.fromkeys(hidden))


def _shown(key: GroupKey) -> tuple[Key, tuple[str, ...]]:
    columns = tuple(name for field in key.fields if (name := key.shown_as[field.name]) is not None)
    missing = [field for field in key.fields if key.shown_as[field.name] is None]
    hidden = tuple(field.name for field in missing if not _follows(field, key))
    return Key(columns, "group"), hidden


def _follows(field: Field, key: GroupKey) -> bool:
    """Tells whether a bound of a window follows from another bound of it that is shown."""
    if not field.is_window_bound:
        return False
    by_start = isinstance(field.window, model.Tumble | model.Calendar | model.Hop)
    roles = (Role.WINDOW_END, Role.WINDOW_TIME, *([Role.WINDOW_START] if by_start else []))
    return any(
        other.role in roles and other.window == field.window and key.shown_as[other.name] is not None
        for other in key.fields
    )
