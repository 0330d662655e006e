"""Match: rows that match a pattern over those of their partition, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import ClassVar

from headwater.model import spell_duration
from headwater.model.pattern import RowsPerMatch, Skip, Step, spell_step
from headwater.operators.aggregate.stage import Stability
from headwater.operators.expression import Expression, Named, Ordering, Role, listed, read_by, read_by_order
from headwater.operators.finality import Finality
from headwater.operators.match.condition import Value, columns_of
from headwater.operators.stage import NONE, Cut, Stage, Unary, ends, only
from headwater.operators.streaming import Streaming
from headwater.operators.tolerance import Tolerances, tolerances_of
from headwater.operators.written import as_written, given_names


@dataclass(frozen=True)
class Neighbour:
    """The value of an expression so many rows after a row of its partition, or before it; NULL where there is none.

    In a partition without an end a row is seen as far away as a match may be long.
    """

    name: str
    expression: Expression
    offset: int

    def __str__(self) -> str:
        step = (
            f"PREV({self.expression}, {-self.offset})" if self.offset < 0 else f"NEXT({self.expression}, {self.offset})"
        )
        return f"{step} AS {self.name}"


@dataclass(frozen=True)
class Condition:
    """The condition of a variable: a column that is true of its rows, and a value that looks at the match so far."""

    variable: str
    column: str | None = None
    so_far: Value | None = None


@dataclass(frozen=True)
class MatchCall:
    """A value of the rows of a match, of those that some variables took: all of them, or up to a row (`running`).

    With an `offset` it is the value of one row: so many after the first one, or, from -1 on, before the last.
    """

    name: str
    function: str
    expression: Expression
    variables: tuple[str, ...]
    running: bool
    offset: int | None = None
    stability: Stability = Stability.EXACT

    @property
    def written(self) -> str:
        """The call as it may be written in a measure."""
        of = f"{', '.join(self.variables)}: " if self.variables else ""
        if self.offset is None:
            return f"{of}{self.expression}"
        far = self.offset if self.offset >= 0 else -1 - self.offset
        return f"{self.function.upper()}({of}{self.expression}{f', {far}' if far else ''})"


@dataclass(frozen=True)
class Match(Unary):
    """One row per match, or its rows, with measures.

    `variables` are those of the pattern. `neighbours` and then `computed` are columns of each row, which conditions and
    calls read; `measures` read the calls, the keys and, where rows of matches are given, columns of the row.
    """

    partition: tuple[Expression, ...]
    order: tuple[Ordering, ...]
    step: Step
    variables: tuple[str, ...]
    rows: RowsPerMatch
    skip: Skip
    skip_to: tuple[str, ...]
    within: timedelta | None
    neighbours: tuple[Neighbour, ...] = ()
    computed: tuple[Named, ...] = ()
    conditions: tuple[Condition, ...] = ()
    calls: tuple[MatchCall, ...] = ()
    measures: tuple[Named, ...] = field(default=())

    noun: ClassVar[str] = "pattern"
    does: ClassVar[str] = "looks for a pattern in"
    looks_around: ClassVar[bool] = True
    asks_python: ClassVar[bool] = True
    comes_last: ClassVar[bool] = True
    bound_to_time: ClassVar[str] = "A match is final when no row can come any more that would change it."

    @property
    def group_keys(self) -> tuple[Expression, ...]:
        return self.partition

    @property
    def ends(self) -> bool:
        """Tells whether each of its partitions is over at some instant."""
        return ends(self.partition, self.input)

    @property
    def is_chained(self) -> bool:
        """Tells whether where a search begins depends on the matches before."""
        return not self.ends and (self.skip.to != "next row" or self.rows is RowsPerMatch.ALL_WITH_UNMATCHED)

    @property
    def span(self) -> timedelta:
        """The time that a match may last; none is needed where partitions end."""
        return NONE if self.ends or self.within is None else self.within

    @property
    def ahead(self) -> timedelta:
        """The time after a row at which rows are that it is compared with."""
        return self.span if any(each.offset > 0 for each in self.neighbours) else NONE

    @property
    def reach(self) -> timedelta | None:
        back = self.span if any(each.offset < 0 for each in self.neighbours) else NONE
        return self.span + back

    def finality(self, sight: timedelta | None) -> Finality:  # noqa: ARG002
        decided = self.span + self.ahead
        return Finality(waits=decided, held_back=decided, changes=decided)

    @property
    def cut_by(self) -> Iterator[Cut]:
        if not self.ends:
            yield Cut(Role.EVENT_TIME)

    @property
    def paired_keys(self) -> Iterator[tuple[Stage, tuple[Expression, ...]]]:
        yield self.input, self.partition

    @property
    def admits_by_own_time(self) -> bool:
        return True

    @property
    def streaming(self) -> Streaming:
        return super().streaming._replace(obstacle="Spark's streaming has no MATCH_RECOGNIZE")

    @property
    def shows_rows(self) -> bool:
        """Tells whether it gives the rows of a match, and not one for each."""
        return self.rows is not RowsPerMatch.ONE

    def pruned(self, needed: set[str]) -> Stage:
        measures = tuple(named for named in self.measures if named.name in needed)
        called = read_by(named.expression for named in measures)
        calls = tuple(call for call in self.calls if call.name in called)
        so_far = [each.so_far for each in self.conditions if each.so_far is not None]
        wanted = {each.column for each in self.conditions if each.column} | set().union(*map(columns_of, so_far))
        wanted |= read_by(call.expression for call in calls) | called
        computed = tuple(named for named in self.computed if named.name in wanted)
        wanted |= read_by(named.expression for named in computed)
        neighbours = tuple(each for each in self.neighbours if each.name in wanted)
        wanted |= read_by(each.expression for each in neighbours) | read_by(self.partition) | read_by_order(self.order)
        own = {named.name for named in self.measures}
        shown = (needed - own) | {named.name for named in measures}
        below = self.input.pruned(wanted | (needed - own))
        return replace(
            self, input=below, columns=only(self.columns, shown), measures=measures, calls=calls, computed=computed,
            neighbours=neighbours,
        )  # fmt: skip

    @property
    def tolerances(self) -> Tolerances:
        below = self.input.tolerances
        called = {**below, **tolerances_of([Named(call.name, call.expression) for call in self.calls], below)}
        measured = tolerances_of(self.measures, called)
        shown = {column.name for column in self.columns}
        return {**{name: known for name, known in below.items() if name in shown}, **measured}

    @property
    def line(self) -> str:
        by = f" per {listed(self.partition)}" if self.partition else ""
        within = f" within {spell_duration(self.within)}" if self.within is not None else ""
        measures = f": {as_written(listed(self.measures), [self])}" if self.measures else ""
        return f"Match ({spell_step(self.step)}){within}{by}, ordered by {listed(self.order)}{measures}"


@given_names.register
def _(stage: Match) -> Iterator[tuple[str, str]]:
    yield "__variable", "CLASSIFIER()"
    yield "__number", "MATCH_NUMBER()"
    for each in stage.neighbours:
        yield each.name, f"{'PREV' if each.offset < 0 else 'NEXT'}({each.expression}, {abs(each.offset)})"
    for call in stage.calls:
        yield call.name, call.written
