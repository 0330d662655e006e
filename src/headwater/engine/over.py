"""Values from the rows around a row: window functions and rankings, with every tie decided.

Rows that an ORDER BY leaves equal come in whatever order they are processed. Where that shows (ROW_NUMBER, LAG, a frame
that counts rows, the first or last value of a frame), the position in the log decides. Peers stay peers where they are
meant: in RANK, and in a frame that is measured in time.

LAG and LEAD have no bound of their own: a row farther away than the view's horizon is none, in every execution.
"""

from __future__ import annotations

from datetime import timedelta

from sqlglot import exp

from headwater.engine.stamp import POSITION
from headwater.errors import NotSupportedYet
from headwater.plan.stages import Deduplicate, Over, OverCall, Role, Stage, TopN
from headwater.plan.state import ends
from headwater.sql import parse_expression, spell

_STEPS = {"lag", "lead"}
_BY_PLACE = {"row_number", "ntile", "lag", "lead", "first", "first_value"}
_LAST_OF_PEERS = {"last", "last_value", "nth_value", "any_value", "collect_list", "array_agg", "listagg", "string_agg"}


def spelled(call: OverCall, below: Stage, horizon: timedelta | None) -> str:
    """The window function in Spark SQL, its value the same in every execution."""
    by_rows = call.frame is not None and call.frame.unit == "ROWS"
    if call.function in _LAST_OF_PEERS and not (by_rows and call.order):
        raise _refused(call, "which of several rows at the same time comes last is not decided", "Write a ROWS frame.")
    tree = parse_expression(call.expression.sql)
    assert isinstance(tree, exp.Window)
    if call.order and (call.function in _BY_PLACE or by_rows):
        tree.args["order"].append("expressions", exp.Ordered(this=exp.column(POSITION)))
    if ends(call.partition, below):
        return spell(tree)
    if call.function in _STEPS:
        return _within(tree, call, below, horizon)
    if call.frame is None or call.frame.reach is None or _time(call, below) is None:
        raise _refused(call, "nothing says how far back it looks", "Partition by a window, or give it a RANGE frame.")
    return spell(tree)


def ahead(stage: Over, horizon: timedelta | None) -> timedelta:
    """How long after a row's own time its values can still change, because a row ahead of it comes."""
    return max((_ahead(call, stage.input, horizon) for call in stage.functions), default=timedelta())


def ranked(stage: TopN | Deduplicate) -> str:
    """The rank of a row in its partition, in Spark SQL."""
    partition = stage.partition if isinstance(stage, TopN) else stage.keys
    ranking = stage.ranking if isinstance(stage, TopN) else "row_number"
    order = [str(term) for term in stage.order]
    order += [POSITION] if ranking == "row_number" else []
    by = f"PARTITION BY {', '.join(key.sql for key in partition)} " if partition else ""
    return f"{ranking}() OVER ({by}ORDER BY {', '.join(order)})"


def _within(tree: exp.Window, call: OverCall, below: Stage, horizon: timedelta | None) -> str:
    """A step to another row that counts only as far as the horizon."""
    time = _time(call, below)
    if time is None or horizon is None:
        raise _refused(call, "nothing says how far it looks", "Order by the event time, and state horizon = '…'.")
    instant = tree.copy()
    instant.this.set("this", exp.column(time, quoted=True))
    instant.this.set("default", None)
    here = spell(exp.column(time, quoted=True))
    near = f"abs(unix_micros({spell(instant)}) - unix_micros({here})) <= {horizon // timedelta(microseconds=1)}"
    default = tree.this.args.get("default")
    return f"CASE WHEN {near} THEN {spell(tree)} ELSE {spell(default) if default else 'NULL'} END"


def _time(call: OverCall, below: Stage) -> str | None:
    """The column of time that orders the rows, if it alone does."""
    only = call.order[0] if len(call.order) == 1 else None
    field = below.column(only.expression.reads[0]) if only and only.expression.is_column else None
    timed = field is not None and field.role in (Role.EVENT_TIME, Role.WINDOW_END, Role.WINDOW_TIME)
    return field.name if field is not None and timed else None


def _ahead(call: OverCall, below: Stage, horizon: timedelta | None) -> timedelta:
    if ends(call.partition, below):
        return timedelta()
    descending = bool(call.order) and call.order[0].descending
    if call.function in _STEPS:
        forward = (call.function == "lead") != descending
        return horizon if forward and horizon is not None else timedelta()
    bounds = [call.frame.start, call.frame.end] if call.frame else []
    spans = [bound for bound in bounds if isinstance(bound, timedelta)]
    return max([-span if descending else span for span in spans] + [timedelta()])


def _refused(call: OverCall, why: str, hint: str) -> NotSupportedYet:
    return NotSupportedYet(f"{call.function} OVER can't be executed in this version: {why}", hint=hint)
