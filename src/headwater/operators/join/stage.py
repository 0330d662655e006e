"""Join: pairs of rows of two inputs, by equality, within a time bound, or in the same window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar, Literal

import pyarrow as pa

from headwater import model
from headwater.operators.assign.spelling import spell_window
from headwater.operators.assign.stage import length_of
from headwater.operators.entry import taken_once
from headwater.operators.expression import Expression
from headwater.operators.finality import Finality
from headwater.operators.kept import Kept, after
from headwater.operators.paired import SIDES, Paired, Pairs, Side, Sources
from headwater.operators.scan.stage import is_table, scans_of
from headwater.operators.stage import NONE, GroupKey, Identity, Stage, renamed
from headwater.operators.streaming import Direction, Link, Streaming
from headwater.operators.unchanged import unchanged
from headwater.operators.written import given_names

JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]
_OUTER = ("left", "right", "full")
_LIVE_WINDOW_JOINS = ("inner", "left", "semi")
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True)
class TimeBound:
    """`right` − `left` lies between `lower` and `upper`; `strict_…` bounds are exclusive."""

    left: str
    right: str
    lower: timedelta
    upper: timedelta
    strict_lower: bool = False
    strict_upper: bool = False

    @property
    def reach(self) -> timedelta:
        """The distance in time that two rows of a pair can be apart."""
        return max(abs(self.lower), abs(self.upper))

    @property
    def whole(self) -> tuple[timedelta, timedelta]:
        """Both bounds in whole milliseconds, no narrower than they are."""
        return self.lower // _MILLISECOND * _MILLISECOND, -(-self.upper // _MILLISECOND) * _MILLISECOND

    @property
    def lag(self) -> timedelta:
        """The time that pairs lag behind the watermark: how long before it the time of one can be."""
        lower, upper = self.whole
        return max(upper, -lower, -_MILLISECOND) + _MILLISECOND

    @property
    def direction(self) -> Direction:
        """Where the partners of a row lie, seen from the left."""
        if self.upper <= NONE:
            return "before"
        return "after" if self.lower >= NONE else "around"

    def __str__(self) -> str:
        lower, upper = model.spell_duration(self.lower), model.spell_duration(self.upper)
        opening, closing = "(" if self.strict_lower else "[", ")" if self.strict_upper else "]"
        return f"r.{self.right} − l.{self.left} in {opening}{lower}, {upper}{closing}"


@dataclass(frozen=True)
class Join(Paired):
    """Pairs of rows. `equal` are the pairs of expressions, over the left and over the right side, that must be equal.

    `residual` is the rest of the condition, the time bound included; it writes columns as `l.column` and `r.column`.
    At most one of `bound` and `window` (both sides in the same window) says why state is bounded.
    `renames` gives, for each output column, the side and the column that it comes from.
    """

    left: Stage
    right: Stage
    kind: JoinKind
    equal: Pairs
    residual: Expression | None
    renames: Sources
    bound: TimeBound | None = None
    window: model.Window | None = None

    noun: ClassVar[str] = "join"
    does: ClassVar[str] = "joins"
    joins_rows: ClassVar[bool] = True

    @property
    def inputs(self) -> tuple[Stage, ...]:
        return (self.left, self.right)

    @property
    def is_outer(self) -> bool:
        """Tells whether a row without a partner is shown."""
        return self.kind in _OUTER

    @property
    def is_one_sided(self) -> bool:
        """Tells whether the right side only decides which rows of the left side are there."""
        return self.kind in ("semi", "anti")

    @property
    def reach(self) -> timedelta | None:
        if self.bound is not None:
            return self.bound.reach
        return NONE if self.window is not None else None

    @property
    def is_endless(self) -> bool:
        return self.reach is None

    @property
    def paired_keys(self) -> Iterator[tuple[Stage, tuple[Expression, ...]]]:
        """Where a bound in time says when pairs end, their keys don't."""
        if self.bound is None:
            for number, below in enumerate(self.inputs):
                yield below, tuple(pair[number] for pair in self.equal)

    @property
    def admits_by_own_time(self) -> bool:
        return self.bound is not None

    def finality(self, sight: timedelta | None) -> Finality:
        lag = self.bound.lag if self.bound is not None else NONE
        waits = sight or NONE if self.reach is None else self.reach
        return Finality(lag, waits, held_back=length_of(self.window), changes=lag)

    @property
    def streaming(self) -> Streaming:
        link = Link(f"window {self.kind}")
        if self.window is None and self.bound is not None:
            link = Link(self.kind, self.bound.direction)
        unchanging = "outer joins" if self.is_outer else None
        adds = self.kind in ("inner", "semi")
        return Streaming(link, self._streaming_obstacle, unchanging, shown_early=self.is_outer, only_adds=adds)

    @property
    def _streaming_obstacle(self) -> str | None:
        if self.kind == "anti":
            return "Spark's streaming has no anti join"
        if not self.equal:
            return "Spark's streaming joins on equality only"
        if self.window is not None and self.kind not in _LIVE_WINDOW_JOINS:
            return f"Spark's streaming has no {self.kind} join of windows"
        return None

    def kept(self, grace: timedelta) -> Iterator[Kept]:
        for number, (side, below) in enumerate(zip(SIDES, self.inputs, strict=True)):
            yield from taken_once(below, grace)
            topics = ", ".join(sorted({scan.relation for scan in scans_of(below)}))
            what = f"the rows of the {side} side ({topics})"
            if self.bound is None:
                yield Kept("join", what, after("the end of their window", grace))
            else:
                reach = self.bound.upper if number == 0 else -self.bound.lower
                yield Kept("join", what, after("their event time", grace + reach))

    def pruned(self, needed: set[str]) -> Stage:
        times: tuple[tuple[Side, str], ...] = ()
        if self.bound is not None:
            times = (("left", self.bound.left), ("right", self.bound.right))
        left, right, renames, columns = self._narrowed(needed, self.equal, *times)
        return replace(
            self, left=self.left.pruned(left), right=self.right.pruned(right), renames=renames, columns=columns
        )

    @property
    def identity(self) -> tuple[Identity, ...] | None:
        """Those of both rows of a pair; of one where the other one only decides, or is the one of a key."""
        left, right = (
            renamed(below.identity, self._shown(side)) for side, below in zip(SIDES, self.inputs, strict=True)
        )
        if self.is_one_sided or (self.kind in ("inner", "left") and self._asks_by_key(1)):
            return left
        if self.kind in ("inner", "right") and self._asks_by_key(0):
            return right
        return (*left, *right) if left and right else None

    @property
    def group_key(self) -> GroupKey | None:
        """That of the groups on its left over all of time, where each is paired with one row at most."""
        below = self.left.group_key
        if below is None or any(field.is_window_bound for field in below.fields):
            return None
        if not self.is_one_sided and (self.kind not in ("inner", "left") or not self._asks_by_key(1)):
            return None
        return below.renamed(self._shown("left"))

    def _asks_by_key(self, side: int) -> bool:
        """Tells whether a side is asked for its row of a key, so that there is no more than one."""
        asked, below = self._asked(side), self.inputs[side]
        if is_table(below) and below.identity and {part.column for part in below.identity} <= asked:
            return True
        return _tells_one(below, asked)

    def _asked(self, side: int) -> set[str]:
        """The columns of a side that must be equal to something of the other one."""
        return {pair[side].reads[0] for pair in self.equal if pair[side].is_column and _are_of_one_type(*pair)}

    @property
    def line(self) -> str:
        text = f"Join {self.kind}{f' on {self._condition(self.equal)}' if self.equal else ''}"
        if self.bound is not None:
            text += f" within {self.bound}"
        if self.window is not None:
            text += f" in the same {spell_window(self.window)}"
        return f"{text} where {self.residual}" if self.residual else text


def _tells_one(below: Stage, asked: set[str]) -> bool:
    """Tells whether a side has one group at most that these columns have given values in, over all of time."""
    group = below.group_key
    if group is None or any(field.is_window_bound for field in group.fields):
        return False
    return {group.shown_as[field.name] for field in group.fields} <= asked


def _are_of_one_type(one: Expression, other: Expression) -> bool:
    return bool(one.type == other.type or (pa.types.is_integer(one.type) and pa.types.is_integer(other.type)))


def shared_by_pairs(stage: Stage) -> Iterator[Sequence[tuple[Stage, Expression]]]:
    """The columns of both sides that are equal in the pairs of a join, and of one type; of no other stage any."""
    if not isinstance(stage, Join):
        return
    for left, right in stage.equal:
        columns = stage.left.column_of(left), stage.right.column_of(right)
        if columns[0] is not None and columns[1] is not None and columns[0].type == columns[1].type:
            yield (stage.left, left), (stage.right, right)


def is_joined_by_what_changes(stage: Stage) -> bool:
    """Tells whether a join is bounded by a time that rows of a side may lack, or by the bounds of their windows."""
    if not isinstance(stage, Join) or stage.bound is None:
        return False
    times = stage.left.column(stage.bound.left), stage.right.column(stage.bound.right)
    return any(time is not None and (time.nullable or time.is_window_bound) for time in times)


def is_joined(stage: Stage) -> bool:
    """Tells whether a stage, or one below it, joins rows."""
    return any(below.joins_rows for below in stage.walk())


@given_names.register
def _(stage: Join) -> Iterator[tuple[str, str]]:
    for column, (side, below) in zip(stage.columns, stage.renames, strict=True):
        if side == "right" and column.name.endswith(f"_{below}"):
            yield column.name, f"{column.name.removesuffix(f'_{below}')}.{below}"


@unchanged.register
def _(stage: Join, name: str) -> tuple[tuple[Stage, str], ...]:
    """Where a side has no row, the column is NULL."""
    named = zip(stage.renames, stage.columns, strict=True)
    side, own = next(source for source, column in named if column.name == name)
    return ((stage.inputs[SIDES.index(side)], own),)
