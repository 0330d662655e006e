"""Aggregate: one row per group."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import ClassVar

import pyarrow as pa
from sqlglot import exp

from headwater import model
from headwater.operators.assign.stage import is_windowed, length_of
from headwater.operators.entry import taken_once
from headwater.operators.expression import Expression, Named, Role, listed, read_by
from headwater.operators.finality import Finality
from headwater.operators.kept import Kept, after
from headwater.operators.remedy import NOTHING_BOUNDS_IT, STATE_RETENTION, Remedy
from headwater.operators.scan.time import tumble_of
from headwater.operators.stage import NONE, Cut, Grouped, GroupKey, Stage, only
from headwater.operators.streaming import Link, Streaming
from headwater.operators.tolerance import Tolerance, Tolerances, tolerances_of, widest_read
from headwater.operators.unchanged import Sources, columns_of_keys, unchanged
from headwater.operators.written import given_names, name_of_call

_ADDED_UP = frozenset({"sum", "count", "count_if"})
_TRUNCATED = re.compile(
    r"\b(date_trunc|trunc|time_bucket|date_format|to_date|year|month|hour|day|minute|window|session_window|CAST)\(",
    re.IGNORECASE,
)
_UNIT = re.compile(r"'(?P<unit>second|minute|hour|day|week)'", re.IGNORECASE)
_OF_DAYS = re.compile(r"to_date|AS DATE|\bday\(", re.IGNORECASE)


class Stability(StrEnum):
    """The effect of other batches of the same rows on an aggregate's value.

    EXACT: nothing. REWRITTEN: nothing, once the engine has given it an order by the position of rows in the log.
    APPROXIMATE: the value may differ within a stated bound. REFUSED: it can't be kept, so no view may use it.
    """

    EXACT = "exact"
    REWRITTEN = "rewritten"
    APPROXIMATE = "approximate"
    REFUSED = "refused"


@dataclass(frozen=True)
class Call:
    """One aggregate call. `stability` says what re-batching does to it, `tolerance` by how much its values differ."""

    name: str
    function: str
    expression: Expression
    stability: Stability = Stability.EXACT
    tolerance: Tolerance | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return str(Named(self.name, self.expression))

    @property
    def adds_up(self) -> bool:
        """Tells whether its value over some rows is the sum of its values over parts of them, exactly."""
        kind = self.expression.type
        exact = pa.types.is_integer(kind) or pa.types.is_decimal(kind)
        return self.function in _ADDED_UP and exact and not self.expression.tree.find(exp.Distinct)


@dataclass(frozen=True)
class Aggregate(Grouped):
    """One row per group; `having` speaks of the output columns. `window` is the window that the groups end with.

    Its bounds are in the keys, and every row has them: what ends a group is said by `ends` alone.
    """

    keys: tuple[Named, ...]
    aggregates: tuple[Call, ...]
    having: Expression | None = None
    window: model.Window | None = None

    noun: ClassVar[str] = "aggregate"
    does: ClassVar[str] = "groups by the event time of"
    groups_rows: ClassVar[bool] = True

    @property
    def is_of_sessions(self) -> bool:
        """Tells whether its groups are sessions."""
        return isinstance(self.window, model.Session)

    @property
    def group_keys(self) -> tuple[Expression, ...]:
        return tuple(key.expression for key in self.keys)

    @property
    def admits_by_own_time(self) -> bool:
        return Cut(Role.EVENT_TIME) in self.cut_by

    def finality(self, sight: timedelta | None) -> Finality:  # noqa: ARG002
        """A session stays open one gap longer, so that no admitted row can touch one that has closed."""
        gap = self.window.gap if isinstance(self.window, model.Session) else NONE
        return Finality(held_back=length_of(self.window), stays_open=gap)

    @property
    def streaming(self) -> Streaming:
        name = "sessions" if self.is_of_sessions else "times" if self.window is None else "windows"
        endless = "its groups have no end in time and are recomputed over what is retained"
        unchanging = "sessions" if self.is_of_sessions else None
        return Streaming(Link(name), None if self.ends else endless, unchanging, stays_up=True)

    def kept(self, grace: timedelta) -> Iterator[Kept]:
        yield from taken_once(self.input, grace)
        values = ", ".join(call.name for call in self.aggregates if not call.name.startswith("_"))
        what = f"one row per {', '.join(key.name for key in self.keys)}{f' with {values}' if values else ''}"
        if isinstance(self.window, model.Session):
            yield Kept("sessions", what, after("the session's end", grace + self.window.gap))
        else:
            ended = "the end of its window" if self.window is not None else "the time among its keys"
            yield Kept("aggregate", what, after(ended, grace))

    def pruned(self, needed: set[str]) -> Stage:
        used = needed | set(self.having.reads if self.having else ())
        calls = tuple(call for call in self.aggregates if call.name in used)
        reads = read_by([*self.group_keys, *(call.expression for call in calls)])
        names = {key.name for key in self.keys} | {call.name for call in calls}
        return replace(self, input=self.input.pruned(reads), aggregates=calls, columns=only(self.columns, names))

    @property
    def group_key(self) -> GroupKey | None:
        fields = self.columns[: len(self.keys)]
        computed = {key.name: key.expression.sql for key in self.keys if not key.expression.is_column}
        return GroupKey(fields, {column.name: column.name for column in fields}, computed)

    @property
    def tolerances(self) -> Tolerances:
        below = self.input.tolerances
        own = {call.name: call.tolerance or widest_read(call.expression, below) for call in self.aggregates}
        return {**tolerances_of(self.keys, below), **{name: known for name, known in own.items() if known}}

    @property
    def additive(self) -> frozenset[str]:
        return frozenset(call.name for call in self.aggregates if call.adds_up)

    @property
    def line(self) -> str:
        keys = f" by {listed(self.keys)}" if self.keys else ""
        having = f" having {self.having}" if self.having else ""
        return f"Aggregate{keys}: {listed(self.aggregates) or 'nothing'}{having}"

    @property
    def remedy(self) -> Remedy | None:
        keys = [key.sql for key in self.group_keys]
        columns = [key.sql for key in self.group_keys if key.is_column]
        cut = next((key for key in keys if _TRUNCATED.search(key) and key not in columns), None)
        if is_windowed(self):
            detail = "It reads windows and doesn't group by them."
            return Remedy("groups rows for ever", detail, "Add window_start, window_end to GROUP BY and to SELECT.")
        grouped = ", ".join([*columns, "window_start", "window_end"])
        window = f"Write FROM {tumble_of(self, _size_like(cut))} … GROUP BY {grouped}"
        if cut is not None:
            detail = f"{cut} is a value like any other: it doesn't say when a group is over. A window does."
            return Remedy("groups rows for ever", detail, f"{window}, and window_start in place of it.")
        return Remedy("groups rows for ever", NOTHING_BOUNDS_IT, f"{window}, or {STATE_RETENTION}.")


@given_names.register
def _(stage: Aggregate) -> Iterator[tuple[str, str]]:
    for call in stage.aggregates:
        yield from name_of_call(call.name, call.function, call.expression)


def _size_like(cut: str | None) -> str:
    """The size of windows that are as long as what a time was cut to."""
    if cut and _OF_DAYS.search(cut):
        return "INTERVAL '1' DAY"
    unit = _UNIT.search(cut) if cut else None
    return f"INTERVAL '1' {unit['unit'].upper()}" if unit else "INTERVAL '1' HOUR"


@unchanged.register
def _(stage: Aggregate, name: str) -> Sources:
    keys = columns_of_keys(stage)
    return ((stage.input, keys[name]),) if name in keys else ()


@columns_of_keys.register
def _(stage: Aggregate) -> dict[str, str]:
    return {key.name: key.expression.reads[0] for key in stage.keys if key.expression.is_column}
