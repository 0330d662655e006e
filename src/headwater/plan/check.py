"""The checklist is the compiler: `check` turns a project into a plan, and finds every reason not to run it at once.

It never raises for what it finds. Views are lowered in the order of the graph; one with findings is planned as far as
it can be, so that the views that read it are checked too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from headwater import model, sql
from headwater.errors import DeclarationError, Finding
from headwater.findings import (
    DependencyCycle,
    DuplicateName,
    ForeignSpelling,
    HeldForEver,
    NotSupportedYet,
    NoWatermark,
    QueryRefused,
)
from headwater.operators import Stage
from headwater.operators.scan.stage import scans_of
from headwater.plan import functions
from headwater.plan.catalog import read_view, scan_topic
from headwater.plan.causes import causes
from headwater.plan.clauses import judge_clauses
from headwater.plan.context import Context, Relation, is_refused
from headwater.plan.data import fingerprint
from headwater.plan.equal_times import judge_equal_times
from headwater.plan.executable import judge_executable
from headwater.plan.graph import Edge, Graph, RelationKind
from headwater.plan.hidden_key import with_hidden_key
from headwater.plan.identity import judge_identity, judge_key
from headwater.plan.key import key_of
from headwater.plan.late import late_rows
from headwater.plan.lower import lower
from headwater.plan.outlet import check_outlets
from headwater.plan.own_function import called, check_functions
from headwater.plan.physical.decision import decide
from headwater.plan.planned import Plan, PlannedView
from headwater.plan.python import apply
from headwater.plan.references import references
from headwater.plan.serving import judge_serving
from headwater.plan.source import NOTHING
from headwater.plan.upcast import judge_upcasts, judge_versions
from headwater.plan.verdict import judge


def check(project: model.Project, refused: Collection[str] = ()) -> Plan:
    """The plan of a project, with every cause for a refusal in the order of the author's files.

    `refused` are the names of declarations that couldn't be read: whoever reads one of those isn't told so again.

    >>> check(model.Project(name="empty")).checked().views
    {}
    """
    return _Check(project, frozenset(name.lower() for name in refused)).plan()


@dataclass
class _Check:
    """One check: the findings and the lowered views so far."""

    project: model.Project
    refused: frozenset[str] = frozenset()
    findings: list[Finding] = field(default_factory=list)
    trees: dict[int, exp.Query] = field(default_factory=dict)
    lowered: dict[str, Relation] = field(default_factory=dict)
    planned: dict[str, PlannedView] = field(default_factory=dict)
    functions: Mapping[str, model.Function] = field(default_factory=dict)

    def plan(self) -> Plan:
        """Check everything."""
        self._check_names()
        self._check_topics()
        self._parse()
        graph = self._graph()
        self._check_cycles(graph)
        self.functions = check_functions(self.project, self.findings)
        order = {name: rank for rank, name in enumerate(graph.order())}
        for view in sorted(self.project.views, key=lambda view: order.get(view.name, len(order))):
            self._plan(view)
        outlets = check_outlets(self.project, self.planned, self.findings, self.refused)
        findings = causes(self.findings, self.refused, self._blind(), graph)
        return Plan(self.project, findings, self.planned, graph, called(self.functions), outlets)

    # Names

    def _check_names(self) -> None:
        first: dict[str, model.Declaration] = {}
        for declaration in self.project.declarations:
            known = first.setdefault(declaration.name.lower(), declaration)
            if known is not declaration:
                self._refuse_duplicate(declaration, f"The other is a {_kind(known)}, declared at {known.origin}.")
            elif isinstance(declaration, model.Function) and functions.find(declaration.name):
                self._refuse_duplicate(declaration, "The other is a function of Spark.")

    def _refuse_duplicate(self, declaration: model.Declaration, detail: str) -> None:
        self.findings.append(
            DuplicateName(
                f'{_kind(declaration)} "{declaration.name}" has a name that is taken',
                detail=detail,
                hint="Give one of them another name.",
                origin=declaration.origin,
                name=declaration.name,
            )
        )

    def _check_topics(self) -> None:
        self.findings += judge_upcasts(self.project)
        for topic in self.project.topics:
            self.findings += judge_identity(topic)
            self.findings += judge_key(topic)
            self.findings += judge_versions(topic)
            for personal in topic.personal:
                self.findings.append(
                    NotSupportedYet(
                        f'{_kind(topic)} "{topic.name}" has personal columns, which can\'t be kept in this version',
                        detail=f"PERSONAL ({', '.join(personal.columns)}) OF {personal.subject} is understood, but "
                        "nothing would be encrypted.",
                        hint="Leave these columns out, or encrypt them before they are appended.",
                        origin=topic.origin,
                        topic=topic.name,
                    )
                )

    # The graph

    def _parse(self) -> None:
        times = {
            topic.name.lower(): topic.time
            for topic in self.project.topics
            if topic.time is not None and all(column.name.lower() != sql.ROWTIME for column in topic.columns)
        }
        for view in self.project.views:
            if isinstance(view.query, model.SqlQuery):
                try:
                    tree = self.trees[id(view)] = sql.parse_query(view.query)
                except DeclarationError as error:
                    self.findings.append(_as_finding(view, error))
                else:
                    self.findings += _spelled_otherwise(view, view.query, tree, times)

    def _graph(self) -> Graph:
        relations: dict[str, RelationKind] = {}
        for declaration in self.project.declarations:
            if isinstance(declaration, model.Topic | model.View) and self._find(declaration.name) is declaration:
                relations[declaration.name] = _relation_kind(declaration)
        edges = {
            Edge(read.name, view.name)
            for view in self.project.views
            for name in self._names_read(view)
            if (read := self._find(name)) is not None
        }
        return Graph(dict(sorted(relations.items())), tuple(sorted(edges)))

    def _blind(self) -> set[str]:
        """The views that read a declaration that couldn't be read."""
        reads = {view.name: {name.lower() for name in self._names_read(view)} for view in self.project.views}
        return {view for view, names in reads.items() if any(n in self.refused and not self._find(n) for n in names)}

    def _names_read(self, view: model.View) -> Iterable[str]:
        if isinstance(view.query, model.PythonQuery):
            return view.query.inputs
        return (table.name for table in self._references(view))

    def _references(self, view: model.View) -> Iterator[exp.Expr]:
        tree = self.trees.get(id(view))
        return references(tree) if tree is not None else iter(())

    def _find(self, name: str) -> model.Topic | model.View | None:
        named = (item for item in self.project.declarations if item.name.lower() == name.lower())
        return next((item for item in named if isinstance(item, model.Topic | model.View)), None)

    def _check_cycles(self, graph: Graph) -> None:
        for cycle in graph.cycles():
            view = next(view for view in self.project.views if view.name == cycle[0])
            at = next((table for table in self._references(view) if table.name.lower() == cycle[1].lower()), None)
            self._context(view).refuse(
                DependencyCycle,
                "depends on itself",
                at,
                detail=f"It reads in a circle: {' → '.join(cycle)}.",
                hint="Take one of the views out of the circle.",
                cycle=" → ".join(cycle),
            )

    # Views

    def _context(self, view: model.View, meant: model.View | None = None) -> Context:
        """The context of a view's query; `meant` is the view as it is meant, where that isn't how it is declared."""
        query = view.query if isinstance(view.query, model.SqlQuery) else model.SqlQuery("")
        names, reader = self._relations(), meant or view
        reads = partial(self._relation, reader), self._late
        return Context(reader, query, *reads, names, self.functions, self.findings, self.trees.get(id(view)))

    def _relations(self) -> tuple[str, ...]:
        """The names of all that can be read."""
        return tuple(item.name for item in self.project.declarations if isinstance(item, model.Topic | model.View))

    def _relation(self, reader: model.View, name: str) -> Relation | None:
        """The relation of a name for a view that reads it; None if it is declared nowhere."""
        relation = self._find(name)
        if isinstance(relation, model.Topic):
            return scan_topic(relation)
        if relation is None:
            return NOTHING if name.lower() in self.refused else None
        lowered = self.lowered.get(relation.name)
        if lowered is None:
            return NOTHING
        if reader.is_forever and not relation.materialized and self._reads_forever(lowered.stage):
            context = self._context(relation, replace(relation, retention=model.FOREVER))
            return self._lower(replace(context, findings=[]))
        planned = self.planned[relation.name]
        inlined = planned.view.is_forever and reader.is_forever
        return read_view(relation, lowered, planned.fingerprint, inlined=inlined)

    def _reads_forever(self, root: Stage) -> bool:
        """Tells whether stages read a view that holds every row for ever by its rows."""
        read = {scan.relation for scan in scans_of(root) if scan.kind == "view"}
        return any(self._is_forever(name) for name in read)

    def _is_forever(self, name: str) -> bool:
        return name in self.planned and self.planned[name].view.is_forever

    def _late(self, name: str) -> Relation | str | None:
        """The rows that come too late for a view; why there are none, or None if there is no view of that name."""
        view = self._find(name)
        if not isinstance(view, model.View):
            return NOTHING if name.lower() in self.refused else None
        lowered = self.lowered.get(view.name)
        known = lowered is not None and lowered.complete and _is_sound(lowered.stage)
        late = late_rows(view, lowered.stage) if lowered and known else NOTHING.stage
        return late if isinstance(late, str) else Relation(late, late != NOTHING.stage)

    def _meant(self, view: model.View) -> model.View:
        """The view, which holds its rows for ever if it reads nothing but tables, and views that hold theirs for ever:
        their rows have no end in time.
        """
        tables_alone = (
            view.materialized and view.retention is None and view.horizon is None and self._is_of_tables(view)
        )
        return replace(view, retention=model.FOREVER) if tables_alone else view

    def _is_of_tables(self, view: model.View) -> bool:
        read = [relation for name in self._names_read(view) if (relation := self._find(name)) is not None]
        inlined = [relation for relation in read if isinstance(relation, model.View) and not relation.materialized]
        others = [relation for relation in read if relation not in inlined]
        is_sql = isinstance(view.query, model.SqlQuery) and view not in read
        known = all(isinstance(relation, model.Table) or self._is_forever(relation.name) for relation in others)
        return bool(read) and is_sql and known and all(map(self._is_of_tables, inlined))

    def _without_time(self, view: model.View) -> model.Stream | None:
        """The first stream without an event time that a view reads, which says nothing of when its rows can go."""
        read = [relation for name in self._names_read(view) if (relation := self._find(name)) is not None]
        for relation in read:
            if isinstance(relation, model.Stream) and relation.watermark is None:
                return relation
            if isinstance(relation, model.View) and not relation.materialized and relation is not view:
                below = self._without_time(relation)
                if below is not None:
                    return below
        return None

    def _held(self, view: model.View) -> tuple[model.View, model.Stream | None]:
        """The view, which holds its rows for ever if it keeps state over a stream without a watermark; that stream."""
        stated = view.retention is not None or view.horizon is not None or not view.materialized
        stream = None if stated or not isinstance(view.query, model.SqlQuery) else self._without_time(view)
        if stream is None:
            return view, None
        held = replace(view, retention=model.FOREVER)
        trial = replace(self._context(view), findings=[])
        self._lower(trial)
        root = self._lower(replace(self._context(view, held), findings=[])).stage
        keeps = any(stage.keeps_state for stage in root.walk()) and _is_sound(root)
        speaks_of_time = any(stage.bound_to_time for stage in root.walk()) or any(
            isinstance(finding, NoWatermark) for finding in trial.findings
        )
        return (held, stream) if keeps and not speaks_of_time else (view, None)

    def _plan(self, declared: model.View) -> None:
        view, timeless = self._held(self._meant(declared))
        context = self._context(declared, view)
        if timeless is not None:
            self.findings.append(_held_for_ever(view, timeless))
        relation = self._lower(context)
        root = with_hidden_key(view, relation.stage)
        key, missing = key_of(view, root)
        if _is_sound(root):
            judge(context, root, missing, self.project.stores, self._unsettled(root))
            judge_equal_times(context, root, {topic.name: topic for topic in self.project.topics})
        if self._find(view.name) is not declared:
            return
        self.lowered[view.name] = relation
        physical = decide(view, root, key)
        planned = PlannedView(view, root, key, physical, fingerprint(view, root, key, physical, self.project))
        self.planned[view.name] = planned
        judge_serving(context, planned, self.project.stores)
        self._judge_executable(context, planned, declared)

    def _judge_executable(self, context: Context, planned: PlannedView, declared: model.View) -> None:
        """Report what is sound otherwise and can't be executed."""
        refused = is_refused(planned.view.name, self.findings)
        if refused or not planned.view.materialized or not _is_sound(planned.root):
            return
        read_at = {table.name.lower(): context.origin(table) for table in self._references(declared)}
        self.findings += judge_executable(planned, read_at, self.planned)

    def _lower(self, context: Context) -> Relation:
        view = context.view
        if isinstance(view.query, model.PythonQuery):
            return apply(context, view.query)
        tree = context.tree
        if tree is None:
            return NOTHING
        judge_clauses(context, tree)
        return lower(context, tree)

    def _unsettled(self, root: Stage) -> dict[str, bool]:
        """The views that are read through their derived topics and whose rows are never final, and whether they hold
        every row for ever.
        """
        scans = (scan for scan in scans_of(root) if scan.kind == "view")
        sources = {scan.relation: self.planned.get(scan.relation) for scan in scans}
        never_final = {name: planned for name, planned in sources.items() if planned and not planned.execution.settles}
        return {name: planned.view.is_forever for name, planned in never_final.items()}


def _is_sound(root: Stage) -> bool:
    """Tells whether everything that a view reads is known."""
    return not any(stage == NOTHING.stage for stage in root.walk())


def _kind(declaration: model.Declaration | model.Topic) -> str:
    return type(declaration).__name__.lower()


def _relation_kind(declaration: model.Topic | model.View) -> RelationKind:
    if isinstance(declaration, model.View):
        return "view" if declaration.materialized else "inline view"
    return "table" if isinstance(declaration, model.Table) else "stream"


def _as_finding(view: model.View, error: DeclarationError) -> Finding:
    """A refusal of the parser, as a finding about the view."""
    if isinstance(error, Finding):
        return error
    summary = f'view "{view.name}" has a query that can\'t be read: {error.summary}'
    origin = error.origin or view.origin
    return QueryRefused(summary, detail=error.detail, hint=error.hint, origin=origin, view=view.name)


def _held_for_ever(view: model.View, stream: model.Stream) -> Finding:
    """The caution that says what it means to keep state over a stream without an event time."""
    return HeldForEver(
        f'view "{view.name}" holds every row of stream "{stream.name}" for ever, which declares no watermark',
        detail="Its rows are in the order in which they arrived, as the log has written it down: none is late, and "
        "nothing is forgotten.",
        hint="Say that it is meant: WITH (retention = 'forever'); or declare the event time of the stream and a "
        "WATERMARK.",
        origin=view.origin,
        view=view.name,
        topic=stream.name,
    )


def _spelled_otherwise(
    view: model.View, query: model.SqlQuery, tree: exp.Query, times: Mapping[str, str]
) -> Iterator[Finding]:
    """Cautions where a view is spelled as another system has it. `times` are the event times of streams and tables."""
    for translation in sql.translations(tree, times):
        yield ForeignSpelling(
            f'view "{view.name}" uses {translation.spelling}',
            detail=translation.detail,
            hint=f"Write {sql.spell(sql.with_times(translation.query, times))}.",
            origin=sql.origin_at(translation.start, query) if translation.start is not None else view.origin,
            view=view.name,
        )
