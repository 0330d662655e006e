"""Changes of declarations in meaning: what becomes of the rows of a view whose plan is another one.

Plans are compared, not texts: spelling, comments, names within a query and the order of conditions make no difference.
A view's own plan is told apart from those of the views that it reads, so that a reader of a changed view is known to
have other rows only if what it reads has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlglot import exp

from headwater import model, sql
from headwater.errors import DeclarationError
from headwater.operators import Stage
from headwater.plan.data import data_of, filled_in
from headwater.plan.planned import Plan, PlannedView

Effect = Literal["none", "same rows", "additive", "other rows"]
"""The consequence for a view's rows: it is the same plan; it has the same rows, kept, shown or reached in another way;
the same with more columns; other rows."""
_CONNECTED = re.compile(r"\b(AND|OR)\b")
_UNKNOWN = "what it was built by was not kept"


@dataclass(frozen=True)
class Difference:
    """The effect of a changed plan on the rows of a view, and in words why."""

    effect: Effect
    why: tuple[str, ...] = ()

    @property
    def is_none(self) -> bool:
        """Tells whether nothing differs."""
        return self.effect == "none"


UNKNOWN = Difference("other rows", (_UNKNOWN,))


def differences(before: Plan, after: Plan) -> dict[str, Difference]:
    """The difference of each materialized view that both plans have, in the order in which they can be built."""
    told: dict[str, Difference] = {}
    for name, new in after.views.items():
        old = before.views.get(name)
        if old is not None and old.view.materialized and new.view.materialized:
            told[name] = _through(told, own_difference(before, old, after, new), old, new)
    return told


def _through(told: Mapping[str, Difference], own: Difference, old: PlannedView, new: PlannedView) -> Difference:
    """The difference of a view, given those of the views that it reads.

    Of a view that got columns its readers read those that were there before, unless their own plan says otherwise.
    """
    read = [scan.relation for scan in new.scans if scan.kind == "view" and scan.relation in told]
    moved = [name for name in dict.fromkeys(read) if told[name].effect == "other rows"]
    why = (*own.why, *(f"rows of {name} change" for name in moved))
    effect: Effect = "other rows" if moved else own.effect
    rebuilt = [name for name in dict.fromkeys(read) if name not in moved and not told[name].is_none]
    if effect == "none" and rebuilt and old.fingerprint != new.fingerprint:
        return Difference("same rows", tuple(f"{name} is built anew, with the same rows" for name in rebuilt))
    return Difference(effect, why)


def own_difference(before: Plan, old: PlannedView, after: Plan, new: PlannedView) -> Difference:
    """The difference that a view's own declaration makes, whatever has become of the views that it reads."""
    meant, means = _meaning(before, old), _meaning(after, new)
    if meant == means:
        why = tuple(_beside(before, old, after, new))
        return Difference("same rows", why) if why else Difference("none")
    why = tuple(_why(old, new)) or ("columns that its inputs have without a value",)
    names = {column.name for column in old.columns}
    if names < {column.name for column in new.columns}:
        narrowed = _meaning(after, new, new.root.pruned(names))
        if narrowed == meant:
            return Difference("additive", why)
    return Difference("other rows", why)


def _meaning(plan: Plan, view: PlannedView, root: Stage | None = None) -> Mapping[str, Any]:
    """Everything that decides which rows a view has, but for the plans of the views that it reads."""
    declared = view.view
    return {
        "root": _in_order(_unplanned(data_of(root or view.root, lineage=False), set(plan.views))),
        "key": data_of(view.key),
        "emit": view.emit.value,
        "lateness": data_of((declared.grace, declared.horizon, declared.retention)),
        "every": data_of(declared.every),
        "layout": data_of((declared.serving.layout, declared.serving.score, declared.serving.group)),
        "filled": filled_in(root or view.root, plan.project),
    }


def _unplanned(data: Any, views: set[str]) -> Any:
    """The data of stages without the plans of the views that they scan."""
    if isinstance(data, Mapping):
        hidden = {"plan"} if data.get("relation") in views else set()
        return {name: _unplanned(value, views) for name, value in data.items() if name not in hidden}
    return [_unplanned(part, views) for part in data] if isinstance(data, list) else data


def _in_order(data: Any) -> Any:
    """The data of stages with the parts of each AND and OR in one order: it makes no difference to rows."""
    if isinstance(data, Mapping):
        return {name: _in_order(value) for name, value in data.items()}
    if isinstance(data, list):
        return [_in_order(part) for part in data]
    return _sorted_conditions(data) if isinstance(data, str) and _CONNECTED.search(data) else data


def _sorted_conditions(text: str) -> str:
    try:
        tree = sql.parse_expression(text)
    except DeclarationError:  # a name or a literal with such a word in it
        return text
    return _spell(tree)


def _spell(node: exp.Expr) -> str:
    """An expression, with the parts of its conditions in the order of their spelling."""
    node = node.unnest()
    if isinstance(node, exp.And | exp.Or):
        parts = sorted(_spell(part) for part in node.flatten())
        return f"({(' AND ' if isinstance(node, exp.And) else ' OR ').join(parts)})"
    return node.sql(sql.Headwater)


def _beside(before: Plan, old: PlannedView, after: Plan, new: PlannedView) -> Iterator[str]:
    """Everything that differs though the rows don't."""
    if old.view.store != new.view.store:
        yield f"store {old.view.store or 'default'} → {new.view.store or 'default'}"
    if old.view.serving != new.view.serving:
        yield "how a store lays it out"
    if old.execution.kind != new.execution.kind:
        yield f"execution {old.execution.kind} → {new.execution.kind}"
    elif _kept_as(before, old) != _kept_as(after, new):
        yield "how it is computed and kept"


def _kept_as(plan: Plan, view: PlannedView) -> Any:
    """Everything that decides how a view is kept, but for the plans of the views that it reads."""
    physical = view.physical
    root = _unplanned(data_of(view.root, lineage=False), set(plan.views))
    return [root, data_of(physical.pace), data_of(physical.publishes)]


def _why(old: PlannedView, new: PlannedView) -> Iterator[str]:
    yield from _columns(old.columns, new.columns)
    yield from _stages(old.root, new.root)
    for name, one, other in (
        ("key", ", ".join(old.key.columns) or old.key.kind, ", ".join(new.key.columns) or new.key.kind),
        ("emit", old.emit.value, new.emit.value),
        *(
            (name, _spelled(getattr(old.view, name)), _spelled(getattr(new.view, name)))
            for name in ("grace", "horizon", "retention", "every")
        ),
    ):
        if one != other:
            yield f"{name} {one} → {other}"


def _columns(old: Sequence[model.Column], new: Sequence[model.Column]) -> Iterator[str]:
    had, has = ({column.name: model.spell_type(column.type) for column in columns} for columns in (old, new))
    if added := [name for name in has if name not in had]:
        yield f"column{'s' if len(added) > 1 else ''} {', '.join(added)} added"
    if gone := [name for name in had if name not in has]:
        yield f"column{'s' if len(gone) > 1 else ''} {', '.join(gone)} gone"
    for name, kind in has.items():
        if had.get(name, kind) != kind:
            yield f"column {name} {had[name]} → {kind}"


def _stages(old: Stage, new: Stage) -> Iterator[str]:
    """The stages that differ, as they are described; projections are told by their columns, unless nothing else is."""
    were, are = (Counter(stage.line for stage in root.walk()) for root in (old, new))
    gone, added = list((were - are).elements()), list((are - were).elements())
    told = False
    for line in [*gone]:
        like = next((other for other in added if _kind(other) == _kind(line)), None)
        if like is None:
            continue
        gone.remove(line)
        added.remove(like)
        if _kind(line) not in ("Scan", "Project") or not (gone or added or told):
            told = True
            yield _turned(line, like)
    yield from (f"{line} added" for line in added)
    yield from (f"{line} gone" for line in gone)


def _turned(line: str, other: str) -> str:
    """A stage that has become another one of its kind: what came to its end, what went from there, or both of them."""
    if other.startswith(line):
        return f"{other.removeprefix(line).strip(' ,')} added"
    if line.startswith(other):
        return f"{line.removeprefix(other).strip(' ,')} gone"
    return f"{line} → {other.removeprefix(_kind(line)).strip()}"


def _kind(line: str) -> str:
    return line.partition(" ")[0]


def _spelled(value: Any) -> str:
    return "none" if value is None else model.spell_duration(value)
