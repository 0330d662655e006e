"""The verdict on a planned view: what its stages, its key, its emit and its store can't keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pyarrow as pa

from headwater import model
from headwater.errors import Finding, Origin
from headwater.findings import (
    EmitRefused,
    KeyLeavesOut,
    KeyNotInOutput,
    NotSupportedYet,
    NoWatermark,
    OptionRefused,
    ReservedName,
    StoreRefused,
    UnboundedState,
    UnknownStore,
    UnknownType,
    WindowRefused,
)
from headwater.model.column import RESERVED_PREFIX
from headwater.operators import Stage
from headwater.operators.as_of_join.stage import read_as_of
from headwater.operators.assign.stage import ungrouped_sessions
from headwater.operators.remedy import TAKE_A_TIME_THAT_STAYS, without_partner
from headwater.operators.scan.stage import is_table, scans_of
from headwater.operators.stage import times_among_keys
from headwater.plan.context import Context, is_refused
from headwater.plan.endless import judge_endless
from headwater.plan.execution import execution, executions, refused_cadence, refused_emit, refused_execution, settles
from headwater.plan.forever import judge_forever
from headwater.plan.key import left_out
from headwater.plan.planned import sight_of
from headwater.plan.sets import NUMBER
from headwater.plan.source import declare_watermark
from headwater.plan.state import known_reach, unbounded
from headwater.sql.refusal import did_you_mean


def judge(
    context: Context, root: Stage, missing: Sequence[str], stores: Sequence[model.Store], unsettled: Mapping[str, bool]
) -> None:
    """Report everything that speaks against executing a view that was lowered to these stages.

    `missing` are the columns of its key that it doesn't show, `unsettled` the views it reads whose rows never become
    final, and whether they hold every row for ever.
    """
    _judge_names(context, root)
    if not context.view.materialized:
        return
    _judge_types(context, root)
    _judge_state(context, root)
    _judge_sessions(context, root)
    _judge_watermarks(context, root)
    _judge_tables(context, root)
    _judge_key(context, root, missing)
    _judge_emit(context, root)
    _judge_cadence(context, root)
    _judge_execution(context, root)
    _judge_store(context, root, stores)
    _judge_inputs(context, root, unsettled)


def _report(context: Context, kind: type[Finding], what: str, origin: Origin | None, **more: str | None) -> None:
    view = context.view
    context.findings.append(kind(f'view "{view.name}" {what}', origin=origin or view.origin, view=view.name, **more))


def _judge_names(context: Context, root: Stage) -> None:
    for field in root.visible:
        if field.name.startswith(RESERVED_PREFIX):
            _report(
                context,
                ReservedName,
                f'has an output column "{field.name}", a name that belongs to the log',
                context.output_origin(field.name),
                hint=f"Give it another name: {field.name} AS {field.name.lstrip(RESERVED_PREFIX) or 'name'}.",
            )


def _judge_types(context: Context, root: Stage) -> None:
    refused = any(finding.fields.get("view") == context.view.name for finding in context.findings)
    for field in root.visible:
        void = pa.types.is_null(field.type)
        if model.can_be_logged(field.type) or (void and refused):
            continue
        kind = model.spell_type(field.type)
        _report(
            context,
            UnknownType,
            f'has a column "{field.name}" of type {kind}, which can\'t be kept',
            context.output_origin(field.name),
            detail="A store and a derived topic keep the types that the log keeps.",
            hint=f"Write CAST(… AS type) AS {field.name}, or compute a number from it.",
            column_name=field.name,
        )


def _judge_state(context: Context, root: Stage) -> None:
    view = context.view
    stated = sight_of(view)
    for stage in unbounded(root):
        remedy = stage.remedy if stated is None and not view.is_forever else None
        if remedy is not None and not any(is_table(below) for below in stage.inputs):
            detail, hint = _why_endless(stage) or (remedy.detail, remedy.hint)
            _report(context, UnboundedState, remedy.what, stage.origin, detail=detail, hint=hint)
    judge_endless(context, root, stated)
    judge_forever(context, root)
    _judge_retention(context, root)
    needed = known_reach(root)
    if stated is not None and stated < needed and not root.is_opaque:
        name = "horizon" if view.horizon is not None else "retention"
        _report(
            context,
            OptionRefused,
            f"states a {name} that is shorter than its query reaches back",
            view.origin,
            detail=f"It states {model.spell_duration(stated)}, and its windows, joins and frames reach back "
            f"{model.spell_duration(needed)}.",
            hint=f"Write {name} = '{model.spell_duration(needed)}' or more.",
        )


def _why_endless(stage: Stage) -> tuple[str, str] | None:
    """Tells why a group that has a time among its keys never ends, and what to write; None if it has none."""
    missing = next((field.name for field in times_among_keys(stage) if field.nullable), None)
    return None if missing is None else (without_partner(missing), TAKE_A_TIME_THAT_STAYS)


def _judge_retention(context: Context, root: Stage) -> None:
    """A retention must be one, and something must be kept by it."""
    view = context.view
    if view.retention is not None and view.retention <= timedelta():
        _report(
            context,
            OptionRefused,
            "states a retention of nothing",
            view.origin,
            detail=f"It states {model.spell_duration(view.retention)}: no row would ever count.",
            hint="Write how long a row counts, like retention = '7 days'.",
        )
    holds = view.is_forever and any(scan.kind == "table" for scan in scans_of(root))
    refused = is_refused(view.name, context.findings)  # what needs one may be among what was left out
    if (
        view.retention is not None
        and not holds
        and not refused
        and all(stage.reach is not None for stage in root.walk())
    ):
        _report(
            context,
            OptionRefused,
            "states a retention, and keeps nothing that would need one",
            view.origin,
            detail="Every group in it ends with a window or a time, and is forgotten then.",
            hint="Leave retention out; how long a window still takes rows after its end is grace = '…'.",
        )


def _judge_sessions(context: Context, root: Stage) -> None:
    """The bounds of a session are known once its rows are grouped, and not before."""
    for stage in ungrouped_sessions(root):
        _report(
            context,
            WindowRefused,
            "reads the bounds of sessions without grouping by them",
            stage.origin,
            detail="A session has no bounds until all of its rows have come.",
            hint="Group by window_start, window_end and the columns of PARTITION BY.",
        )


def _judge_watermarks(context: Context, root: Stage) -> None:
    """State that is let go of needs a watermark, wherever the query itself doesn't speak of time."""
    view = context.view
    reported = {finding.fields.get("topic") for finding in context.findings if _is_no_watermark(finding, context)}
    stateful = next((stage for stage in root.walk() if stage.keeps_state), None)
    if stateful is None:
        _judge_copies(context, root)
        return
    for scan in scans_of(root):
        if not scan.watermarked and scan.kind == "stream" and scan.relation not in reported and not view.is_forever:
            _report(
                context,
                NoWatermark,
                f'keeps state over stream "{scan.relation}", which declares no watermark',
                stateful.origin,
                detail="Without a watermark nothing says when state can be forgotten or a row is late.",
                hint=declare_watermark(context, scan),
                topic=scan.relation,
            )


def _judge_copies(context: Context, root: Stage) -> None:
    """Copies of an event are looked for among the events of its time."""
    scans = [scan for scan in scans_of(root) if scan.unique and scan.time is None]
    for scan in {scan.relation: scan for scan in scans}.values():
        _report(
            context,
            NoWatermark,
            f'shows each event of stream "{scan.relation}" once, which declares no event time',
            context.view.origin,
            detail="A copy of an event has its id and its time: without a time the whole log would be looked through.",
            hint="Add WATERMARK FOR at AS at - INTERVAL '5' SECOND to its declaration, or leave unique out.",
            topic=scan.relation,
        )


def _is_no_watermark(finding: Finding, context: Context) -> bool:
    return isinstance(finding, NoWatermark) and finding.fields.get("view") == context.view.name


def _judge_tables(context: Context, root: Stage) -> None:
    for stage in root.walk() if not context.view.is_forever else ():
        if stage.keeps_state and not stage.joins_rows and any(is_table(below) for below in stage.inputs):
            _report(
                context,
                NotSupportedYet,
                "computes over the rows of a table and lets go of others",
                stage.origin,
                detail="A change of the table would have to take back what its old row added.",
                hint="Hold every row for ever: WITH (retention = 'forever').",
            )


def _judge_key(context: Context, root: Stage, missing: Sequence[str]) -> None:
    view = context.view
    if missing and not view.key:
        _refuse_hidden_key(context, root, missing)
        return
    if not missing and (names := left_out(view, root)):
        _report(
            context,
            KeyLeavesOut,
            f"groups by {_quoted(names)}, which its key leaves out",
            view.origin,
            detail="A store keeps one row of a key: the view stops where it has two.",
            hint=f"Add {', '.join(names)} to the key, unless it follows from the others.",
        )
    for name in missing:
        known = [field.name for field in root.visible]
        _report(
            context,
            KeyNotInOutput,
            f'declares a key "{name}" that is not in its output',
            view.origin,
            detail=f"Its columns are {', '.join(known)}.",
            hint=did_you_mean(name, known) or f"Add {name} to the SELECT, or leave it out of the key.",
        )


def _refuse_hidden_key(context: Context, root: Stage, missing: Sequence[str]) -> None:
    last = next((stage for stage in reversed(list(root.walk())) if stage.keeps_state), root)
    computed = root.group_key.computed if root.group_key is not None else {}
    shown = {name: f"{expression} AS {name}" for name, expression in computed.items()}
    shown[NUMBER] = f"{NUMBER}() AS level"
    names = _quoted([computed.get(name, name) for name in missing])
    _report(
        context,
        KeyNotInOutput,
        f"groups by {names} without showing {'it' if len(missing) == 1 else 'them'}",
        last.origin,
        detail="Rows of the view would be told apart by what nobody sees.",
        hint=f"Add {', '.join(shown.get(name, name) for name in missing)} to the SELECT, or declare key = '…'.",
    )


def _quoted(names: Sequence[str]) -> str:
    return " and ".join(f'"{name}"' for name in names)


def _judge_emit(context: Context, root: Stage) -> None:
    view, refused = context.view, refused_emit(context.view, root)
    unbounded_state = view.retention is None and view.horizon is None  # which is another finding
    if refused is None or (view.emit is None and (settles(root) or unbounded_state)):
        return
    if not settles(root) and _is_unbounded(context):  # the cause of it
        return
    what = f"can't keep emit = '{view.emit.value}'" if view.emit else "can't keep its rows up to date"
    _report(context, EmitRefused, what, view.origin, detail=refused[0], hint=refused[1])


def _is_unbounded(context: Context) -> bool:
    of_view = (finding for finding in context.findings if finding.fields.get("view") == context.view.name)
    return any(isinstance(finding, UnboundedState) for finding in of_view)


def _judge_cadence(context: Context, root: Stage) -> None:
    view, refused = context.view, refused_cadence(context.view, root)
    if refused is not None:
        detail, hint = refused
        what = "states every, and has nothing to show at a cadence"
        _report(context, OptionRefused, what, view.origin, detail=detail, hint=hint)


def _judge_execution(context: Context, root: Stage) -> None:
    view = context.view
    detail = refused_execution(view, root)
    if detail is None:
        return
    others = " or ".join(f"'{kind}'" for kind in executions(view, root))
    hint = f"Write execution = {others}, or leave it out." if others else "Leave the option out."
    _report(
        context,
        OptionRefused,
        f"can't be kept with execution = '{view.execution}'",
        view.origin,
        detail=detail,
        hint=hint,
    )


def _judge_store(context: Context, root: Stage, stores: Sequence[model.Store]) -> None:
    view = context.view
    known = {store.name: store for store in stores}
    for name in view.stores:
        if name not in known:
            _report(
                context,
                UnknownStore,
                f'names a store "{name}" that is not declared',
                view.origin,
                detail=f"headwater.toml declares {', '.join(known) if known else 'no store'}.",
                hint=did_you_mean(name, list(known)) or f"Add [stores.{name}] to headwater.toml.",
            )
    named = stores[:1] if view.store is None else [known[name] for name in view.stores if name in known]
    emit = execution(view, root).emit
    for store in named:
        if emit not in store.takes:
            takes = " and ".join(sorted(kept.value for kept in store.takes)) or "nothing"
            _report(
                context,
                StoreRefused,
                f'emits {emit.value}, which store "{store.name}" can\'t take',
                view.origin,
                detail=f"The store takes {takes}.",
                hint=f"Write emit = '{takes}', or name another store." if store.takes else "Name another store.",
            )


def _judge_inputs(context: Context, root: Stage, unsettled: Mapping[str, bool]) -> None:
    for scan in scans_of(root):
        if scan.kind == "view" and scan.time is None and scan.relation not in unsettled:
            _report(
                context,
                NoWatermark,
                f'reads view "{scan.relation}", whose rows don\'t say when they happened',
                context.view.origin,
                detail="A derived topic is kept in the order of time, and none of the view's columns is a time that "
                "every row has.",
                hint=f'Add window_end or the event time to the columns of view "{scan.relation}".',
                topic=scan.relation,
            )
    as_of = {scan.relation for scan in read_as_of(root)}  # which is another finding
    for name, is_forever in unsettled.items():
        if name in as_of:
            continue
        can_hold = is_forever and isinstance(context.view.query, model.SqlQuery)
        hold = "Hold every row for ever here, too: WITH (retention = 'forever')."
        _report(
            context,
            NotSupportedYet,
            f'reads view "{name}", whose rows are never final',
            context.view.origin,
            detail="A derived topic holds rows that no longer change.",
            hint=hold if can_hold else f'Group view "{name}" by a window, or read what it reads.',
        )
