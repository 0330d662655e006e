"""A stage: what an operator does to rows, and the rules that the planner asks of it.

Each operator has a room of its own in this package, with its stage and, beside it, how that is lowered to Spark. What
holds of most operators is said here; an operator says what is different about it.

The *reach* of a stage is the greatest distance in event time between a row that it gives and a row that it needed for
it: the size of a window, the bound of a join, the frame of an OVER. It is None where nothing in the query bounds it:
then the state would grow for ever, unless the view states its `horizon` or its `retention`: nothing beyond it is seen.

A group or a partition *ends* if one of its keys is a time: no later row can join it. One without such a key is
*endless*: it holds the rows of the view's retention, each from its time on until the watermark has passed its time, the
retention and grace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar, NamedTuple, Self

from headwater import model
from headwater.errors import Origin
from headwater.operators.expression import Expression, Field, Role
from headwater.operators.finality import Finality
from headwater.operators.kept import Kept
from headwater.operators.remedy import Remedy
from headwater.operators.streaming import Link, Streaming
from headwater.operators.tolerance import Tolerances

NONE = timedelta()


class Identity(NamedTuple):
    """A column that identifies an event of a stream or a row of a table, and what rows that are made of it call it."""

    relation: str
    name: str
    column: str | None


class GroupKey(NamedTuple):
    """The key columns of groups, and what the rows above call each of them; None if they don't show it.

    Those that are `computed` are no columns of the input, but expressions over it, in SQL.
    """

    fields: tuple[Field, ...]
    shown_as: Mapping[str, str | None]
    computed: Mapping[str, str] = {}

    def renamed(self, shown: Callable[[str], str | None]) -> GroupKey:
        """The same, as rows above show it."""
        return self._replace(shown_as={name: column and shown(column) for name, column in self.shown_as.items()})


class Cut(NamedTuple):
    """A kind of time that rows are cut by, and the window that they are cut into; None if by instants."""

    role: Role
    window: model.Window | None = None


@dataclass(frozen=True)
class Stage:
    """The parts of every stage: output columns, where the author wrote what it does, and rules."""

    columns: tuple[Field, ...]
    origin: Origin | None = field(default=None, compare=False, repr=False, kw_only=True)

    noun: ClassVar[str] = ""
    """The noun for what Spark's streaming keeps for it, as `explain` says it."""
    does: ClassVar[str] = ""
    """The verb for what it does with a stream, as a finding says it: `joins`."""
    keeps_state: ClassVar[bool] = True
    """Tells whether it keeps something between rows."""
    passes_rows: ClassVar[bool] = False
    """Tells whether a row of it is one of its input, in the same window: filtered, projected, expanded."""
    begins_anew: ClassVar[bool] = False
    """Tells whether time begins with its rows: what is below is of no matter to those above."""
    puts_in_windows: ClassVar[bool] = False
    """Tells whether it puts rows into windows."""
    stays_in_windows: ClassVar[bool] = False
    """Tells whether its rows are in the windows of its input still, though it keeps something between them."""
    groups_rows: ClassVar[bool] = False
    """Tells whether it makes one row of each group, which Spark's streaming writes again as it changes."""
    joins_rows: ClassVar[bool] = False
    """Tells whether it makes rows of pairs."""
    looks_around: ClassVar[bool] = False
    """Tells whether it computes a row from those around it, so that none can be computed alone."""
    by_partition: ClassVar[bool] = False
    """Tells whether a row depends on the rows of its own partition alone: a slice needs no others."""
    bound_to_time: ClassVar[str] = ""
    """The reason why it can't be computed over all of time, where nothing is late or ends; empty for most."""
    is_opaque: ClassVar[bool] = False
    """Tells whether nothing but looking says what its rows are: a function makes them."""

    asks_python: ClassVar[bool] = False
    """Tells whether Spark doesn't compute it alone, so that no plan of it can be kept for many steps."""

    comes_last: ClassVar[bool] = False
    """Tells whether nothing may follow it in a view but what passes its rows, and no span of the log tells these."""

    @property
    def inputs(self) -> tuple[Stage, ...]:
        """The stages that this one reads."""
        return ()

    @property
    def visible(self) -> tuple[Field, ...]:
        """The columns that `*` stands for."""
        return tuple(column for column in self.columns if not column.hidden)

    def column(self, name: str) -> Field | None:
        """The output column of that name, without regard to case."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)

    def column_of(self, expression: Expression) -> Field | None:
        """The output column that an expression over this stage is, unchanged; None if it is another expression."""
        return self.column(expression.reads[0]) if expression.is_column else None

    def walk(self) -> Iterator[Stage]:
        """This stage and all below it, inputs first."""
        for stage in self.inputs:
            yield from stage.walk()
        yield self

    @property
    def is_stateless(self) -> bool:
        """Tells whether it and all below it keep nothing between rows."""
        return not any(stage.keeps_state for stage in self.walk())

    @property
    def is_by_identity(self) -> bool:
        """Tells whether it has nothing left to do, because events are taken once when they enter."""
        return False

    # Time

    @property
    def reach(self) -> timedelta | None:
        """The time that it looks back, None if nothing bounds it."""
        return NONE

    @property
    def least_reach(self) -> timedelta:
        """The least time that it looks back: what a stated horizon must not be shorter than."""
        return self.reach or NONE

    @property
    def group_keys(self) -> tuple[Expression, ...]:
        """The keys of its groups or partitions, over its input."""
        return ()

    @property
    def is_endless(self) -> bool:
        """Tells whether it keeps groups or partitions that never end, so that what it gives is never final."""
        return False

    @property
    def cut_by(self) -> Iterator[Cut]:
        """The kinds of time that it cuts rows by; the bounds of windows go back to those of the windows."""
        return iter(())

    def finality(self, sight: timedelta | None) -> Finality:  # noqa: ARG002
        """The times by which its rows are final, where a row is seen as far as `sight` if nothing else says so."""
        return Finality()

    @property
    def paired_keys(self) -> Iterator[tuple[Stage, tuple[Expression, ...]]]:
        """Its inputs, each with the keys that tell the groups of its rows apart."""
        return iter(())

    @property
    def admits_by_own_time(self) -> bool:
        """Tells whether it admits rows by their own time, and not by the end of a window."""
        return False

    @property
    def remedy(self) -> Remedy | None:
        """The words for what would bound it, where nothing does; None if others speak of that."""
        return None

    # Execution

    @property
    def streaming(self) -> Streaming:
        """The operator as Spark's streaming carries it out; one that it lacks has its own name."""
        return Streaming(Link(type(self).__name__.lower()))

    def kept(self, grace: timedelta) -> Iterator[Kept]:  # noqa: ARG002
        """The state that Spark's streaming keeps for it, where its rows come this late at most."""
        return iter(())

    # Columns

    def pruned(self, needed: set[str]) -> Stage:
        """The same rows with no more columns than are needed, from stages that carry no more than that takes."""
        raise NotImplementedError

    @property
    def identity(self) -> tuple[Identity, ...] | None:
        """The columns that identify the events that a row is made of; None if something else tells rows apart."""
        return None

    @property
    def group_key(self) -> GroupKey | None:
        """The key of the last stage, from here down, that gives one row per group; None if none does."""
        return None

    @property
    def tolerances(self) -> Tolerances:
        """The columns that may differ between executions."""
        return {}

    @property
    def additive(self) -> frozenset[str]:
        """The columns that add up: the value of a group is the sum of the values of its parts."""
        return frozenset()

    @property
    def line(self) -> str:
        """The stage in one line."""
        raise NotImplementedError

    def with_panes(self) -> Self | None:
        """The same with panes in place of windows that overlap; None if it looks at a row's windows."""
        return None


@dataclass(frozen=True)
class Unary(Stage):
    """A stage with one input."""

    input: Stage

    @property
    def inputs(self) -> tuple[Stage, ...]:
        return (self.input,)

    @property
    def tolerances(self) -> Tolerances:
        return self.input.tolerances


@dataclass(frozen=True)
class SameRows(Unary):
    """A stage whose rows are rows of its input, known by the same columns."""

    @property
    def identity(self) -> tuple[Identity, ...] | None:
        return self.input.identity

    @property
    def group_key(self) -> GroupKey | None:
        return self.input.group_key


@dataclass(frozen=True)
class Grouped(Unary):
    """A stage of groups or partitions, which end if one of their keys is a time."""

    @property
    def is_endless(self) -> bool:
        return self.reach is None

    @property
    def ends(self) -> bool:
        """Tells whether each of its groups is over at some instant."""
        return ends(self.group_keys, self.input)

    @property
    def reach(self) -> timedelta | None:
        return NONE if self.ends else None

    @property
    def cut_by(self) -> Iterator[Cut]:
        roles = (column.role for column in times_among_keys(self))
        return (Cut(role) for role in roles if role in (Role.EVENT_TIME, Role.ARRIVAL_TIME))

    @property
    def paired_keys(self) -> Iterator[tuple[Stage, tuple[Expression, ...]]]:
        yield self.input, self.group_keys


def ends(keys: Iterable[Expression], below: Stage) -> bool:
    """Tells whether a group of these keys is over at some instant: one of them is a time that every row has."""
    return bool(ending(keys, below))


def ending(keys: Iterable[Expression], below: Stage) -> list[Field]:
    """The keys that end a group, because they are times that every row has.

    Behind an outer join the time of the other side can be NULL, and rows without a time go on for ever.
    """
    fields = (below.column_of(key) for key in keys)
    return [column for column in fields if column is not None and column.is_time and not column.nullable]


def times_among_keys(stage: Stage) -> list[Field]:
    """The keys of the groups of a stage that are times, whether or not every row has them."""
    if not isinstance(stage, Grouped):
        return []
    fields = (stage.input.column_of(key) for key in stage.group_keys)
    return [column for column in fields if column is not None and column.is_time]


def with_role(stage: Stage, *roles: Role) -> tuple[Field, ...]:
    """The columns of a stage that have one of these roles."""
    return tuple(column for column in stage.columns if column.role in roles)


def only(columns: Iterable[Field], names: set[str]) -> tuple[Field, ...]:
    """The columns of these names."""
    return tuple(column for column in columns if column.name in names)


def with_added(below: Stage, stage: Stage, names: Iterable[str]) -> tuple[Field, ...]:
    """The columns of the stage below, and those that the stage adds to them."""
    added = set(names)
    kept = tuple(column for column in below.columns if column.name not in added)
    return (*kept, *only(stage.columns, added))


def renamed(
    identity: tuple[Identity, ...] | None, shown_as: Callable[[str], str | None]
) -> tuple[Identity, ...] | None:
    """The columns that identify events, under the names that the rows above have for them."""
    return identity and tuple(column._replace(column=column.column and shown_as(column.column)) for column in identity)
