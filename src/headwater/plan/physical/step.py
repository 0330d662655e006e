"""Steps: how a settled view gets from one watermark to the next.

A step reads a slice of the log. What of it is computed anew, what is added to something that was kept, and which rows
can be left out before Spark sees them, follows from the stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

import pyarrow as pa

from headwater import model
from headwater.operators import Aggregate, Expression, Scan, Stage
from headwater.operators.aggregate.panes import by_panes
from headwater.operators.aggregate.parts import by_parts, keys_of_rows
from headwater.operators.aggregate.totals import by_totals
from headwater.operators.as_known_join.stage import looked_up_by
from headwater.operators.as_of_join.stage import asking_as_of
from headwater.operators.join.stage import is_joined, shared_by_pairs
from headwater.operators.paired import asked_by
from headwater.operators.scan.stage import scans_of
from headwater.operators.unchanged import unchanged
from headwater.plan.execution import as_they_come, parts_of
from headwater.plan.physical.execution import Execution
from headwater.plan.physical.key import Key
from headwater.plan.physical.operators import Operator, Way
from headwater.plan.physical.pace import Pace
from headwater.plan.physical.trace import Found, Trace

_LONGEST = timedelta(days=365_000)
"""A longer retention than the calendar has: its rows are computed from all rows."""


@dataclass(frozen=True)
class LookUp:
    """A table whose rows are looked up by columns of the log: of the table, of another topic, and its column."""

    table: str
    columns: tuple[tuple[str, str, str], ...]


Executor = Literal["slices", "parts", "partitions", "events", "groups", "traces", "sums"]


@dataclass(frozen=True)
class Step:
    """The computation of a step of a settled view, and the `executor` that carries it out: over slices of the log, or
    over those parts, partitions, events, groups for ever, traced rows or sums that it comes to.

    It `looks_back` on nothing, as far as the view reaches, to the oldest of its new events (whose copies happened with
    it), or over the whole log. Where the panes, the totals or the parts of the groups of an `aggregate` are kept, it
    `adds` those of its new rows to them, and reads no others; `grouped_by` are the keys of its groups that are columns
    of the log, each with its column. Of the rows that it looks back on those matter that share `keys` with one in the
    slice, of which each scan has as many; without any, all do. Of the stage `shown`, the last that has groups, only the
    groups are made that the step shows.

    `touched`: the columns of the log that tell the partitions of a window function apart, where a step computes those
    that new rows come to and no others; what is open of the others is as it was. Without any, all are computed.

    `asks`: each row is made of one event and of what that asks tables for, so that a step computes the events that are
    new, that become final, or that ask for what has changed; what is open of the others is as it was.

    `as_they_come`: rows are shown, for good, in the step whose new rows they could not be made without.

    `shows_open`: rows are shown before they are final, and known again by their key. `from_log`: a step asks for
    nothing of the step before, so that it can be begun while that is delivered. `paired`: rows are looked up among
    others, of which there may be none. Spark's plan of a small step is kept, if two steps differ in nothing but
    their rows and the instants between which they lie; else it is made `anew` for each, for this reason. Over all
    of time a `trace` leads from new rows to those that they matter to; `untraced` is why there is none. It leads to the
    rows below an aggregate that is `summed`, if there is one: its groups are added to, and taken off from. Of the
    tables `looked_up` the rows matter that are asked for.
    """

    looks_back: Literal["nothing", "reach", "events", "everything"]
    adds: Literal["panes", "totals", "parts"] | None
    aggregate: Aggregate | None
    grouped_by: tuple[tuple[str, str], ...]
    keys: tuple[tuple[str, ...], ...]
    shown: Stage | None
    shows_open: bool
    from_log: bool
    as_they_come: bool
    paired: bool
    anew: str
    trace: Trace | None = None
    untraced: str = ""
    looked_up: tuple[LookUp, ...] = ()
    touched: tuple[str, ...] = ()
    asks: bool = False
    summed: Aggregate | None = None
    executor: Executor = "slices"

    @property
    def prepared(self) -> bool:
        """Tells whether the plan of a small step is made once for all."""
        return not self.anew

    @property
    def reads_new(self) -> bool:
        """Tells whether a step costs what its new rows cost, however it is cut."""
        return self.looks_back == "nothing" or self.adds is not None or bool(self.touched) or self.asks

    def over_sums(self, aggregate: Aggregate, trace: Trace) -> Step:
        """The same over the sums of groups, to whose rows a trace leads."""
        return replace(self, summed=aggregate, trace=trace, untraced="", executor="sums")


def step_of(
    view: model.View,
    root: Stage,
    execution: Execution,
    operators: Sequence[Operator],
    found: Found | None,
    *,
    keyed: bool,
) -> Step:
    """The step of a view, from its operators and the way to what new rows matter to; `keyed` if a store finds its rows
    by a key.
    """
    scans = list(scans_of(root))
    panes, totals, parts = _kept_panes(operators, scans), _kept_totals(operators), _kept_parts(operators)
    slices, once = execution.kind == "settle" or parts is not None, any(scan.within is not None for scan in scans)
    unique, at_once = any(scan.unique for scan in scans), as_they_come(view, root)
    copies = unique and (root.is_stateless or parts is not None)
    stateful = [operator.stage for operator in operators if operator.way is not Way.BY_ROW]
    keys = ((("_id",),) if len(scans) == 1 else ()) if copies else _keys(root, scans, at_once=at_once)
    shows_open = execution.emit is model.Emit.CHANGES and keyed and bool(stateful) and not at_once
    compared = shows_open and execution.kind == "settle" and view.every is None
    looked_up = _looked_up(root)
    step = Step(
        looks_back=_back(root, copies=copies, at_once=at_once) if slices else "everything",
        adds="panes" if panes else "totals" if totals else "parts" if parts else None,
        aggregate=panes or totals or parts,
        grouped_by=_grouped_by(parts) if parts and len(scans) == 1 else (),
        keys=keys,
        shown=stateful[-1] if stateful and slices and not at_once else None,
        shows_open=shows_open,
        from_log=at_once
        or (execution.emit is model.Emit.FINAL and not panes and not totals and not parts and not once),
        as_they_come=at_once,
        paired=once or is_joined(root) or any(looked_up_by(root)),
        anew=_anew(root, once=once),
        trace=found.trace if found else None,
        untraced=found.untraced if found else "",
        looked_up=looked_up,
        touched=_partition(root, keys) if compared and not once and not any(looked_up_by(root)) else (),
        asks=execution.kind == "settle" and view.every is None and _asks(root, looked_up),
    )
    return replace(step, executor=_executor(step, maintained=execution.kind == "maintained"))


def _executor(step: Step, *, maintained: bool) -> Executor:
    if step.trace is not None:
        return "traces"
    if step.touched:
        return "partitions"
    if step.asks:
        return "events"
    return "slices" if step.adds != "parts" else "groups" if maintained else "parts"


def _anew(root: Stage, *, once: bool) -> str:
    """The reason why a small step is planned anew; none if one plan does for all."""
    if once:
        return "who is taken once is looked up by another query"
    if any(each.asks_python for each in root.walk()):
        return "a pattern is looked for by another program"
    return "a function in Python reads its inputs as it likes" if any(each.is_opaque for each in root.walk()) else ""


def _partition(root: Stage, keys: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The columns of the log that are the keys of the partitions of a window function, all of them; else none."""
    stage = next((stage for stage in root.walk() if stage.by_partition), None)
    if stage is None or len(keys) != 1 or len(keys[0]) != len(stage.group_keys):
        return ()
    return () if any(each.is_opaque for each in root.walk()) else keys[0]


def _asks(root: Stage, looked_up: Sequence[LookUp]) -> bool:
    """Tells whether each row of a view is made of one event, and of rows that it asks tables for by its own columns.

    An event is final at its own time then, whatever a step knows of others.
    """
    scans, known = list(scans_of(root)), {look_up.table for look_up in looked_up}
    events = [scan for scan in scans if scan.kind != "table"]
    asking = asking_as_of(root)
    if not asking or len(events) != 1 or events[0].time is None or events[0].within is not None:
        return False
    tables = [join.right for join in asking]
    if set(scans) != {*events, *tables} or not all(table.relation in known for table in scans if table.kind == "table"):
        return False
    return all(stage.passes_rows or isinstance(stage, Scan) or stage in asking for stage in root.walk())


def _looked_up(root: Stage) -> tuple[LookUp, ...]:
    """The tables of which only rows that are asked for matter: all who ask name them by columns of the log."""
    found: list[LookUp] = []
    for table, left, pairs in asked_by(root):
        scans = list(scans_of(left))
        columns = tuple(
            (theirs.reads[0], scans[0].relation, column)
            for mine, theirs in pairs
            if len(scans) == 1 and mine.type == theirs.type and (column := _column_of(left, mine)) is not None
        )
        found.append(LookUp(table.relation, columns))
    unknown = {look_up.table for look_up in found if not look_up.columns}
    return tuple(look_up for look_up in found if look_up.table not in unknown)


def _back(root: Stage, *, copies: bool, at_once: bool) -> Literal["nothing", "reach", "events"]:
    if copies:
        return "events"
    return "nothing" if at_once and root.is_stateless else "reach"


def _kept_panes(operators: Sequence[Operator], scans: Sequence[Scan]) -> Aggregate | None:
    """The aggregate whose panes are kept between steps, if it keeps the only state of a view; None if none are.

    Where a stream says what is unique, a copy may come after the event's pane was made, so there the log is read again.
    """
    stateful = [operator for operator in operators if operator.way is not Way.BY_ROW]
    if len(stateful) != 1 or stateful[0].way is not Way.BY_PANES or any(scan.unique for scan in scans):
        return None
    return by_panes(stateful[0].stage)


def _kept_totals(operators: Sequence[Operator]) -> Aggregate | None:
    stages = (operator.stage for operator in operators if operator.way is Way.BY_TOTALS)
    return next((by_totals(stage) for stage in stages), None)


def kept_totals(view: model.View, root: Stage, execution: Execution, pace: Pace) -> Aggregate | None:
    """The aggregate whose totals are kept between steps; None if none are."""
    if execution.kind != "settle" or execution.emit is not model.Emit.CHANGES or view.every is not None:
        return None
    retention = view.retention if view.retention is not None else view.horizon
    if retention is None or retention > _LONGEST or pace.stamp != "_watermark":
        return None
    scans = list(scans_of(root))
    if len(scans) != 1 or not _is_bare(scans[0]):
        return None
    return next(filter(None, map(by_totals, root.walk())), None)


def kept_parts(view: model.View, root: Stage, execution: Execution, key: Key) -> Aggregate | None:
    """The aggregate whose groups are kept in parts between steps; None if none are."""
    return parts_of(view, root, execution.emit, key) if execution.kind in ("settle", "maintained") else None


def _kept_parts(operators: Sequence[Operator]) -> Aggregate | None:
    stages = (operator.stage for operator in operators if operator.way is Way.BY_PARTS)
    return next((by_parts(stage, forever=True) for stage in stages), None)


def _grouped_by(stage: Aggregate) -> tuple[tuple[str, str], ...]:
    """The keys of groups that are columns of the log: the name of each, and that of the column."""
    columns = ((name, _column_of(stage.input, key)) for name, key in keys_of_rows(stage).items())
    return tuple((name, column) for name, column in columns if column is not None)


def _is_bare(scan: Scan) -> bool:
    return not scan.unique and scan.within is None and scan.time is not None and scan.kind == "stream"


def _keys(root: Stage, scans: Sequence[Scan], *, at_once: bool) -> tuple[tuple[str, ...], ...]:
    """The columns of topics that rows must share to matter to each other, if a view says so; else none.

    What a window function says of a row depends on the rows of its partition alone; a pair has equal keys, and so have
    rows that are the same.
    """
    stateful = [stage for stage in root.walk() if stage.keeps_state and not stage.is_by_identity]
    if len(stateful) != 1 or len(scans) != len(stateful[0].inputs) or not (at_once or stateful[0].by_partition):
        return ()
    (stage,) = stateful
    alone = ([(below, key)] for below in stage.inputs for key in stage.group_keys)
    shared = shared_by_pairs(stage) if stage.joins_rows else alone
    keys = [[_column_of(*side) for side in sides] for sides in shared]
    exact = dict.fromkeys(tuple(name for name in key if name is not None) for key in keys if None not in key)
    if not exact or (stage.by_partition and any(None in key for key in keys)):
        return ()
    columns = tuple(zip(*exact, strict=True))
    told_apart = len(set(scans)) == len(scans) or len(set(columns)) == 1  # one scan that is read twice is read once
    return columns if told_apart else ()


def _column_of(stage: Stage, key: Expression) -> str | None:
    """The column of the log that a key is; None if it is another value, or one of which several may be equal."""
    return _in_log(stage, key.reads[0]) if key.is_column else None


def _in_log(stage: Stage, name: str) -> str | None:
    column = stage.column(name)
    if column is None or pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
        return None
    if isinstance(stage, Scan):
        return column.name
    sources = () if stage.keeps_state or len(stage.inputs) > 1 else unchanged(stage, column.name)
    return next((_in_log(below, own) for below, own in sources), None)
