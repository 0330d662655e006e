"""FROM: what each of its items reads.

An item is a name (a common table expression, a stream, a table, a view), a window table function over one of those, a
subquery, or a LATERAL generator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
from sqlglot import exp

from headwater import model, sql
from headwater.findings import NotSupportedYet, NoWatermark, QueryRefused, UnknownName, WindowRefused
from headwater.operators import Assign, Expand, Field, Role, Scan, Stage
from headwater.operators.assign.stage import MOST_WINDOWS, is_overlapping, windows_per_row
from headwater.operators.scan.stage import scans_of
from headwater.plan.bind import bind, refuse_varying
from headwater.plan.bounds import WINDOW_TIME_BEFORE_END
from headwater.plan.calls import call_of, is_generator
from headwater.plan.context import Context, Relation
from headwater.plan.expression import ancestors_of, expression, generated_columns
from headwater.plan.functions import hint_for
from headwater.plan.item import Item, unique_name
from headwater.plan.scope import Scope, Source
from headwater.plan.unknown_column import refuse_unknown_column
from headwater.sql import WINDOW_COLUMNS
from headwater.sql.refusal import did_you_mean

Lower = Callable[[Context, exp.Query], Relation]

NOTHING = Relation(Scan((), "", "stream"), complete=False)
"""Stands for a relation of which nothing is known."""

_TIMES = (Role.EVENT_TIME, Role.ARRIVAL_TIME, Role.WINDOW_TIME, Role.WINDOW_END)


def source(context: Context, node: exp.Expr, lower: Lower) -> tuple[str, Relation]:
    """The name and the relation of one item of FROM."""
    refuse_decorations(context, node)
    name = node.alias_or_name
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
        return name, lower(context, node)
    if (known_at := sql.known_at(node)) is not None:
        _refuse_known(context, known_at)
        return name, NOTHING
    window = sql.window_of(node)
    if window is not None:
        inner = source(context, window.input, lower)
        return node.alias or inner[0], assign(context, window, inner[1])
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        return name, _named(context, node)
    if (view := sql.late_view(node)) is not None:
        return node.alias or view.name, _late(context, view)
    _refuse_source(context, node)
    return name, NOTHING


def _refuse_source(context: Context, node: exp.Expr) -> None:
    """Report an item of FROM that nothing can be read from."""
    called = node.this if isinstance(node, exp.Table) else node
    if isinstance(called, exp.Anonymous) and called.name.lower() == "table" and called.expressions:
        called = called.expressions[0]
    name = called.name if isinstance(called, exp.Anonymous) else called.key
    arguments = [sql.spell(part) for part in called.iter_expressions()]
    if isinstance(node, exp.Subquery) and node.this.args.get("joins"):
        hint = "Write the joins one after the other, without parentheses."
        context.refuse(QueryRefused, "nests joins in parentheses", node, hint=hint)
        return
    if name.lower() == "stream" and arguments:
        hint = f"Write FROM {arguments[0]}: a stream is read by its name."
        context.refuse(QueryRefused, "reads STREAM(…), as Spark has it", node, hint=hint)
        return
    written = hint_for("unnest" if name.lower() == "flatten" else name, arguments)
    if written is not None and "explode(" in written:
        call = written.removeprefix("Write ").removesuffix(".")
        hint = f"Write LATERAL VIEW {call} t AS element behind the stream that it is computed from."
        context.refuse(QueryRefused, f'reads rows that "{name.lower()}" makes', node, hint=hint)
        return
    context.refuse(
        QueryRefused,
        "reads something that is neither a stream, a table, a view nor a query",
        node,
        hint="Name a declared stream, table or view in FROM.",
    )


def refuse_decorations(context: Context, node: exp.Expr) -> None:
    """Report what can't stand behind an item of FROM, or behind a query in parentheses."""
    if node.args.get("sample"):
        hint = "Choose by what identifies an event: WHERE pmod(xxhash64(id), 100) < 10."
        at = node.args["sample"]
        context.refuse(QueryRefused, "reads a random sample of its input", at, detail=_SAMPLED, hint=hint)
    if node.args.get("joins"):
        hint = "Write the joins one after the other, or name a subquery."
        context.refuse(QueryRefused, "nests joins in parentheses", node, hint=hint)


_SAMPLED = "A replay would choose other rows."


def _refuse_known(context: Context, known_at: exp.Expr) -> None:
    """Report a table that a view reads as it was known at an instant."""
    context.refuse(
        QueryRefused,
        "reads a table as it was known at an instant",
        known_at,
        detail="A view has what is known by now, and corrects what it had before.",
        hint="Leave AS KNOWN AT out, and write it in a query of the table.",
    )


def _named(context: Context, node: exp.Table) -> Relation:
    name = node.name
    cte = context.ctes.get(name.lower())
    relation = cte or context.relation(name)
    if relation is None:
        known = [*context.ctes, *context.names]
        near = did_you_mean(name, known)
        if name.upper() == "STREAM" and node.alias:
            near = f"Write FROM {node.alias}: a stream is read by its name."
        context.refuse(
            UnknownName,
            f'reads "{name}", which is declared nowhere',
            node,
            detail="No stream, table or view has that name.",
            hint=near or "Declare it with CREATE STREAM, CREATE TABLE or CREATE VIEW.",
            name=name,
        )
    return relation or NOTHING


def _late(context: Context, view: exp.Expr) -> Relation:
    late = context.late(view.name)
    if isinstance(late, Relation):
        return late
    if late is None:
        others = [name for name in context.names if name.lower() != view.name.lower()]
        hint = did_you_mean(view.name, others) or "Name a materialized view."
        summary = f'reads the late rows of "{view.name}", which is no view'
        context.refuse(UnknownName, summary, view, detail="Only a view turns rows away.", hint=hint, name=view.name)
    else:
        summary = f'reads the late rows of view "{view.name}", which has none that could be read'
        hint = "Read late(view) of a view of windows over one stream, or see them with `headwater late`."
        context.refuse(QueryRefused, summary, view, detail=late, hint=hint)
    return NOTHING


def assign(context: Context, call: sql.WindowCall, relation: Relation) -> Relation:
    """The relation of a window table function: its input with the bounds of the window that each row is in."""
    stage = relation.stage
    time = stage.column(call.time) or _row_time(call.time, stage)
    if time is None:
        if relation.complete:
            _refuse_unknown_time(context, call, stage)
        return NOTHING
    _check_time(context, call, time, relation)
    _check_shape(context, call)
    window = _partitioned(context, call, relation)
    shift = -WINDOW_TIME_BEFORE_END if time.role is Role.WINDOW_END else timedelta()
    kept = tuple(field for field in stage.columns if field.name.lower() not in WINDOW_COLUMNS)
    columns = (*kept, *_bounds(window, time))
    return replace(relation, stage=Assign(columns, stage, window, time.name, shift, origin=context.origin(call.node)))


def _row_time(name: str, stage: Stage) -> Field | None:
    """The event time of an input, where the query leaves open which column that is."""
    times = (field for field in stage.visible if field.role in (Role.EVENT_TIME, Role.WINDOW_TIME))
    return next(times, None) if name.lower() == sql.ROWTIME else None


def _bounds(window: model.Window, time: Field) -> tuple[Field, ...]:
    roles = (Role.WINDOW_START, Role.WINDOW_END, Role.WINDOW_TIME)
    return tuple(
        Field(name, model.INSTANT, False, time.ancestors, role, window)
        for name, role in zip(WINDOW_COLUMNS, roles, strict=True)
    )


def _partitioned(context: Context, call: sql.WindowCall, relation: Relation) -> model.Window:
    """The window, with the columns that sessions are partitioned by spelled as the input spells them."""
    if not isinstance(call.window, model.Session):
        return call.window
    keys = []
    for key in call.node.this.args.get("partition_by") or ():
        field = relation.stage.column(key.name)
        if field is None and relation.complete:
            _refuse_unknown(context, key, key.name, relation.stage)
        keys.append(field.name if field else key.name)
    return replace(call.window, keys=tuple(keys))


def _refuse_unknown_time(context: Context, call: sql.WindowCall, stage: Stage) -> None:
    _refuse_unknown(context, call.node.this.args["time"], call.time, stage)


def _refuse_unknown(context: Context, at: exp.Expr, name: str, stage: Stage) -> None:
    refuse_unknown_column(context, at, [name], [Scope.of("", Relation(stage))])


def _check_time(context: Context, call: sql.WindowCall, time: Field, relation: Relation) -> None:
    if time.varies:
        refuse_varying(context, time.name, call.node.this.args["time"])
    if time.role in _TIMES:
        return
    at = call.node.this.args["time"]
    times = [field.name for field in relation.stage.columns if field.role in _TIMES]
    scan = next(scans_of(relation.stage), None)
    if scan is not None and not scan.watermarked and scan.kind != "view":
        refuse_no_watermark(context, scan, at, time.name)
        return
    shown = [name for name in times if name != "_arrived_at"]
    context.refuse(
        WindowRefused,
        f'windows over "{time.name}", which is not the time of its input',
        at,
        detail=f"The event time is {' or '.join(shown)}." if shown else "The input has no event time.",
        hint=f"Write DESCRIPTOR({(shown or ['_arrived_at'])[0]}), or DESCRIPTOR(_arrived_at) for the time of arrival.",
        column_name=time.name,
    )


def refuse_no_watermark(context: Context, scan: Scan, at: exp.Expr | None, time: str | None) -> None:
    """Report that event time is used although a topic declares no watermark."""
    context.refuse(
        NoWatermark,
        f'uses the event time of {scan.kind} "{scan.relation}", which declares no watermark',
        at,
        detail="Without a watermark nothing says when a window is complete or a row is late.",
        hint=declare_watermark(context, scan, time),
        topic=scan.relation,
    )


def declare_watermark(context: Context, scan: Scan, time: str | None = None) -> str:
    """The line to write for a topic without a watermark; one without a column for it can do without."""
    declared = context.relation(scan.relation)
    columns = declared.stage.visible if declared else ()
    instants = [column.name for column in columns if column.type == model.INSTANT]
    if known := time or scan.time or next(iter(instants), None):
        return f"Add WATERMARK FOR {known} AS {known} - INTERVAL '5' SECOND to its declaration."
    return "Declare their event time and a WATERMARK for it, or hold every row for ever: WITH (retention = 'forever')."


def _check_shape(context: Context, call: sql.WindowCall) -> None:
    window = call.window
    if isinstance(window, model.Hop) and window.size % window.slide:
        size, slide = model.spell_duration(window.size), model.spell_duration(window.slide)
        context.refuse(
            WindowRefused,
            "has a hopping window whose size is not a multiple of its slide",
            call.node,
            detail=f"Its size is {size} and its slide {slide}: rows would be in different numbers of windows.",
            hint=f"Choose a slide that divides the size, like INTERVAL '{_dividing(window.size, window.slide)}'.",
        )
    elif is_overlapping(window) and (count := windows_per_row(window)) > MOST_WINDOWS:
        context.refuse(
            WindowRefused,
            f"has windows that overlap {count:,} times",
            call.node,
            detail=f"Each row would be in so many windows; up to {MOST_WINDOWS:,} can be kept.",
            hint="Let the windows follow each other at a greater distance.",
        )


def _dividing(size: timedelta, slide: timedelta) -> str:
    """The longest slide in whole units that divides the size and isn't longer than the wanted one."""
    units = (
        timedelta(days=1),
        timedelta(hours=1),
        timedelta(minutes=1),
        timedelta(seconds=1),
        timedelta(milliseconds=1),
    )
    for unit in (candidate for candidate in units if candidate <= slide):
        for count in range(slide // unit, 0, -1):
            if not size % (count * unit):
                return model.spell_duration(count * unit)
    return model.spell_duration(size)


def expand(context: Context, scope: Scope, lateral: exp.Lateral) -> Scope:
    """The scope with the columns that a LATERAL VIEW or a LATERAL generator gives for each row."""
    if not is_generator(lateral.this):
        return _refuse_generator(context, scope, lateral)
    generator = bind(context, lateral.this, scope)
    alias = lateral.args.get("alias")
    names = [column.name for column in alias.columns] if alias else []
    names = names or generated_columns(generator, scope.stage)[0]
    columns: dict[str, str] = {}
    for name in names:
        columns[name.lower()] = unique_name(name, [*(field.name for field in scope.stage.columns), *columns.values()])
    outputs = list(columns.values()) if len(columns) == len(names) else names
    stage = expand_stage(context, scope.stage, generator, outputs, bool(lateral.args.get("outer")))
    added = Source(alias.name if alias else "", tuple(names), columns)
    return Scope(stage, (*scope.sources, added), scope.merged)


def _refuse_generator(context: Context, scope: Scope, lateral: exp.Lateral) -> Scope:
    """Report a LATERAL call that makes no rows; its columns aren't known."""
    call = lateral.this
    inner = call.expressions[0] if isinstance(call, exp.Anonymous) and call.expressions else call.this
    wrapped = isinstance(call, exp.Anonymous) and call.name.lower() == "table"
    argument = inner.expression if isinstance(inner, exp.Kwarg | exp.PropertyEQ) else inner
    if wrapped and isinstance(argument, exp.Func):
        argument = next(argument.iter_expressions(), argument)
    spelled = sql.spell(argument) if isinstance(argument, exp.Expr) else "…"
    name = call.name.lower() if isinstance(call, exp.Anonymous) else call.sql_name().lower()
    if isinstance(call, exp.GenerateSeries) or name == "generate_series":
        spelled = f"sequence({', '.join(map(sql.spell, call.iter_expressions()))})"
    context.refuse(
        QueryRefused,
        "makes rows with LATERAL TABLE(…), as Flink has it"
        if wrapped
        else f'makes rows with "{name}", which makes none',
        call,
        hint=f"Write LATERAL VIEW explode({spelled}) {lateral.alias or 't'} AS element.",
    )
    unknown = Source(lateral.alias, (), {}, complete=False)
    return Scope(scope.stage, (*scope.sources, unknown), scope.merged)


def expand_item(context: Context, scope: Scope, item: Item) -> tuple[Scope, str]:
    """The scope with the column that a generator in SELECT gives for each row, and that column's name."""
    name = unique_name(item.name, [field.name for field in scope.stage.columns])
    return scope.on(expand_stage(context, scope.stage, item.node, [name], outer=False)), name


def expand_stage(
    context: Context, below: Stage, generator: exp.Expr, names: list[str], outer: bool, at: exp.Expr | None = None
) -> Expand:
    """The stage with the columns that a bound generator gives for each row, under these names or Spark's own."""
    typed = expression(context, generator, below)
    labels, types = generated_columns(generator, below)
    names = names or labels
    if len(names) != len(types):
        detail = f"It gives {len(types)}, and {len(names)} are named."
        others = ", ".join(["position", *names][: len(types)])
        hint = f"Write LATERAL VIEW {sql.spell(generator)} t AS {others}, with one name for each."
        what = "names another number of columns than a generator gives"
        context.refuse(QueryRefused, what, generator, detail=detail, hint=hint)
        types = [*types, *[pa.null()] * len(names)][: len(names)]
    _check_identity(context, generator, below)
    ancestors = ancestors_of(typed, below)
    fields = tuple(Field(name, kind, True, ancestors) for name, kind in zip(names, types, strict=True))
    return Expand((*below.columns, *fields), below, typed, tuple(names), outer, origin=context.origin(at or generator))


_NUMBERED = {"explode", "posexplode", "inline", "json_tuple"}
"""Generators whose elements are numbered, or that give one row; each element of an event is an event of its own."""


def _check_identity(context: Context, generator: exp.Expr, below: Stage) -> None:
    """Each element of an event that comes once is told apart by its number."""
    call = call_of(generator)
    name = call.info.name.removesuffix("_outer") if call is not None else ""
    scans = (scan for scan in scans_of(below) if scan.unique)
    scan = next(scans, None)
    if scan is not None and call is not None and name not in _NUMBERED:
        context.refuse(
            NotSupportedYet,
            f'makes rows with "{name}" of stream "{scan.relation}", whose events come once',
            generator,
            hint="Write EXPLODE, POSEXPLODE or INLINE: an element is told apart by its place.",
        )
