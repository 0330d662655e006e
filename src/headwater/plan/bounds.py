"""Time bounds: how far apart in time two joined rows can be, read off the condition of the join.

Every comparison between times is a *linear* inequality: a sum of time columns, each counted +1 or −1, and a constant
duration. `b.at BETWEEN a.at AND a.at + INTERVAL '1' HOUR`, `a.at >= b.at - INTERVAL '1' HOUR AND a.at <= b.at` and
`b.at - a.at <= INTERVAL '1' HOUR` all come down to bounds of `r.at − l.at`, so that every spelling of a bound is the
same bound.

Conditions here are bound: the columns of the left side are written `l.column`, those of the right side `r.column`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from sqlglot import exp

from headwater import model, sql
from headwater.operators import Field, Role, Stage, TimeBound

_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.EQ: exp.EQ,
    exp.NullSafeEQ: exp.NullSafeEQ,
}
_ANCHORS = [Role.WINDOW_END, Role.WINDOW_TIME, Role.WINDOW_START]
WINDOW_TIME_BEFORE_END = timedelta(milliseconds=1)
"""A row of a window happens at its window_time, this long before its window_end."""


@dataclass(frozen=True)
class _Limit:
    """A bound of `right − left` from one comparison."""

    left: str
    right: str
    side: Literal["lower", "upper"]
    distance: timedelta
    strict: bool


@dataclass(frozen=True)
class Distance:
    """The distance of two time columns that a condition asks for; a side without limit is None."""

    left: str
    right: str
    lower: _Limit | None
    upper: _Limit | None

    @property
    def bound(self) -> TimeBound | None:
        """The bound, if both sides are limited."""
        if self.lower is None or self.upper is None:
            return None
        lower, upper = self.lower, self.upper
        return TimeBound(self.left, self.right, lower.distance, upper.distance, lower.strict, upper.strict)


def distances(conjuncts: Sequence[exp.Expr], left: Stage, right: Stage) -> list[Distance]:
    """The bounds in time of the conjuncts of a join's condition, the best-bounded pair of columns first."""
    limits = [limit for conjunct in conjuncts for limit in _limits(conjunct, left, right)]
    pairs = dict.fromkeys((limit.left, limit.right) for limit in limits)
    between = [_distance(pair, limits) for pair in pairs]
    return sorted(between, key=lambda distance: (distance.bound is None, distance.left, distance.right))


def _distance(pair: tuple[str, str], limits: list[_Limit]) -> Distance:
    mine = [limit for limit in limits if (limit.left, limit.right) == pair]
    lower = [limit for limit in mine if limit.side == "lower"]
    upper = [limit for limit in mine if limit.side == "upper"]
    return Distance(
        *pair,
        lower=max(lower, key=lambda limit: (limit.distance, limit.strict), default=None),
        upper=min(upper, key=lambda limit: (limit.distance, not limit.strict), default=None),
    )


def _limits(conjunct: exp.Expr, left: Stage, right: Stage) -> Iterator[_Limit]:
    for smaller, kind, larger in _comparisons(conjunct.unnest()):
        difference = _Linear.of(smaller, left, right, 1)
        other = _Linear.of(larger, left, right, -1)
        if difference and other:
            yield from _limits_of(difference + other, kind)


def _comparisons(node: exp.Expr) -> Iterator[tuple[exp.Expr, type[exp.Expr], exp.Expr]]:
    if isinstance(node, exp.Between):
        yield node.this, exp.GTE, node.args["low"]
        yield node.this, exp.LTE, node.args["high"]
    elif type(node) in _MIRRORED:
        yield node.this, type(node), node.expression


def _limits_of(linear: _Linear, kind: type[exp.Expr]) -> Iterator[_Limit]:
    """The limits from `linear kind 0`, where linear is ±(right − left) + constant."""
    right = next((name for (side, name), count in linear.counts.items() if side == "r"), None)
    left = next((name for (side, name), count in linear.counts.items() if side == "l"), None)
    if left is None or right is None or len(linear.counts) != 2:
        return
    sign = linear.counts["r", right]
    if abs(sign) != 1 or linear.counts["l", left] != -sign:
        return
    relation = kind if sign == 1 else _MIRRORED[kind]
    distance = -linear.constant * sign
    if relation in (exp.GT, exp.GTE, exp.EQ, exp.NullSafeEQ):
        yield _Limit(left, right, "lower", distance, relation is exp.GT)
    if relation in (exp.LT, exp.LTE, exp.EQ, exp.NullSafeEQ):
        yield _Limit(left, right, "upper", distance, relation is exp.LT)


@dataclass(frozen=True)
class _Linear:
    """A sum of time columns, by (side, name), and a constant."""

    counts: dict[tuple[str, str], int]
    constant: timedelta

    def __add__(self, other: _Linear) -> _Linear:
        keys = self.counts.keys() | other.counts.keys()
        counts = {key: self.counts.get(key, 0) + other.counts.get(key, 0) for key in keys}
        return _Linear({key: count for key, count in counts.items() if count}, self.constant + other.constant)

    @classmethod
    def of(cls, node: exp.Expr, left: Stage, right: Stage, sign: int) -> _Linear | None:
        """The node, `sign` times, as a sum; None where it is anything else."""
        node = node.unnest()
        if isinstance(node, exp.Add | exp.Sub):
            first = cls.of(node.this, left, right, sign)
            second = cls.of(node.expression, left, right, sign if isinstance(node, exp.Add) else -sign)
            return first + second if first and second else None
        if isinstance(node, exp.Neg):
            return cls.of(node.this, left, right, -sign)
        if isinstance(node, exp.Column):
            return cls._of_column(node, left if node.table == "l" else right, sign)
        duration = sql.interval(node)
        return cls({}, sign * duration) if duration is not None else None

    @classmethod
    def _of_column(cls, node: exp.Column, stage: Stage, sign: int) -> _Linear | None:
        field = stage.column(node.name)
        if field is None or field.role in (None, Role.ARRIVAL_TIME):
            return None
        anchor, distance = _anchor(field, stage)
        return cls({(node.table, anchor.name): sign}, sign * distance)


def _anchor(field: Field, stage: Stage) -> tuple[Field, timedelta]:
    """The column that stands for all bounds of a window, and how far behind it (or before: −) this one is."""
    offset = _before_end(field)
    if offset is None:
        return field, timedelta()
    peers = [peer for peer in stage.columns if peer.window == field.window and _before_end(peer) is not None]
    if len({peer.role for peer in peers}) != len(peers):  # two windows of one shape: which bound belongs to which?
        return field, timedelta()
    anchor = next(peer for role in _ANCHORS for peer in peers if peer.role is role)
    return anchor, (_before_end(anchor) or timedelta()) - offset


def _before_end(field: Field) -> timedelta | None:
    """The time from a window's bound to the end of its window, where that is the same for every window."""
    if field.role is Role.WINDOW_END:
        return timedelta()
    if field.role is Role.WINDOW_TIME:
        return WINDOW_TIME_BEFORE_END
    if field.role is Role.WINDOW_START and isinstance(field.window, model.Tumble | model.Hop):
        return field.window.size
    return None
