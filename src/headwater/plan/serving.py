"""The wishes of a view to its stores, held against its columns, its key and the kinds of its stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from headwater import model
from headwater.errors import Finding
from headwater.findings import OptionRefused, StoreRefused
from headwater.plan.context import Context
from headwater.plan.planned import PlannedView
from headwater.sql.refusal import did_you_mean

_WITHOUT_LAYOUTS = ("sqlite", "postgresql", "postgres", "delta")
_WITHOUT_INDEXES = ("redis", "rediss", "delta")
"""Kinds of stores that have no use for an option; those of other packages may have."""
Refused = tuple[type[Finding], str, str | None, str]


def judge_serving(context: Context, planned: PlannedView, stores: Sequence[model.Store]) -> None:
    """Report every option that no store of the view takes, or that its columns don't bear out."""
    serving = planned.view.serving
    if serving == model.Serving() or not planned.root.visible:
        return
    named = [store for store in stores if store.name in planned.view.stores] or list(stores[:1])
    kinds = {store.url.partition(":")[0].partition("+")[0] for store in named}
    for kind, what, detail, hint in [*_unused(serving, kinds), *_unborne(serving, planned)]:
        view = planned.view
        finding = kind(f'view "{view.name}" {what}', detail=detail, hint=hint, origin=view.origin, view=view.name)
        context.findings.append(finding)


def _unused(serving: model.Serving, kinds: set[str]) -> Iterator[Refused]:
    shown = [name for name in ("layout", "score", "group", "ttl") if getattr(serving, name)]
    if shown and kinds <= set(_WITHOUT_LAYOUTS):
        hint = "Name a store whose URL starts with redis://, or leave the option out."
        yield StoreRefused, f"states {shown[0]}, and none of its stores is Redis", None, hint
    if serving.indexes and kinds <= set(_WITHOUT_INDEXES):
        hint = "Name a store in PostgreSQL or SQLite, or leave the option out."
        yield StoreRefused, "states index, and none of its stores is a database with indexes", None, hint


def _unborne(serving: model.Serving, planned: PlannedView) -> Iterator[Refused]:
    columns = {column.name: column.type for column in planned.columns}
    for name in {name: None for index in serving.indexes for name in index}:
        if name not in columns:
            hint = did_you_mean(name, list(columns)) or f"The view has {', '.join(columns)}."
            yield OptionRefused, f'states an index on "{name}", which is none of its columns', None, hint
    if serving.layout == "sorted set":
        yield from _sorted_set(serving, planned, columns)
    elif serving.layout is not None and (serving.score or serving.group):
        hint = "Write layout = 'sorted set', or leave score and group out."
        yield OptionRefused, f"states a score or a group, and has the layout {serving.layout}", None, hint
    if serving.ttl is not None and serving.layout in ("json", "stream"):
        hint = "Write layout = 'hash' or 'sorted set', or leave ttl out."
        yield OptionRefused, f"states ttl, and nothing of the layout {serving.layout} can expire", None, hint


def _sorted_set(serving: model.Serving, planned: PlannedView, columns: dict[str, pa.DataType]) -> Iterator[Refused]:
    kind = columns.get(serving.score or "")
    if kind is None or not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        what = f'"{serving.score}" is none' if serving.score else "none is named"
        hint = "Write score = '…' with a column of numbers."
        yield OptionRefused, f"is a sorted set, which needs a column of numbers as its score, and {what}", None, hint
    key, group = set(planned.identity), set(serving.group)
    if not group < key:
        listed = ", ".join(planned.identity) or "no column"
        hint = "Name some columns of the key as group, and leave at least one: it is the member."
        yield OptionRefused, "is a sorted set whose groups are not a part of its key", f"The key is {listed}.", hint
