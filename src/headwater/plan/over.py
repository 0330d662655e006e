"""Window functions: every `function(…) OVER (…)` of a SELECT becomes a column of the stage Over.

A *frame* is the rows around a row that a function looks at. RANGE frames with intervals, ordered by event time, say
how far back in time a row can matter; other frames don't.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Literal, cast

import pyarrow as pa
from sqlglot import exp

from headwater import sql
from headwater.errors import Origin
from headwater.findings import OrderDependent, QueryRefused, TypeMismatch
from headwater.operators import Field, Frame, Ordering, Over, OverCall, Stability, Stage
from headwater.plan.calls import Call, call_of
from headwater.plan.context import Context
from headwater.plan.expression import ancestors_of, expression, text
from headwater.plan.form import check_form
from headwater.plan.functions import Kind
from headwater.plan.item import Item, unique_name
from headwater.plan.positions import own_nodes
from headwater.plan.stability import check_stability, tolerance_of

_UNORDERED = {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first", "last"}
_UNORDERED |= {"first_value", "last_value", "nth_value", "any_value"}
_FRAMELESS = {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"}


def with_named_windows(context: Context, select: exp.Select) -> exp.Select:
    """The SELECT with what `WINDOW name AS (…)` says instead of the name."""
    windows = {window.name.lower(): window for window in select.args.get("windows") or ()}
    if not any(window.args.get("alias") for window in _own_windows(select)):
        return select
    copy = select.copy()
    for window in list(_own_windows(copy)):
        name = window.args.get("alias")
        named = windows.get(name.name.lower()) if name is not None else None
        if name is not None and named is None:
            hint = f"Declare it with WINDOW {name.name} AS (…)."
            context.refuse(QueryRefused, f'names an unknown window "{name.name}"', name, hint=hint)
        parts = named.copy().args if named is not None else {}
        for part in ("partition_by", "order", "spec"):
            window.set(part, parts.get(part) or window.args.get(part))
        window.set("alias", None)
    return copy


def _own_windows(select: exp.Select) -> Iterator[exp.Window]:
    """The OVER clauses of a SELECT, without those of its subqueries and without its WINDOW clause."""
    nodes = [*select.expressions, *(qualify for qualify in [select.args.get("qualify")] if qualify is not None)]
    for node in nodes:
        for inner in own_nodes(node):
            if isinstance(inner, exp.Window):
                yield inner


def over(
    context: Context, stage: Stage, items: list[Item], qualify: exp.Expr | None
) -> tuple[Stage, list[Item], exp.Expr | None]:
    """The stage with a column per window function, and the items and the QUALIFY that read those columns."""
    lifting = _Lifting(context, stage)
    lifted = [replace(item, node=lifting.lift(item.node, item.name)) for item in items]
    shown = lifting.lift(qualify, None) if qualify is not None else None
    return lifting.stage(), lifted, shown


class _Lifting:
    """The window functions of one SELECT, gathered while expressions are lifted."""

    def __init__(self, context: Context, below: Stage) -> None:
        self.context, self.below = context, below
        self.calls: dict[str, OverCall] = {}
        self.origin: Origin | None = None

    def lift(self, node: exp.Expr, name: str | None) -> exp.Expr:
        """A copy of a bound expression that names a column instead of each window function."""
        root = exp.Paren(this=node.copy())
        for window in list(root.find_all(exp.Window)):
            call = self._call(window, name if window is root.this else None)
            window.replace(exp.column(exp.to_identifier(call.name)))
        return cast(exp.Expr, root.this)

    def stage(self) -> Stage:
        """The stage below, with an Over on it if there are window functions."""
        calls = tuple(self.calls.values())
        if not calls:
            return self.below
        added = tuple(
            Field(call.name, call.expression.type, call.expression.nullable, ancestors_of(call.expression, self.below))
            for call in calls
        )
        return Over((*self.below.columns, *added), self.below, calls, origin=self.origin)

    def _call(self, window: exp.Window, name: str | None) -> OverCall:
        spelled = text(window)
        if spelled not in self.calls:
            self.origin = self.origin or self.context.origin(window)
            called = call_of(window.this)
            function = called.info.name if called else "call"
            self._check_kind(window, called)
            self._check_order(window, function)
            self._check_frame(window, function)
            taken = {field.name for field in self.below.columns} | {call.name for call in self.calls.values()}
            typed = expression(self.context, window, self.below)
            check_form(self.context, window.this, typed.type, window)
            stability = self._stability(window, called)
            self.calls[spelled] = OverCall(
                unique_name(name or function, taken),
                function,
                typed,
                tuple(expression(self.context, node, self.below) for node in window.args.get("partition_by") or ()),
                ordering(self.context, window.args.get("order"), self.below),
                None if function in _FRAMELESS else _frame(window),
                stability,
                tolerance_of(function, stability, window.this),
            )
        return self.calls[spelled]

    def _stability(self, window: exp.Window, call: Call | None) -> Stability:
        if call is None or call.info.kind is not Kind.AGGREGATE:
            return Stability.EXACT
        return check_stability(self.context, window.this, self.below, call.info.name)

    def _check_kind(self, window: exp.Window, call: Call | None) -> None:
        if call is not None and call.info.kind not in (Kind.AGGREGATE, Kind.WINDOW):
            self.context.refuse(
                QueryRefused,
                f'calls "{call.info.name}" with OVER, but it looks at one row',
                window,
                hint="Leave OVER out.",
            )

    def _check_frame(self, window: exp.Window, function: str) -> None:
        """A frame must be of the kind that its order can be measured in, and rankings have their own."""
        spec = window.args.get("spec")
        if spec is None:
            return
        if function in _FRAMELESS:
            hint = "Leave the frame out."
            self.context.refuse(QueryRefused, f'gives "{function}" a frame, but it looks at all rows', spec, hint=hint)
            return
        if spec.args.get("kind") == "GROUPS" or spec.args.get("exclude"):
            what = "EXCLUDE" if spec.args.get("exclude") else "GROUPS"
            hint = "Write a frame with RANGE or ROWS."
            self.context.refuse(QueryRefused, f"has a frame with {what}, which Spark SQL doesn't have", spec, hint=hint)
            return
        if _is_reversed(_frame(window)):
            hint = "Write the earlier bound first."
            self.context.refuse(QueryRefused, "has a frame that ends before it begins", spec, hint=hint)
            return
        bounds = [spec.args.get("start"), spec.args.get("end")]
        spans = [sql.interval(bound) is not None for bound in bounds if isinstance(bound, exp.Expr)]
        terms = ordering(replace(self.context, findings=[]), window.args.get("order"), self.below)
        over_time = len(terms) == 1 and pa.types.is_temporal(terms[0].expression.type)
        by_range = spec.args.get("kind") == "RANGE"
        if any(spans) and not (by_range and over_time):
            hint = "Write RANGE, and order by one column of time."
            self.context.refuse(TypeMismatch, "has a frame in time over rows that time doesn't order", spec, hint=hint)
        elif spans and not all(spans) and by_range and over_time:
            hint = "Write the bound as an interval, like INTERVAL '1' HOUR."
            self.context.refuse(TypeMismatch, "has a frame in numbers over rows that time orders", spec, hint=hint)

    def _check_order(self, window: exp.Window, function: str) -> None:
        if function in _UNORDERED and not window.args.get("order"):
            self.context.refuse(
                OrderDependent,
                f'ranks rows with "{function}" in no stated order',
                window,
                detail="Which row comes first would depend on how the rows happen to be processed.",
                hint="Add ORDER BY to the OVER clause.",
                function=function,
            )


def ordering(context: Context, clause: exp.Order | None, stage: Stage) -> tuple[Ordering, ...]:
    """The terms of a bound ORDER BY."""
    for term in clause.expressions if clause else ():
        if isinstance(term.this, exp.Var):
            hint = "Name the columns, one by one."
            context.refuse(QueryRefused, f"orders by {term.this.name}, which is no column", term.this, hint=hint)
    return tuple(
        Ordering(
            expression(context, term.this, stage),
            bool(term.args.get("desc")),
            bool(term.args.get("nulls_first")),
        )
        for term in (clause.expressions if clause else ())
    )


def _frame(window: exp.Window) -> Frame:
    spec = window.args.get("spec")
    if spec is None:
        return Frame("RANGE", None, 0) if window.args.get("order") else Frame("ROWS", None, None)
    unit = cast(Literal["RANGE", "ROWS", "GROUPS"], spec.args.get("kind", "RANGE"))
    start = _bound(spec.args.get("start"), spec.args.get("start_side"))
    end = _bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    return Frame(unit, start, end)


def _is_reversed(frame: Frame) -> bool:
    """Tells whether no row can be in a frame; bounds that can't be compared are refused elsewhere."""
    start, end = (timedelta() if bound == 0 else bound for bound in (frame.start, frame.end))
    if isinstance(frame.start, int) and isinstance(frame.end, int):
        return frame.start > frame.end
    return isinstance(start, timedelta) and isinstance(end, timedelta) and start > end


def _bound(bound: exp.Expr | str | None, side: str | None) -> timedelta | int | None:
    if bound == "CURRENT ROW":
        return 0
    if bound is None or isinstance(bound, str):
        return None
    sign = -1 if side == "PRECEDING" else 1
    duration = sql.interval(bound)
    if duration is not None:
        return sign * duration
    return sign * int(bound.name) if isinstance(bound, exp.Literal) and bound.is_int else None
