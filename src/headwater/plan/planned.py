"""The result of a check: the planned views of a project, the graph between them, and every finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from headwater import model
from headwater.errors import CheckFailed, Finding, UnknownOutlet, UnknownView
from headwater.operators import Ancestor, Field, Scan, Stage
from headwater.operators.as_known_join.stage import looked_up_by
from headwater.operators.scan.stage import scans_of
from headwater.plan.graph import Graph
from headwater.plan.physical.execution import Execution
from headwater.plan.physical.key import Key
from headwater.plan.physical.view import Physical
from headwater.plan.state import time_of


@dataclass(frozen=True)
class PlannedView:
    """A checked view: its typed columns, its stages (inputs first), and how it is carried out."""

    view: model.View
    root: Stage
    key: Key
    physical: Physical
    fingerprint: str

    @property
    def name(self) -> str:
        """The view's name."""
        return self.view.name

    @property
    def columns(self) -> tuple[model.Column, ...]:
        """The columns that a store keeps, typed: those that are shown, and those of the key that aren't."""
        return tuple(field.column for field in self.root.columns if not field.hidden or field.column.is_hidden)

    @property
    def shown(self) -> tuple[model.Column, ...]:
        """The output columns, typed: what readers see."""
        return tuple(field.column for field in self.root.visible)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Every stage, inputs before those that read them."""
        return tuple(self.root.walk())

    @property
    def inputs(self) -> tuple[str, ...]:
        """The topics and views whose rows it reads, by name; for an inlined view, what that one reads."""
        return tuple(sorted({scan.relation for scan in self.reading}))

    @property
    def scans(self) -> tuple[Scan, ...]:
        """The stages whose rows it is made of, and by whose time it runs."""
        return tuple(scans_of(self.root))

    @property
    def looked_up(self) -> tuple[Scan, ...]:
        """The tables that it looks up as they were known: they have no say in its time."""
        return tuple(dict.fromkeys(join.table for join in looked_up_by(self.root)))

    @property
    def reading(self) -> tuple[Scan, ...]:
        """Everything that reads the log."""
        return (*self.scans, *self.looked_up)

    @property
    def time(self) -> Field | None:
        """The column that says when a row of the view happens, for those that read it."""
        return time_of(self.root)

    @property
    def topic(self) -> model.Stream:
        """The view as others read it: a stream of its final rows."""
        time = self.time
        columns = tuple(model.Column(column.name, column.type, column.nullable) for column in self.shown)
        return model.Stream(name=self.name, columns=columns, time=time.name if time else None)

    @property
    def execution(self) -> Execution:
        """The way to keep it up to date, and what it emits."""
        return self.physical.execution

    @property
    def sight(self) -> timedelta | None:
        """The distance at which a row is seen where nothing in the query says so: as the view states."""
        return sight_of(self.view)

    @property
    def is_settled(self) -> bool:
        """Tells whether it is kept by batch queries, over slices of the log or over the whole of it."""
        return self.execution.kind in ("settle", "maintained", "batch")

    @property
    def retention(self) -> timedelta | None:
        """The time for which a row counts in groups that never end: as the view states."""
        return self.view.retention if self.view.retention is not None else self.view.horizon

    @property
    def emit(self) -> model.Emit:
        """The moment to emit rows: as declared, or as chosen."""
        return self.execution.emit

    @property
    def horizon(self) -> timedelta | None:
        """The longest way back at which an input can matter."""
        return self.execution.horizon

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns that a store finds a row by: the key, or all of them where there is one row in all.

        None where rows are only added.
        """
        if self.key.kind == "group" and not self.key.columns:
            return tuple(field.name for field in self.root.visible)
        return self.key.columns if self.key.kind != "row" else ()

    @property
    def lineage(self) -> Mapping[str, frozenset[Ancestor]]:
        """For each output column, the columns of topics that its value derives from, through views."""
        return {field.name: field.ancestors for field in self.root.visible}

    @property
    def reads(self) -> frozenset[Ancestor]:
        """Every column of a topic that decides what the view's rows are: values, filters, keys and conditions."""
        return frozenset(ancestor for scan in self.reading for field in scan.columns for ancestor in field.ancestors)


def sight_of(view: model.View) -> timedelta | None:
    """The distance at which a row of a view is seen where nothing in its query says so."""
    if view.is_forever:
        return view.horizon
    return view.horizon if view.horizon is not None else view.retention


@dataclass(frozen=True)
class PlannedOutlet:
    """A checked outlet: the view that it sends, and the columns, if any, that its messages are keyed by."""

    outlet: model.Outlet
    view: PlannedView
    key: tuple[str, ...]

    @property
    def name(self) -> str:
        """The outlet's name."""
        return self.outlet.name


@dataclass(frozen=True)
class Plan:
    """A checked project. `views` are in the order in which they can be built: a view after all that it reads.

    `functions` are those in Python, by the names under which stages call them.
    """

    project: model.Project
    findings: tuple[Finding, ...]
    views: Mapping[str, PlannedView]
    graph: Graph
    functions: Mapping[str, model.Function] = field(default_factory=dict)
    outlets: Mapping[str, PlannedOutlet] = field(default_factory=dict)

    @property
    def topics(self) -> Mapping[str, model.Topic]:
        """The streams and tables by name."""
        return {topic.name: topic for topic in self.project.topics}

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that refuse the project; the others are cautions."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    def checked(self) -> Plan:
        """The plan itself; `CheckFailed` with every finding if one of them refuses the project."""
        if self.errors:
            raise CheckFailed(self.findings)
        return self

    def view(self, name: str) -> PlannedView:
        """The planned view of that name, without regard to case."""
        planned = next((view for view in self.views.values() if view.name.lower() == name.lower()), None)
        if planned is None:
            known = ", ".join(self.views) or "none"
            raise UnknownView(f'the project has no view "{name}"', detail=f"Its views are {known}.", view=name)
        return planned

    def outlet(self, name: str) -> PlannedOutlet:
        """The planned outlet of that name, without regard to case."""
        planned = next((outlet for outlet in self.outlets.values() if outlet.name.lower() == name.lower()), None)
        if planned is None:
            known = ", ".join(self.outlets) or "none"
            raise UnknownOutlet(f'the project has no outlet "{name}"', detail=f"Its outlets are {known}.", outlet=name)
        return planned
