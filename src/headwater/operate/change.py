"""The consequences of a change: declarations in the folder against versions in the stores.

Each view that would be built, gone on with otherwise or let go of is a *step*, with what happens to its rows and to
those of its readers, and with the events that would be read for it. Nothing is changed by asking.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal

from headwater import model
from headwater.errors import HeadwaterError
from headwater.log import TopicLog
from headwater.operate.catalog import KeptView
from headwater.operate.history import events_gone
from headwater.operate.promotion import sends_same, without_comments
from headwater.operate.speed import Speeds
from headwater.plan import Plan, PlannedView
from headwater.plan.change import UNKNOWN, Difference, differences
from headwater.store import Position, Store, Version

Kind = Literal["new", "gone", "same rows", "additive", "other rows"]
Way = Literal["build", "go on", "restart", "end"]
"""A version is built from the start of the log; one that is there is gone on with; its run begins again with the same
version; it is kept up no longer, and its rows stay.
"""


@dataclass(frozen=True)
class Estimate:
    """The part of the log that would be read: rows, their bytes, and the time; None if no speed was ever measured."""

    events: int = 0
    bytes: int = 0
    time: timedelta | None = None


@dataclass(frozen=True)
class ViewStep:
    """The fate of a view: from the version that is served to one that is built or gone on with.

    `downstream` has the views and outlets that read it, and tells of each whether its rows change. `gone` are events
    that the served version has read and that are no longer in the log: rows that come from them can't be rebuilt.
    """

    view: str
    kind: Kind
    way: Way
    why: tuple[str, ...] = ()
    served: int | None = None
    version: int | None = None
    estimate: Estimate = Estimate()
    downstream: Mapping[str, bool] = field(default_factory=dict)
    gone: int = 0


@dataclass(frozen=True)
class Step:
    """The fate of a topic or an outlet; `restart` if a run has to be started anew for it."""

    name: str
    kind: Literal["new", "gone", "changed"]
    why: tuple[str, ...] = ()
    restart: bool = False


@dataclass(frozen=True)
class Change:
    """Everything that would change: of views, of topics, of outlets. `unchanged` are the views that go on."""

    views: tuple[ViewStep, ...] = ()
    topics: tuple[Step, ...] = ()
    outlets: tuple[Step, ...] = ()
    unchanged: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.views or self.topics or self.outlets)

    def of(self, names: Collection[str]) -> Change:
        """The part of it that concerns some views."""
        unchanged = tuple(name for name in self.unchanged if name in names)
        return Change(tuple(step for step in self.views if step.view in names), unchanged=unchanged)

    def as_dict(self) -> dict[str, Any]:
        """The same with stable field names."""
        return asdict(self)


@dataclass(frozen=True)
class Outlook:
    """Where a change is told from: the plan that is declared, the one that is run by if it is known, and what is there.

    `store_of` and `log_of` open what a view is served from and what it reads, `derived` its own final rows.
    """

    declared: Plan
    taken: Plan | None
    kept: KeptView
    store_of: Callable[[PlannedView], Store]
    log_of: Callable[[str], TopicLog]
    derived: Callable[[PlannedView], TopicLog]
    speeds: Speeds

    def change(self) -> Change:
        """Everything that would change."""
        told = {name: step for name, planned in self._views() if (step := self._told(planned)) is not None}
        effects = {name: step.kind for name, step in told.items()}
        steps = [self._with_downstream(step, effects) for step in told.values()]
        return Change(
            (*steps, *self._gone()),
            tuple(self._topics()),
            tuple(self._outlets({step.view for step in steps if step.way == "build"})),
            tuple(name for name, _ in self._views() if name not in told),
        )

    def _views(self) -> Iterator[tuple[str, PlannedView]]:
        return ((name, planned) for name, planned in self.declared.views.items() if planned.view.materialized)

    def _told(self, planned: PlannedView) -> ViewStep | None:
        """The step of a declared view; None if what is served is what is declared."""
        versions = self.store_of(planned).versions(planned.name)
        served = next((version for version in versions if version.promoted), None)
        own = next((v for v in reversed(versions) if v.fingerprint == planned.fingerprint), None)
        if served is None and own is None:
            moved = self._moved(planned)
            number = versions[-1].target.version + 1 if versions else 1
            kind: Kind = "same rows" if moved else "new"
            return ViewStep(planned.name, kind, "build", moved, None, number, self._estimate(planned, None))
        if served is not None and served.fingerprint == planned.fingerprint:
            return self._restarted(planned, served)
        difference = UNKNOWN if served is None else self._difference(planned, served)
        kind = "other rows" if difference.is_none or difference.effect == "none" else difference.effect
        number = own.target.version if own else versions[-1].target.version + 1
        estimate = self._estimate(planned, own.position if own else None)
        before = served.target.version if served else None
        if served is None:
            return ViewStep(planned.name, "new", "go on", (), None, number, estimate)
        step = ViewStep(planned.name, kind, "go on" if own else "build", difference.why, before, number, estimate)
        return replace(step, gone=self._gone_events(planned, served))

    def _gone_events(self, planned: PlannedView, served: Version) -> int:
        kept = self.kept(planned.name, served.fingerprint)
        if kept is None:
            return 0
        topics = {scan.relation for scan in kept[1].scans if scan.kind == "stream"} & set(self.declared.topics)
        logs = {name: self.log_of(name) for name in topics}
        return events_gone(kept[1], served, self.store_of(planned), logs)

    def _moved(self, planned: PlannedView) -> tuple[str, ...]:
        """Why a view that has no rows in its store is not new: it was in another one."""
        before = self.taken.views.get(planned.name) if self.taken else None
        if before is None or not before.view.materialized or before.view.store == planned.view.store:
            return ()
        return (f"store {before.view.store or 'default'} → {planned.view.store or 'default'}",)

    def _restarted(self, planned: PlannedView, served: Version) -> ViewStep | None:
        """The step of a view that goes on with what is served, if it is told to stores in another way."""
        before = self.taken.views.get(planned.name) if self.taken else None
        if self.taken is None or before is None or before.fingerprint != planned.fingerprint:
            return None
        why = differences(self.taken, self.declared).get(planned.name, Difference("none")).why
        number = served.target.version
        return ViewStep(planned.name, "same rows", "restart", why, number, number) if why else None

    def _difference(self, planned: PlannedView, served: Version) -> Difference:
        kept = self.kept(planned.name, served.fingerprint)
        if kept is None:
            return UNKNOWN
        return differences(kept[0], self.declared).get(planned.name, UNKNOWN)

    def _with_downstream(self, step: ViewStep, effects: Mapping[str, Kind]) -> ViewStep:
        below = self.declared.graph.downstream(step.view)
        readers = {name: effects.get(name) == "other rows" for name, _ in self._views() if name in below}
        sent = {
            name: step.kind == "other rows"
            for name, outlet in self.declared.outlets.items()
            if outlet.view.name == step.view
        }
        return replace(step, downstream={**readers, **sent})

    def _gone(self) -> Iterator[ViewStep]:
        """The views that were run and are declared no more."""
        for name, before in self.taken.views.items() if self.taken else ():
            now = self.declared.views.get(name)
            if before.view.materialized and (now is None or not now.view.materialized):
                try:
                    served = self.store_of(before).promoted(name)
                except HeadwaterError:  # its store is declared no more
                    served = None
                why = ("its rows stay in the store",) if served is not None else ()
                yield ViewStep(name, "gone", "end", why, served)

    def _topics(self) -> Iterator[Step]:
        before = self.taken.topics if self.taken else self.declared.topics
        after = self.declared.topics
        for name, topic in after.items():
            if name not in before:
                yield Step(name, "new", (), topic.intake is not None)
            elif without_comments(before[name]) != without_comments(topic):
                yield Step(name, "changed", tuple(_changed(before[name], topic)), True)
        for name in before:
            if name not in after:
                yield Step(name, "gone", ("its log stays",), True)

    def _outlets(self, built: set[str]) -> Iterator[Step]:
        if self.taken is None:
            return
        before, after = self.taken.outlets, self.declared.outlets
        for name in dict.fromkeys((*after, *before)):
            if name not in before:
                yield Step(name, "new")
            elif name not in after:
                yield Step(name, "gone")
            elif not sends_same(self.taken, self.declared, name, built):
                of = after[name].view.name
                why = f"{of} is built anew" if of in built else "it is declared in another way"
                yield Step(name, "changed", (f"{why}: it begins anew behind what it has sent",))

    def _estimate(self, planned: PlannedView, reached: Position | None) -> Estimate:
        """The part of the log that is read to bring a version to the head."""
        commits = dict(reached.commits) if reached else {}
        events = size = 0
        for scan in {scan.relation: scan for scan in planned.reading}.values():
            log = self._log(scan.kind == "view", scan.relation)
            if log is None or log.head < 0:
                continue
            for file in log.snapshot().between(commits.get(scan.relation, 0) + 1, log.head):
                events, size = events + file.rows, size + file.size
        speed = self.speeds.of(planned.name)
        return Estimate(events, size, timedelta(seconds=round(events / speed, 1)) if speed else None)

    def _log(self, is_view: bool, name: str) -> TopicLog | None:
        """The log that a view reads; of a view that is built anew itself, the final rows of the version before it."""
        if not is_view:
            return self.log_of(name)
        planned = self.declared.view(name)
        if (log := self.derived(planned)).head >= 0:
            return log
        served = next((v for v in self.store_of(planned).versions(name) if v.promoted), None)
        kept = None if served is None else self.kept(name, served.fingerprint)
        return None if kept is None else self.derived(kept[1])


def _changed(before: model.Topic, after: model.Topic) -> Iterator[str]:
    """In what the declarations of a topic differ."""
    had, has = ({column.name: column for column in topic.columns} for topic in (before, after))
    for name, column in has.items():
        if name not in had:
            yield f"column {name} added"
        elif had[name] != column:
            yield f"column {had[name]} → {column}"
    yield from (f"column {name} gone" for name in had if name not in has)
    if before.intake != after.intake:
        yield "its intake"
    others = {"columns", "intake", "origin", "name", "comment"}
    differing = [name for name, value in vars(after).items() if name not in others and getattr(before, name) != value]
    yield from (name.replace("_", " ") for name in differing)
