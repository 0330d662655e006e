"""As-of joins: a table is asked for its row of a key as it was at an instant of each row.

The instant is a time of the left side, so that a row knows when its answer is final; the changes of the table have
an event time, and it is asked by its primary key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from headwater.findings import NotSupportedYet, QueryRefused, UnversionedJoin
from headwater.operators import Expression, Role
from headwater.operators.as_of_join.stage import AS_OF_KINDS, AsOfKind, Pairs
from headwater.operators.scan.stage import is_table, scans_of
from headwater.plan.bind import bind
from headwater.plan.context import Context
from headwater.plan.other_join import instead_of_as_of, time_of
from headwater.plan.scope import Scope

REPLAY = "A replay would meet other rows of the table, and give other results."


@dataclass(frozen=True)
class AsOf:
    """The instant and the kind of an as-of join, and its equalities: those of the table's key, and others."""

    time: str
    kind: AsOfKind
    key: Pairs
    equal: Pairs


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
    bound = bind(context, instant, left)
    time = left.stage.column(bound.name) if isinstance(bound, exp.Column) else None
    scans = list(scans_of(right.stage))
    if right.complete and not (is_table(right.stage) and all(scan.watermarked for scan in scans)):
        refuse_unversioned(context, left, right, at)
    elif right.complete and scans[0] is not right.stage:
        hint = "Name the table itself, and filter or compute behind the join."
        context.refuse(NotSupportedYet, "asks a query for its rows as of an instant", at, hint=hint)
    elif left.complete and (time is None or time.role is None or time.role is Role.ARRIVAL_TIME):
        what = "asks for a table as of something that is not the event time"
        hint = f"Write FOR SYSTEM_TIME AS OF {time_of(left)}."
        context.refuse(QueryRefused, what, instant, detail=_NOT_THE_TIME, hint=hint)
    key = _of_key(context, left, right, equal, at)
    others = tuple(pair for pair in equal if pair not in key)
    known = next((word for word in AS_OF_KINDS if word == kind), None)
    if known is None:
        hint = "Write JOIN or LEFT JOIN: the row that was in the table, if there was one."
        context.refuse(QueryRefused, f"asks for a table as of an instant with a {kind} join", at, hint=hint)
    return AsOf(time.name if time else "", known or "inner", key, others)


_NOT_THE_TIME = (
    "Nothing else says when the answer is final: what was known when a row arrived depends on which came first."
)


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
