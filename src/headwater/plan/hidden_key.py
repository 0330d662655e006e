"""Hidden keys: what tells the rows of a view apart and isn't shown, which its store keeps and no reader sees.

`SELECT count(*) AS n FROM orders GROUP BY customer` has a row of each customer. The column is carried up to the last
stage under a name of its own, `_key_customer`, so that a store can find a row again; `*` doesn't stand for it. The
first rows of a whole that never ends are told apart by their rank in the same way, and the rows of a join that are
never final by what tells the rows of its sides apart.
"""

from __future__ import annotations

from headwater import model
from headwater.operators import Role, Stage
from headwater.operators.carried import Shown, carried
from headwater.plan.execution import settles
from headwater.plan.key import key_of


def with_hidden_key(view: model.View, whole: Stage) -> Stage:
    """The stages of a query with no more columns than it shows, and those of its key that a store needs beside them."""
    root = whole.pruned({field.name for field in whole.visible})
    key, missing = key_of(view, root)
    never_final = key.kind == "row" and not root.is_stateless and not settles(root)
    if view.key or not view.materialized or not (missing or never_final):
        return root
    while (column := _missing(view, whole)) is not None:
        kept = carried(whole, *column)
        if kept is None:
            return root
        whole = kept
    return whole.pruned({field.name for field in whole.columns if not field.hidden or field.column.is_hidden})


def _missing(view: model.View, root: Stage) -> tuple[str, Shown] | None:
    """A column of the key that isn't shown: the end of a window first, which its start follows from."""
    missing, key = key_of(view, root)[1], root.group_key
    if key is None:
        hidden = (number for number, part in enumerate(root.identity or ()) if part.column is None)
        number = next(hidden, None)
        return None if number is None else ((root.identity or ())[number].name, _shown_part(number))
    fields = sorted(key.fields, key=lambda field: field.role is not Role.WINDOW_END)
    name = next((field.name for field in fields if field.name in missing), None)
    return None if name is None else (name, _shown_group(name))


def _shown_group(name: str) -> Shown:
    return lambda stage: stage.group_key.shown_as.get(name) if stage.group_key is not None else None


def _shown_part(number: int) -> Shown:
    return lambda stage: stage.identity[number].column if stage.identity is not None else None
