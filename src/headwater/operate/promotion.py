"""Promotions: changed declarations take effect in a project that runs, when that is asked for and not before.

Views and outlets may be added, changed and removed, and topics added. A view that is another one now is built as its
next version beside the one that is served, which it replaces when it has caught up; whoever isn't concerned goes on
undisturbed. What a run has opened for good (the log of a topic, an intake) is not changed under it: that is refused.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from typing import Any

from headwater.errors import PromotionRefused
from headwater.model import Topic
from headwater.plan import Plan, PlannedView


@dataclass(frozen=True)
class Promotion:
    """The consequences of changed declarations for the materialized views of a project, and the topics that are new.

    `outlets` are those that are new, gone, declared in another way, or whose view has changed.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    outlets: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The same with stable field names."""
        return {name: list(names) for name, names in asdict(self).items()}

    @classmethod
    def read(cls, record: dict[str, Any]) -> Promotion:
        """The promotion that was written down."""
        return cls(**{name: tuple(names) for name, names in record.items()})


def compare(before: Plan, after: Plan) -> Promotion:
    """The promotion to another plan of a project that runs; `PromotionRefused` if it can't be taken over by it."""
    old, new = _materialized(before), _materialized(after)
    changed = tuple(name for name in old if name in new and not _is_same(before, after, name))
    _refuse(before, after)
    return Promotion(
        tuple(name for name in new if name not in old),
        changed,
        tuple(name for name in old if name not in new),
        tuple(name for name in old if name in new and name not in changed),
        tuple(name for name in after.topics if name not in before.topics),
        tuple(name for name in {**before.outlets, **after.outlets} if not sends_same(before, after, name, changed)),
    )


def sends_same(before: Plan, after: Plan, name: str, changed: Collection[str]) -> bool:
    """Tells whether an outlet sends as it did: it is declared so, and its view is not among those that changed."""
    old, new = before.outlets.get(name), after.outlets.get(name)
    return old is not None and new is not None and old.outlet == new.outlet and old.view.name not in changed


def _materialized(plan: Plan) -> dict[str, PlannedView]:
    return {planned.name: planned for planned in plan.views.values() if planned.view.materialized}


def _is_same(before: Plan, after: Plan, name: str) -> bool:
    """Tells if a run of a view may go on: it computes the same, for the same store, and for others or not as before."""
    old, new = before.views[name], after.views[name]
    if old.fingerprint != new.fingerprint or is_read(before, name) != is_read(after, name):
        return False
    return replace(new.view, query=old.view.query, comment=old.view.comment) == old.view  # what it says is all the same


def is_read(plan: Plan, name: str) -> bool:
    """Tells whether another view reads the derived topic of a view."""
    scans = (scan for planned in plan.views.values() if planned.view.materialized for scan in planned.scans)
    return any(scan.kind == "view" and scan.relation == name for scan in scans)


def _refuse(before: Plan, after: Plan) -> None:
    for name, topic in before.topics.items():
        if name not in after.topics:
            raise _refusal(f'"{name}" is no longer declared')
        if without_comments(after.topics[name]) != without_comments(topic):
            raise _refusal(f'"{name}" is declared in another way')
    for name, topic in after.topics.items():
        if name not in before.topics and topic.intake is not None:
            raise _refusal(f'"{name}" is new and has an intake')


def without_comments(topic: Topic) -> Topic:
    """The declaration of a topic but for what is said of it to people."""
    columns = tuple(replace(column, comment=None) for column in topic.columns)
    return replace(topic, comment=None, columns=columns)


def _refusal(why: str) -> PromotionRefused:
    return PromotionRefused(
        "a project that runs can't take these declarations over",
        detail=f"{why[0].upper()}{why[1:]}. Nothing was changed: the run goes on with the declarations that it has.",
        hint="Stop `headwater run` and start it again: it begins with the declarations that it finds.",
    )
