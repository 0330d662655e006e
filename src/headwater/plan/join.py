"""Joins: two relations become one, and something must bound how long a row waits for its partner.

That something is a time bound in the condition (an *interval join*), equality of the windows of both sides (a *window
join*), or `FOR SYSTEM_TIME AS OF`, which asks a versioned table for its row at the time of the other side's row (an
*as-of join*), or for the one that was known when that row arrived (an *as-known join*). Behind a join, the columns of
both sides live in one stage: a name that both have gets its source before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp

from headwater import model, sql
from headwater.findings import NotSupportedYet, UnboundedJoin, UnversionedJoin
from headwater.operators import (
    AsOfJoin,
    Expression,
    Field,
    Join,
    JoinKind,
    Role,
    Stage,
    TimeBound,
)
from headwater.operators.as_known_join.stage import as_known
from headwater.operators.assign.stage import is_windowed
from headwater.operators.scan.stage import is_table, scans_of
from headwater.plan.as_of import REPLAY, as_of
from headwater.plan.bind import bind_pair
from headwater.plan.bounds import Distance, distances
from headwater.plan.context import Context, Relation
from headwater.plan.expression import check_equal, expression, pair_expression
from headwater.plan.item import unique_name
from headwater.plan.other_join import asked_as_of, instead_of_as_of, refuse_other_join, time_of
from headwater.plan.positions import columns_of, locate
from headwater.plan.scope import Scope
from headwater.plan.source import NOTHING, refuse_no_watermark

_FOR_EVER = "Or keep every row: WITH (retention = 'forever')."
_KINDS: dict[tuple[str, str], JoinKind] = {
    ("", ""): "inner",
    ("", "INNER"): "inner",
    ("", "CROSS"): "inner",
    ("LEFT", ""): "left",
    ("LEFT", "OUTER"): "left",
    ("RIGHT", ""): "right",
    ("RIGHT", "OUTER"): "right",
    ("FULL", ""): "full",
    ("FULL", "OUTER"): "full",
    ("", "SEMI"): "semi",
    ("LEFT", "SEMI"): "semi",
    ("", "ANTI"): "anti",
    ("LEFT", "ANTI"): "anti",
}


@dataclass(frozen=True)
class _Condition:
    """A bound condition, taken apart."""

    equal: tuple[tuple[exp.Expr, exp.Expr], ...]
    residual: tuple[exp.Expr, ...]

    @property
    def conjuncts(self) -> list[exp.Expr]:
        """Every part of the condition."""
        return [exp.EQ(this=left.copy(), expression=right.copy()) for left, right in self.equal] + list(self.residual)


def conjuncts_of(node: exp.Expr | None) -> list[exp.Expr]:
    """The parts of a condition that must all be true."""
    if node is None:
        return []
    node = node.unnest()
    if isinstance(node, exp.And):
        return [*conjuncts_of(node.this), *conjuncts_of(node.expression)]
    return [node]


def kind_of(node: exp.Join) -> JoinKind | None:
    """The kind that the words before JOIN ask for, None if it isn't there."""
    return None if node.method else _KINDS.get((node.side.upper(), node.kind.upper()))


def join(
    context: Context, node: exp.Join, left: Scope, name: str, relation: Relation, more: Sequence[exp.Expr]
) -> Scope:
    """The scope behind a JOIN. `more` are conditions of an inner join that the author wrote in WHERE."""
    right = Scope.of(name, relation)
    conditions, instant = [*conjuncts_of(node.args.get("on")), *more], sql.as_of(node.this)
    if (asked := asked_as_of(node, conditions, right)) is not None:
        conditions, instant = asked
    kind = kind_of(node) if asked is None else "left" if node.side else "inner"
    if kind is None:
        return refuse_other_join(context, node, left, right)
    using = node.args.get("using") or ()
    bound = [_using(context, identifier, left, right) for identifier in using]
    bound += [bind_pair(context, condition, left, right) for condition in conditions]
    return pair(context, left, right, kind, bound, node, instant, [identifier.name for identifier in using])


def _using(context: Context, identifier: exp.Expr, left: Scope, right: Scope) -> exp.Expr:
    """The equality of a column of both sides, of that name: the one that an earlier USING shows, if one does."""
    column, nowhere = locate(exp.column(identifier.copy()), identifier), Scope(NOTHING.stage, (), {})
    sides = bind_pair(context, column, left, nowhere), bind_pair(context, column, nowhere, right)
    return exp.EQ(this=sides[0], expression=sides[1])


def pair(
    context: Context,
    left: Scope,
    right: Scope,
    kind: JoinKind,
    conditions: list[exp.Expr],
    at: exp.Expr,
    instant: exp.Expr | None = None,
    using: Sequence[str] = (),
) -> Scope:
    """The scope of two scopes joined on bound conditions."""
    split = _split(conditions)
    fields, renames, moves = _columns(left.stage, right, kind)
    equal = tuple(_sides(context, pair, left.stage, right.stage) for pair in split.equal)
    residual = _residual(context, split.residual, left.stage, right.stage)
    sides, origin = (left.stage, right.stage), context.origin(at)
    stage: Stage
    if instant is not None:
        asked = as_of(context, left, right, kind, equal, instant, at)
        stage = AsOfJoin(
            fields, *sides, asked.kind, asked.key, asked.equal, residual, renames, asked.time, origin=origin
        )
        stage = stage if asked.known is None else as_known(stage, asked.known)
    else:
        complete = left.complete and right.complete
        limits = _limits(context, left, right, split, at) if complete else (None, None)
        stage = Join(fields, *sides, kind, equal, residual, renames, *limits, origin=origin)
    return _scope(stage, left, right, kind, moves, using)


def _scope(
    stage: Stage, left: Scope, right: Scope, kind: JoinKind, moves: dict[str, str], using: Sequence[str]
) -> Scope:
    if kind in ("semi", "anti"):
        return Scope(stage, left.sources, left.merged)
    merged = dict(left.merged)
    for column in using if kind != "full" else ():
        side = right if kind == "right" else left
        shown = next((field.name for field in side.find(column)), column)
        merged[column.lower()] = moves.get(shown, shown) if kind == "right" else shown
    return Scope(stage, (*left.sources, *(source.moved(moves) for source in right.sources)), merged)


def _split(conditions: list[exp.Expr]) -> _Condition:
    equal, residual = [], []
    for condition in conditions:
        node = condition.unnest()
        sides = [_side(node.this), _side(node.expression)] if isinstance(node, exp.EQ) else []
        if sides == ["l", "r"]:
            equal.append((node.this, node.expression))
        elif sides == ["r", "l"]:
            equal.append((node.expression, node.this))
        else:
            residual.append(node)
    return _Condition(tuple(equal), tuple(residual))


def _side(node: exp.Expr) -> str | None:
    sides = {column.table for column in columns_of(node)}
    return sides.pop() if len(sides) == 1 else None


def _sides(
    context: Context, equal: tuple[exp.Expr, exp.Expr], left: Stage, right: Stage
) -> tuple[Expression, Expression]:
    pair_expression(context, exp.EQ(this=equal[0].copy(), expression=equal[1].copy()), left, right)
    sides = _one_side(context, equal[0], left), _one_side(context, equal[1], right)
    check_equal(context, sides, (left, right), equal[0])
    return sides


def _one_side(context: Context, node: exp.Expr, stage: Stage) -> Expression:
    root = exp.Paren(this=node.copy())
    for column in list(columns_of(root)):
        column.set("table", None)
    return expression(replace(context, findings=[]), root.this, stage)


def _residual(context: Context, parts: tuple[exp.Expr, ...], left: Stage, right: Stage) -> Expression | None:
    if not parts:
        return None
    return pair_expression(context, exp.and_(*(part.copy() for part in parts)), left, right)


def _columns(
    left: Stage, right: Scope, kind: JoinKind
) -> tuple[tuple[Field, ...], tuple[tuple[Literal["left", "right"], str], ...], dict[str, str]]:
    """The output columns, where each comes from, and what the columns of the right side are called in it."""
    fields = [replace(field, nullable=field.nullable or kind in ("right", "full")) for field in left.columns]
    renames: list[tuple[Literal["left", "right"], str]] = [("left", field.name) for field in left.columns]
    if kind in ("semi", "anti"):
        return tuple(fields), tuple(renames), {}
    moves: dict[str, str] = {}
    for field in right.stage.columns:
        taken = [kept.name for kept in fields]
        clash = field.name.lower() in {name.lower() for name in taken}
        name = unique_name(f"{right.sources[0].name}_{field.name}" if clash else field.name, taken)
        moves[field.name] = name
        fields.append(replace(field, name=name, nullable=field.nullable or kind in ("left", "full")))
        renames.append(("right", field.name))
    return tuple(fields), tuple(renames), moves


# What bounds the state


def _limits(
    context: Context, left: Scope, right: Scope, condition: _Condition, at: exp.Expr
) -> tuple[TimeBound | None, model.Window | None]:
    if _tables(context, left, right, at):
        return None, None
    window = _shared_window(condition, left.stage, right.stage)
    if window is not None:
        return None, window
    scans = () if context.view.is_forever else (*scans_of(left.stage), *scans_of(right.stage))
    unmarked = [scan for scan in scans if not scan.watermarked]
    for scan in unmarked:
        refuse_no_watermark(context, scan, at, None)
    pairs = distances(condition.conjuncts, left.stage, right.stage)
    bound = pairs[0].bound if pairs else None
    if bound is None and not unmarked and not context.view.is_forever:
        _refuse_unbounded(context, left, right, pairs, at)
    if bound is not None and any(_is_in_windows(side.stage) for side in (left, right)):
        hint = "Join on window_start and window_end of the same window, or join the streams before their windows."
        what = "joins rows in windows within a bound in time, which has no executor in this version"
        context.refuse(NotSupportedYet, what, at, hint=hint)
    return bound, None


def _is_in_windows(stage: Stage) -> bool:
    """Tells whether rows are in windows, each maybe in several, and not grouped by them yet."""
    return is_windowed(stage) and all(below.stays_in_windows or not below.keeps_state for below in stage.walk())


def _named(stage: Stage) -> str:
    scans = list(scans_of(stage))
    return f'{scans[0].kind} "{scans[0].relation}"' if len(scans) == 1 else "a query"


def _tables(context: Context, left: Scope, right: Scope, at: exp.Expr) -> bool:
    """Tells whether a side is a table; if so, the join is refused, since its rows depend on when it is made."""
    tables = [side for side in (left, right) if is_table(side.stage)]
    if tables and context.view.is_forever:
        return True
    if len(tables) == 2:
        hint = "Hold every row for ever: WITH (retention = 'forever')."
        context.refuse(NotSupportedYet, "joins two tables and lets go of other rows", at, hint=hint)
    elif tables:
        other = right if tables[0] is left else left
        _refuse_unversioned(context, tables[0], other, at)
    return bool(tables)


def _refuse_unversioned(context: Context, table: Scope, other: Scope, at: exp.Expr) -> None:
    scan = next(scan for scan in scans_of(table.stage) if scan.kind == "table")
    context.refuse(
        UnversionedJoin,
        f'joins table "{scan.relation}" as it happens to be when a row is processed',
        at,
        detail=REPLAY,
        hint=instead_of_as_of(other, table),
        table=scan.relation,
    )


def _shared_window(condition: _Condition, left: Stage, right: Stage) -> model.Window | None:
    """The window that the condition makes equal on both sides: by its end, or by its start where that says as much."""
    for first, second in condition.equal:
        if not (isinstance(first, exp.Column) and isinstance(second, exp.Column)):
            continue
        one, other = left.column(first.name), right.column(second.name)
        same = one and other and one.role is other.role and one.window == other.window
        if same and one and one.role and one.role.bounds_window and _identifies(one):
            return one.window
    return None


def _identifies(field: Field) -> bool:
    by_start = isinstance(field.window, model.Tumble | model.Calendar | model.Hop)
    return field.role is not Role.WINDOW_START or by_start


def _refuse_unbounded(context: Context, left: Scope, right: Scope, pairs: list[Distance], at: exp.Expr) -> None:
    half = pairs[0] if pairs else None
    detail = "Every row would wait for ever for a partner that may still come."
    if half is not None:
        missing = "upper" if half.upper is None else "lower"
        between = f"{right.spell(half.right)} − {left.spell(half.left)}"
        detail = f"The condition bounds {between} on one side only; the {missing} bound is missing."
    if any(is_windowed(side.stage) for side in (left, right)):
        names = [source.name for side in (left, right) for source in side.sources if source.name]
        one, other = (names[0], names[-1]) if len(names) > 1 else ("l", "r")
        hint = f"Join the same windows: AND {one}.window_start = {other}.window_start "
        hint += f"AND {one}.window_end = {other}.window_end."
    else:
        one, other = time_of(left), time_of(right)
        bound = f"{other} BETWEEN {one} AND {one} + INTERVAL '1' HOUR"
        hint = f"Add a time bound, like AND {bound}."
        if isinstance(at, exp.In):
            hint = f"Write it with EXISTS, and a time bound like {bound} in its WHERE."
        hint = f"{hint} {_FOR_EVER}"
    what = f"joins {_named(left.stage)} and {_named(right.stage)} without a bound in time"
    context.refuse(UnboundedJoin, what, at, detail=detail, hint=hint)
