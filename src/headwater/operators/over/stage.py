"""Over: a value per row from the rows around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import ClassVar, Literal

from headwater.operators.aggregate.stage import Stability
from headwater.operators.expression import Expression, Field, Named, Ordering, Role, listed, read_by
from headwater.operators.finality import Finality
from headwater.operators.remedy import (
    NOTHING_BOUNDS_IT,
    ORDER_BY_A_TIME_THAT_STAYS,
    TAKE_A_TIME_THAT_STAYS,
    Remedy,
    without_partner,
)
from headwater.operators.scan.time import event_time_of, partition_by_window
from headwater.operators.stage import NONE, Cut, SameRows, Stage, ends, with_added
from headwater.operators.streaming import Streaming
from headwater.operators.tolerance import Tolerance, Tolerances, widest_read
from headwater.operators.written import given_names, name_of_call

RANKS = {"row_number", "rank", "dense_rank"}
STEPS = {"lag", "lead"}
_OR_FOREVER = " Or let every row count for ever: WITH (retention = 'forever')."


@dataclass(frozen=True)
class Frame:
    """The rows around a row that an OVER looks at. A bound is a distance back (−) or ahead (+); None has no end.

    RANGE frames over event time have bounds in time, ROWS frames count rows.
    """

    unit: Literal["RANGE", "ROWS", "GROUPS"]
    start: timedelta | int | None
    end: timedelta | int | None

    @property
    def reach(self) -> timedelta | None:
        """The distance from the row's own time that the frame looks, where that is a duration."""
        bounds = (self.start, self.end)
        spans = [NONE if bound == 0 else bound for bound in bounds if self.unit == "RANGE"]
        distances = [abs(span) for span in spans if isinstance(span, timedelta)]
        return max(distances) if len(distances) == len(bounds) else None


@dataclass(frozen=True)
class OverCall:
    """One window function: its partition, its order and its frame (None where the function has no frame)."""

    name: str
    function: str
    expression: Expression
    partition: tuple[Expression, ...]
    order: tuple[Ordering, ...]
    frame: Frame | None = None
    stability: Stability = Stability.EXACT
    tolerance: Tolerance | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return str(Named(self.name, self.expression))

    def reach_over(self, below: Stage) -> timedelta | None:
        """The distance from a row that it looks, None if nothing in it says so."""
        if ends(self.partition, below):
            return NONE
        by_time = len(self.order) == 1 and self.order_time(below) is not None
        return self.frame.reach if self.frame and by_time else None

    def order_time(self, below: Stage) -> Field | None:
        """The column of event time that comes first in its order, if one does that all rows have."""
        column = self.first_order(below)
        is_time = column is not None and column.is_time and column.role is not Role.ARRIVAL_TIME
        return column if is_time and column is not None and not column.nullable else None

    def first_order(self, below: Stage) -> Field | None:
        """The column that comes first in its order, if it is one."""
        return below.column_of(self.order[0].expression) if self.order else None

    def ahead(self, below: Stage, sight: timedelta) -> timedelta:
        """The time for which its value for a row can still change, because a row ahead of it comes."""
        if ends(self.partition, below):
            return NONE
        descending = bool(self.order) and self.order[0].descending
        if self.function in STEPS:
            return sight if (self.function == "lead") != descending else NONE
        if self.frame is None:
            return sight if descending else NONE
        bound = self.frame.start if descending else self.frame.end
        if bound is None:
            return sight
        if isinstance(bound, int):
            return sight if (bound < 0 if descending else bound > 0) else NONE
        return max(-bound if descending else bound, NONE)


@dataclass(frozen=True)
class Over(SameRows):
    """Every row of the input with one more column per window function."""

    functions: tuple[OverCall, ...]

    does: ClassVar[str] = "looks at the rows around a row of"
    looks_around: ClassVar[bool] = True
    by_partition: ClassVar[bool] = True
    stays_in_windows: ClassVar[bool] = True

    @property
    def group_keys(self) -> tuple[Expression, ...]:
        """The keys of its partitions, where all functions have the same."""
        partitions = {call.partition for call in self.functions}
        return partitions.pop() if len(partitions) == 1 else ()

    @property
    def _reaches(self) -> list[timedelta | None]:
        return [call.reach_over(self.input) for call in self.functions]

    @property
    def reach(self) -> timedelta | None:
        known = [span for span in self._reaches if span is not None]
        return max(known) if len(known) == len(self.functions) else None

    @property
    def least_reach(self) -> timedelta:
        return max((span or NONE for span in self._reaches), default=NONE)

    @property
    def cut_by(self) -> Iterator[Cut]:
        """The times of frames in partitions without an end; others lie in their windows."""
        for call in self.functions:
            column = None if ends(call.partition, self.input) else call.order_time(self.input)
            if column is not None and column.role is Role.EVENT_TIME:
                yield Cut(Role.EVENT_TIME)

    def finality(self, sight: timedelta | None) -> Finality:
        ahead = self.ahead(sight)
        return Finality(waits=ahead, held_back=ahead, changes=ahead)

    def ahead(self, sight: timedelta | None) -> timedelta:
        """The time after a row's own for which its values can still change, because a row ahead of it comes."""
        return max((call.ahead(self.input, sight or NONE) for call in self.functions), default=NONE)

    @property
    def admits_by_own_time(self) -> bool:
        return True

    @property
    def streaming(self) -> Streaming:
        return super().streaming._replace(obstacle="Spark's streaming has no OVER windows")

    def pruned(self, needed: set[str]) -> Stage:
        calls = tuple(call for call in self.functions if call.name in needed)
        names = {call.name for call in self.functions}
        below = self.input.pruned((needed - names) | read_by(call.expression for call in calls))
        if not calls:
            return below
        columns = with_added(below, self, [call.name for call in calls])
        return replace(self, input=below, functions=calls, columns=columns)

    @property
    def tolerances(self) -> Tolerances:
        below = self.input.tolerances
        own = {call.name: call.tolerance or widest_read(call.expression, below) for call in self.functions}
        return {**below, **{name: known for name, known in own.items() if known}}

    @property
    def line(self) -> str:
        return f"Over {listed(self.functions)}"

    @property
    def remedy(self) -> Remedy | None:
        call = self.functions[0]
        fields = [self.input.column_of(key) for key in call.partition]
        missing = next((field.name for field in fields if field is not None and field.is_time and field.nullable), None)
        if missing is not None:
            return Remedy("looks at the rows around a row for ever", without_partner(missing), TAKE_A_TIME_THAT_STAYS)
        first = call.first_order(self.input)
        if first is not None and first.is_time and first.nullable:
            detail = without_partner(first.name, "frame")
            return Remedy("looks at the rows around a row for ever", detail, ORDER_BY_A_TIME_THAT_STAYS)
        partition = [key.sql for key in call.partition if key.is_column]
        by_time = call.order_time(self.input) is not None
        within = " Or state how far back a row can matter: WITH (horizon = '1 hour')." if by_time else ""
        if call.function in RANKS:
            hint = f"{partition_by_window(self, partition)}{within}{_OR_FOREVER}"
            return Remedy("ranks rows for ever", NOTHING_BOUNDS_IT, hint)
        time = event_time_of(self)
        if call.function in STEPS:
            if not by_time:
                within = f" Or order by {time}, and state how far back a row can matter: WITH (horizon = '1 hour')."
            hint = within.removeprefix(" Or ")
            what = f'looks with "{call.function}" at rows of any age'
            return Remedy(what, NOTHING_BOUNDS_IT, hint[0].upper() + hint[1:] + _OR_FOREVER)
        parted = f"PARTITION BY {', '.join(partition)} " if partition else ""
        order = f"ORDER BY {time} RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW"
        frame = f"Write a frame in time: {call.function}(…) OVER ({parted}{order})."
        return Remedy("looks at the rows around a row for ever", NOTHING_BOUNDS_IT, f"{frame}{within}{_OR_FOREVER}")


@given_names.register
def _(stage: Over) -> Iterator[tuple[str, str]]:
    for call in stage.functions:
        yield from name_of_call(call.name, call.function, call.expression)
