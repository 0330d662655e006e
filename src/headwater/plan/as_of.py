"""As-of joins: a table is asked for its row of a key as it was at an instant of each row, or as it was known then.

The instant is a time of the left side, so that a row knows when its answer is final; the changes of the table have
an event time, and it is asked by its primary key. Where the instant is the arrival of a row, the table is asked as it
was known when the row arrived: that needs no time of its changes but their own arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from headwater.findings import NotSupportedYet, QueryRefused, UnversionedJoin
from headwater.operators import Expression, Field, Role, Scan
from headwater.operators.as_of_join.stage import AS_OF_KINDS, AsOfKind
from headwater.operators.paired import Pairs
from headwater.operators.scan.stage import is_table, scans_of
from headwater.plan.bind import bind
from headwater.plan.context import Context
from headwater.plan.other_join import arrival_of, instead_of_as_of, time_of
from headwater.plan.scope import Scope

REPLAY = "A replay would meet other rows of the table, and give other results."


@dataclass(frozen=True)
class AsOf:
    """The instant and the kind of an as-of join, and its equalities: those of the table's key, and others.

    Where the table is asked as it was `known`, the instant is that of arrival.
    """

    time: str
    kind: AsOfKind
    key: Pairs
    equal: Pairs
    known: Scan | None = None


def as_of(
    context: Context,
    left: Scope,
    right: Scope,
    kind: str,
    equal: Sequence[tuple[Expression, Expression]],
    instant: exp.Expr,
    at: exp.Expr,
) -> AsOf:
    """The parts of an as-of join; what speaks against it is reported."""
    if is_processing_time(instant):
        return _of_the_clock(context, left, instant)
    time = _time(context, left, instant)
    scans, known = list(scans_of(right.stage)), time is not None and time.role is Role.ARRIVAL_TIME
    if right.complete and not (is_table(right.stage) and (known or all(scan.watermarked for scan in scans))):
        refuse_unversioned(context, left, right, at)
    elif right.complete and scans[0] is not right.stage:
        hint = "Name the table itself, and filter or compute behind the join."
        context.refuse(NotSupportedYet, "asks a query for its rows as of an instant", at, hint=hint)
    elif left.complete and (time is None or time.role is None):
        what = "asks for a table as of something that is not the event time"
        hint = f"Write FOR SYSTEM_TIME AS OF {time_of(left)}; or {arrival_of(left)}, for what was known on arrival."
        context.refuse(QueryRefused, what, instant, detail=_NOT_THE_TIME, hint=hint)
    key = _of_key(context, left, right, equal, at)
    others = tuple(pair for pair in equal if pair not in key)
    shown = next((word for word in AS_OF_KINDS if word == kind), None)
    if shown is None:
        hint = "Write JOIN or LEFT JOIN: the row that was in the table, if there was one."
        context.refuse(QueryRefused, f"asks for a table as of an instant with a {kind} join", at, hint=hint)
    return AsOf(time.name if time else "", shown or "inner", key, others, scans[0] if known and scans else None)


_NOT_THE_TIME = "Nothing else says when the answer is final."
_CLOCKS = {"proctime", "now", "current_timestamp", "localtimestamp"}


def is_processing_time(instant: exp.Expr) -> bool:
    """Tells whether an instant is that of the clock, as other systems spell the time of processing."""
    node = instant.unnest()
    name = node.name if isinstance(node, exp.Anonymous) else node.sql_name() if isinstance(node, exp.Func) else ""
    return name.lower() in _CLOCKS


def _of_the_clock(context: Context, left: Scope, instant: exp.Expr) -> AsOf:
    context.refuse(
        QueryRefused,
        "asks for a table as of the time of processing",
        instant,
        detail="A replay processes a row at another time, and would give other results.",
        hint=f"Write FOR SYSTEM_TIME AS OF {arrival_of(left)}: what was known when the row arrived. It is in the log, "
        "and no row waits for it.",
    )
    return AsOf("", "inner", (), ())


def _time(context: Context, left: Scope, instant: exp.Expr) -> Field | None:
    """The column of the left side that is the instant. Of the copies of an event the first asks, so that its arrival
    may be named.
    """
    bound = bind(replace(context, findings=[]), instant, left)
    time = left.stage.column(bound.name) if isinstance(bound, exp.Column) else None
    if time is None or not (time.varies and time.role is Role.ARRIVAL_TIME and left.stage.is_stateless):
        bind(context, instant, left)
    return time


def refuse_unversioned(context: Context, left: Scope, right: Scope, at: exp.Expr) -> None:
    """Report that rows are asked for as of an instant which have no versions."""
    scan = next(scans_of(right.stage), None)
    named = f'{scan.kind} "{scan.relation}"' if scan is not None else "a query"
    context.refuse(
        UnversionedJoin,
        f"asks {named} for its rows as of an instant",
        at,
        detail="Only a table whose changes have an event time and a watermark has versions.",
        hint=instead_of_as_of(left, right),
    )


def _of_key(
    context: Context, left: Scope, right: Scope, equal: Sequence[tuple[Expression, Expression]], at: exp.Expr
) -> Pairs:
    """The equalities of the table's key, one for each of its columns."""
    scan = next(scans_of(right.stage), None)
    names = scan.key if scan is not None and is_table(right.stage) else ()
    key: list[tuple[Expression, Expression]] = []
    for name in names:
        pairs = [pair for pair in equal if pair[1].is_column and pair[1].reads[0].lower() == name.lower()]
        if pairs:
            key.append(pairs[0])
            _check_types(context, pairs[0], at)
    if scan is not None and len(key) < len(names) and left.complete and right.complete:
        missing = ", ".join(names)
        context.refuse(
            NotSupportedYet,
            f'asks table "{scan.relation}" as of an instant by other columns than its key',
            at,
            detail=f"Its key is {missing}: of each key there is one row at an instant.",
            hint=f"Join on every column of the key ({missing}), and ask for the others beside it.",
        )
    return tuple(key)


def _check_types(context: Context, pair: tuple[Expression, Expression], at: exp.Expr) -> None:
    one, other = (side.type for side in pair)
    if one != other and not (pa.types.is_integer(one) and pa.types.is_integer(other)):
        hint = "CAST the one to the type of the other: CAST(… AS …)."
        context.refuse(NotSupportedYet, "asks a table by a key of another type", at, hint=hint)
