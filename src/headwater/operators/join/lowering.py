"""Joins: pairs of rows of two sides, whose state is evicted by the time of each.

Spark reads off the condition of a join how long a row of one side can still find a partner. It is told so in columns
of our own, the *marks*, and in whole milliseconds, as its watermark is: each side's mark is its time (or the end of its
window), and the condition says how far apart two marks can be. What the author wrote stands beside it, in columns
without a mark, and is exact.

A pair comes out when its later row arrives. A row without a partner comes out once none can come any more: when the
watermark has passed its mark + the farthest a partner can be after it, and one millisecond. `FINAL` says so in batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from sqlglot import exp

from headwater.operators import Expression, Join, Stage
from headwater.operators.lowering.columns import RANK, values_of
from headwater.operators.lowering.ends import end_of, times_among
from headwater.operators.lowering.ledger import Rows, merged
from headwater.operators.lowering.stamp import (
    BEHIND,
    END,
    FINAL,
    MARK,
    NEW,
    POSITION,
    TIME,
    barrier,
    later,
    spell_interval,
)
from headwater.operators.lowering.trace import NOTHING, behind
from headwater.operators.lowering.walk import Lowering, lowered, taken_in
from headwater.plan.join import conjuncts_of
from headwater.sql import spell

_KEY, _ROW = "__join", "__own"
_MILLISECOND = timedelta(milliseconds=1)
_ALWAYS = "TIMESTAMP '1970-01-01 00:00:00'"
_KINDS = {
    "inner": "inner",
    "left": "left_outer",
    "right": "right_outer",
    "full": "full_outer",
    "semi": "left_semi",
    "anti": "left_anti",
}


@dataclass(frozen=True)
class Side:
    """The rows of one side: its columns, their position, and the mark; `windowed` if that is the end of a window.

    Rows of windows that are joined within a bound in time can change until their window ends: `gathered` ones say when.
    """

    frame: DataFrame
    windowed: bool
    gathered: bool = False


@lowered.register
def _(stage: Join, lowering: Lowering) -> Rows:
    if lowering.is_forever:
        left, right = (Side(lowering.counting(below).frame, windowed=False) for below in stage.inputs)
        pairs = _joined(replace(stage, bound=None, window=None), left, right, settled=True)
        return Rows(_all_read(stage, pairs, lowering))
    times = (stage.bound.left, stage.bound.right) if stage.bound else (None, None)
    keys = [[pair[number] for pair in stage.equal] for number in (0, 1)]
    left, right = (_side(lowering, *side) for side in zip(stage.inputs, times, keys, strict=True))
    return Rows(_joined(stage, left, right, settled=lowering.settled, as_they_come=lowering.as_they_come))


def _side(lowering: Lowering, stage: Stage, time: str | None, keys: Sequence[Expression]) -> Side:
    """One side of a join: its rows, admitted by their time, or by the end of their window.

    Rows that another view has published are in the window that is among the keys.
    """
    rows = lowering.lower(stage)
    if time is not None and FINAL in rows.frame.columns:  # a row of a window, or of another join: it is in time
        gathered = _is_window_bound(stage, time)
        entered = lowering.enter(rows, stage, _time_of(rows, stage, time), [FINAL] if gathered else [])
        return Side(entered.frame, windowed=False, gathered=gathered)
    assert time is None or END not in rows.frame.columns, stage
    known = next((name for name in (END, FINAL) if name in rows.frame.columns), None)
    if time is None and known is not None:  # rows of windows, or groups of them
        return Side(lowering.enter(rows, stage, F.col(known)).frame, windowed=True)
    end = end_of(times_among(keys, stage)) if time is None else _time_of(rows, stage, time)
    return Side(lowering.enter(lowering.admit(rows, stage, end), stage, end).frame, windowed=time is None)


def _all_read(stage: Join, pairs: DataFrame, lowering: Lowering) -> DataFrame:
    """The pairs, so that Spark reads both sides where rows are counted.

    It leaves out the other side of an outer join of which nothing is shown, where that can't change what is above: here
    it is asked for, to count the rows that have a partner.
    """
    other = {"left": "r", "right": "l"}.get(stage.kind)
    if lowering.tally is None or other is None:
        return pairs
    partners = F.count(F.col(f"{POSITION}.{other}")).alias("partners")
    return barrier(pairs, f"joined{next(lowering.numbers)}", partners)


def _is_window_bound(stage: Stage, time: str) -> bool:
    """Tells whether the time by which a side is joined is the bound of a window."""
    field = stage.column(time)
    return field is not None and field.is_window_bound


def _time_of(rows: Rows, stage: Stage, time: str) -> Column:
    """The time of each row. One that an outer join has left without it is there once it is final."""
    own, field = F.col(f"`{time}`"), stage.column(time)
    otherwise = next((name for name in (FINAL, TIME) if name in rows.frame.columns), None)
    return F.coalesce(own, F.col(otherwise)) if otherwise and field is not None and field.nullable else own


@taken_in.register
def _(stage: Join, frame: DataFrame, side: int) -> DataFrame:
    return frame.select("*", *values_of(pair[side] for pair in stage.equal))


def _joined(stage: Join, left: Side, right: Side, *, settled: bool = False, as_they_come: bool = False) -> DataFrame:
    """The pairs, under the names that the stage gives them, with `POSITION`, and `END` and `FINAL` where known.

    Live, a pair is final as soon as it is there; `settled`, when the watermark has passed both of its rows.
    """
    one = _with_keys(left.frame, [pair[0].sql for pair in stage.equal]).alias("l")
    other = _with_keys(right.frame, [pair[1].sql for pair in stage.equal]).alias("r")
    if settled:
        one, other = _read_once(stage, one, other)
    condition = F.expr(" AND ".join(_conditions(stage)))
    if as_they_come and stage.kind == "semi":
        pairs = _partnered(one, other, condition)
    else:
        pairs = one.join(other, condition, _KINDS[stage.kind])
    sides = {"left": "l", "right": "r"}
    shown = [
        F.col(f"{sides[side]}.`{name}`").alias(field.name)
        for (side, name), field in zip(stage.renames, stage.columns, strict=True)
    ]
    new = [_new()] if as_they_come else []
    return pairs.select(*shown, *_carried(stage, left, right, settled), *new, *_behind(stage, left.frame))


def _partnered(one: DataFrame, other: DataFrame, condition: Column) -> DataFrame:
    """The rows of one side that have a partner, once each and with the oldest: which is new if all of them are."""
    own, partner = f"l.{_ROW}", f"r.{NEW}"
    numbered = one.withColumn(_ROW, F.monotonically_increasing_id()).alias("l")
    first = F.row_number().over(Window.partitionBy(own).orderBy(partner))
    return numbered.join(other, condition).withColumn(RANK, first).where(F.col(RANK) == 1)


def _new() -> Column:
    """Tells whether a pair is new: one of its rows is."""
    return (F.col(f"l.{NEW}") | F.col(f"r.{NEW}")).alias(NEW)


def _read_once(stage: Join, one: DataFrame, other: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Both sides, so that Spark reads each of them once, as the ledger counts them.

    Without an equality every row of one side meets every row of the other: large sides would be a product, which reads
    one of them for each part of the other, unless one is broadcast. It is the one that the join doesn't show all of.
    """
    if stage.equal or stage.bound is None:
        return one, merged(other)
    return (F.broadcast(one), other) if stage.kind == "right" else (one, F.broadcast(other))


def _with_keys(frame: DataFrame, keys: list[str]) -> DataFrame:
    return frame.withColumns({f"{_KEY}{number}": F.expr(key) for number, key in enumerate(keys)})


def _conditions(stage: Join) -> list[str]:
    keys = [f"l.{_KEY}{number} = r.{_KEY}{number}" for number in range(len(stage.equal))]
    if stage.bound is None:
        times = [f"l.{MARK} = r.{MARK}"]
    else:
        lower, upper = stage.bound.whole
        times = [f"r.{MARK} >= l.{MARK} + {spell_interval(lower)}", f"r.{MARK} <= l.{MARK} + {spell_interval(upper)}"]
    return [*keys, *times, *_residual(stage), *_both_known(stage)]


def _residual(stage: Join) -> list[str]:
    """The rest of the condition. Rows that a condition on one side alone refuses would come out unmatched at once, not
    when that is final: it is written so that Spark can't tell that it is one.
    """
    conditions = []
    for part in conjuncts_of(stage.residual.tree if stage.residual else None):
        sides = {column.table for column in part.find_all(exp.Column)}
        other = "l" if sides == {"r"} else "r"
        preserved = stage.kind == "full" or (stage.kind, other) in (("left", "r"), ("right", "l"))
        conditions.append(f"({spell(part)}) OR {other}.{MARK} IS NULL" if len(sides) < 2 and preserved else spell(part))
    return [f"({text})" for text in conditions]


def _both_known(stage: Join) -> list[str]:
    """NULL is equal to nothing. Spark's state knows keys by their bytes, and finds NULLs equal in a full join."""
    if stage.kind != "full":
        return []
    known = [f"(l.{_KEY}{number} IS NOT NULL AND r.{_KEY}{number} IS NOT NULL)" for number in range(len(stage.equal))]
    return [f"(l.{MARK} IS NULL OR r.{MARK} IS NULL OR ({' AND '.join(known)}))"] if known else []


def _carried(stage: Join, left: Side, right: Side, settled: bool) -> list[Column]:
    """The columns that travel beside the pairs."""
    one_sided = stage.kind in ("semi", "anti")
    if one_sided:
        kept = [F.col(f"l.{POSITION}").alias(POSITION)]
    else:
        kept = [F.struct(F.col(f"l.{POSITION}").alias("l"), F.col(f"r.{POSITION}").alias("r")).alias(POSITION)]
    if left.windowed:
        kept.append((F.col(f"l.{MARK}") if one_sided else F.expr(f"coalesce(l.{MARK}, r.{MARK})")).alias(END))
    if settled or stage.kind not in ("inner", "semi"):
        kept.append(_final(stage, left, right, settled).alias(FINAL))
    return kept


def _behind(stage: Join, left: DataFrame) -> list[Column]:
    """The events behind a pair, where it is traced: those behind both of its rows."""
    if not behind(left):
        return []
    if stage.kind in ("semi", "anti"):
        return [F.col(f"l.{BEHIND}")]
    both = (F.coalesce(F.col(f"{side}.{BEHIND}"), F.expr(NOTHING)) for side in "lr")
    return [F.concat(*both).alias(BEHIND)]


def _final(stage: Join, one: Side, other: Side, settled: bool) -> Column:
    """From when a row is final: a pair at once or with its later row, a row alone when no partner can come any more.

    Of a semi join it isn't known which partner was the first.
    """
    left, right = F.col(f"l.{MARK}"), F.col(f"r.{MARK}")
    alone, alone_right = left, right
    if stage.bound is not None:
        lower, upper = stage.bound.whole
        alone, alone_right = later(left, upper + _MILLISECOND), later(right, _MILLISECOND - lower)
        alone = F.greatest(alone, F.col(f"l.{FINAL}")) if one.gathered else alone
        alone_right = F.greatest(alone_right, F.col(f"r.{FINAL}")) if other.gathered else alone_right
    if stage.kind in ("semi", "anti"):
        return alone
    ends = [F.col(f"{side}.{FINAL}") for side, rows in (("l", one), ("r", other)) if rows.gathered]
    paired = F.greatest(left, right, *ends) if settled else F.expr(_ALWAYS)
    return F.when(left.isNotNull() & right.isNotNull(), paired).otherwise(F.coalesce(alone, alone_right))
