"""Chains: operators that keep state, one feeding the other, and which of them Spark's streaming carries out soundly.

An operator that keeps state drops what comes to it behind its own watermark, and says nothing. Whether the rows of one
operator always come in time for the next is a matter of the two: of what a join lets wait and which way its bound in
time points, of the instant that a group is forgotten by, and of whether rows are written as they change or once. So it
is not argued but *proven*: `tests/engine/test_chains.py` executes every chain of the table over random logs, cut in
several ways, against batch and against another engine. A chain that isn't in the table is settled.

The names of operators, from the scan up:

    once             each event of a `unique` stream once
    distinct         one row per key, one of which is a time
    inner … semi     joins within a bound in time; `before`, `after` or `around` says where the partners of a row lie
    window inner …   joins of rows in the same window
    times            groups that share an instant
    windows          groups of tumbling, hopping, cumulating or calendar windows
    sessions         groups of sessions
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from typing import Literal, NamedTuple

from headwater.model import Emit, Session
from headwater.plan.stages import STATELESS, Aggregate, Deduplicate, Join, Scan, Stage, TimeBound, Union
from headwater.plan.state import is_by_identity

Direction = Literal["", "before", "after", "around"]
DIRECTIONS: tuple[Direction, ...] = ("before", "after", "around")
JOINS = ("inner", "left", "right", "full", "semi")
WINDOW_JOINS = ("window inner", "window left", "window semi")
GROUPS = ("times", "windows", "sessions")


class Operator(NamedTuple):
    """An operator that keeps state, as far as it matters to the next one."""

    name: str
    direction: Direction = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.direction})" if self.direction else self.name


class Chain(NamedTuple):
    """Operators from the scan up, and when the rows of the last one are written."""

    operators: tuple[Operator, ...]
    emit: Emit

    def __str__(self) -> str:
        return f"{' → '.join(map(str, self.operators))}, {self.emit.value}"


_ONCE, _DISTINCT = Operator("once"), Operator("distinct")
_BOUNDED = tuple(Operator(name, direction) for name, direction in product(JOINS, DIRECTIONS))
_OF_WINDOWS = tuple(Operator(name) for name in WINDOW_JOINS)
_GROUPS = tuple(Operator(name) for name in GROUPS)
_NO_TIME = ("full", "times")
_WRITTEN_ONCE = ("sessions", "left", "right", "full", "window left")
"""Operators of which Spark's streaming keeps no changes."""


def _emits(*operators: Operator) -> tuple[Emit, ...]:
    once = any(operator.name in _WRITTEN_ONCE for operator in operators)
    return (Emit.FINAL,) if once else (Emit.FINAL, Emit.CHANGES)


def _table() -> Iterator[Chain]:
    """The chains that were proven: every pair, and every pair over streams whose events are taken once.

    Behind a full join no time is there in all rows, so that there are no groups that share one.
    """
    firsts = (_DISTINCT, *_BOUNDED, *_OF_WINDOWS)
    pairs = [(below, above) for below, above in product(firsts, _GROUPS) if (below.name, above.name) != _NO_TIME]
    for operators in [*pairs, *((above,) for above in (*firsts, *_GROUPS))]:
        for emit in _emits(*operators):
            yield Chain(operators, emit)
            yield Chain((_ONCE, *operators), emit)


PROVEN = frozenset(_table())


def unproven(root: Stage, emit: Emit) -> str | None:
    """Why the stages can't be live, if an operator that keeps state feeds another one in a way that wasn't proven."""
    if any(isinstance(stage, Union) and any(_stateful(stage)) for stage in root.walk()):
        return "a union reads rows of stateful operators"
    for operators in _paths(root):
        for length in range(2, len(operators) + 1):
            if Chain(operators[:length], emit) not in PROVEN:
                below, above = (_NOUNS.get(found.name, "a join") for found in operators[length - 2 : length])
                return f"{below} feeds {above}, and it is not proven that Spark's streaming drops no row between them"
    return None


_NOUNS = {
    "once": "the deduplication of a stream",
    "distinct": "a deduplication",
    "times": "an aggregate",
    "windows": "an aggregate",
    "sessions": "an aggregate of sessions",
}


def _stateful(stage: Stage) -> Iterator[Stage]:
    """The stages that keep something between rows."""
    return (found for found in stage.walk() if not isinstance(found, STATELESS) and not _is_nothing(found))


def _is_nothing(stage: Stage) -> bool:
    """Whether a stage has nothing left to do, because its rows are taken once when they enter."""
    return isinstance(stage, Deduplicate) and is_by_identity(stage)


def _paths(stage: Stage) -> Iterator[tuple[Operator, ...]]:
    """The operators from each scan up to a stage."""
    if isinstance(stage, Scan):
        yield (_ONCE,) if stage.unique else ()
    own = () if isinstance(stage, STATELESS) or _is_nothing(stage) else (operator_of(stage),)
    for below in stage.inputs:
        for path in _paths(below):
            yield (*path, *own)


def operator_of(stage: Stage) -> Operator:
    """The operator that a stage becomes; one of which Spark's streaming has none has a name of its own."""
    match stage:
        case Join(window=None, bound=bound) if bound is not None:
            return Operator(stage.kind, _direction(bound))
        case Join():
            return Operator(f"window {stage.kind}")
        case Aggregate(window=Session()):
            return Operator("sessions")
        case Aggregate():
            return Operator("times" if stage.window is None else "windows")
        case Deduplicate():
            return _DISTINCT
    return Operator(type(stage).__name__.lower())


def _direction(bound: TimeBound) -> Direction:
    if bound.upper <= timedelta():
        return "before"
    return "after" if bound.lower >= timedelta() else "around"
