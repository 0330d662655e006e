"""Window functions: every `function(…) OVER (…)` of a SELECT becomes a column of the stage Over.

A *frame* is the rows around a row that a function looks at. RANGE frames with intervals, ordered by event time, say
how far back in time a row can matter; other frames don't.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Literal, cast

from sqlglot import exp

from headwater import sql
from headwater.errors import OrderDependent, Origin, QueryRefused
from headwater.plan.calls import call_of
from headwater.plan.context import Context
from headwater.plan.expression import ancestors_of, expression, text
from headwater.plan.item import Item, unique_name
from headwater.plan.stages import Field, Frame, Ordering, Over, OverCall, Stage

_UNORDERED = {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first", "last"}
_UNORDERED |= {"first_value", "last_value", "nth_value", "any_value"}
_FRAMELESS = {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"}


def over(
    context: Context, select: exp.Select, stage: Stage, items: list[Item], qualify: exp.Expr | None
) -> tuple[Stage, list[Item], exp.Expr | None]:
    """The stage with a column per window function, and the items and the QUALIFY that read those columns."""
    lifting = _Lifting(context, stage, _named_windows(select))
    lifted = [replace(item, node=lifting.lift(item.node, item.name)) for item in items]
    shown = lifting.lift(qualify, None) if qualify is not None else None
    return lifting.stage(), lifted, shown


def _named_windows(select: exp.Select) -> dict[str, exp.Window]:
    return {window.name.lower(): window for window in select.args.get("windows") or ()}


class _Lifting:
    """The window functions of one SELECT, gathered while expressions are lifted."""

    def __init__(self, context: Context, below: Stage, windows: dict[str, exp.Window]) -> None:
        self.context, self.below, self.windows = context, below, windows
        self.calls: dict[str, OverCall] = {}
        self.origin: Origin | None = None

    def lift(self, node: exp.Expr, name: str | None) -> exp.Expr:
        """A copy of a bound expression that names a column in place of each window function."""
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
        window = self._resolved(window)
        spelled = text(window)
        if spelled not in self.calls:
            self.origin = self.origin or self.context.origin(window)
            found = call_of(window.this)
            function = found.info.name if found else "call"
            self._check_order(window, function)
            taken = {field.name for field in self.below.columns} | {call.name for call in self.calls.values()}
            self.calls[spelled] = OverCall(
                unique_name(name or function, taken),
                function,
                expression(self.context, window, self.below),
                tuple(expression(self.context, node, self.below) for node in window.args.get("partition_by") or ()),
                ordering(self.context, window.args.get("order"), self.below),
                None if function in _FRAMELESS else _frame(window),
            )
        return self.calls[spelled]

    def _resolved(self, window: exp.Window) -> exp.Window:
        """The window with what `WINDOW name AS (…)` says of the name it refers to."""
        referred = window.args.get("alias")
        if referred is None:
            return window
        named = self.windows.get(referred.name.lower())
        if named is None:
            self.context.refuse(QueryRefused, f'names an unknown window "{referred.name}"', referred)
            return window
        copied = named.copy()
        parts = {key: copied.args[key] for key in ("partition_by", "order", "spec") if copied.args.get(key)}
        resolved = window.copy()
        resolved.set("alias", None)
        for key, value in parts.items():
            resolved.set(key, value)
        return resolved

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
