"""Chains: operators that keep state, one feeding the other, and which of them Spark's streaming carries out soundly.

An operator that keeps state drops what comes to it behind its own watermark, and says nothing. Whether the rows of one
operator always come in time for the next is a matter of the two: of what a join lets wait and which way its bound in
time points, of the instant that a group is forgotten by, and of whether rows are written as they change or once. So it
is not argued but *proven*: `tests/engine/test_chains.py` executes every chain of the table over random logs, cut in
several ways, against batch and against another engine. A chain that isn't in the table is settled.

The names of operators are those of `operators.streaming`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from headwater.model import Emit
from headwater.operators import Scan, Stage
from headwater.operators.streaming import Direction, Link

DIRECTIONS: tuple[Direction, ...] = ("before", "after", "around")
JOINS = ("inner", "left", "right", "full", "semi")
WINDOW_JOINS = ("window inner", "window left", "window semi")
GROUPS = ("times", "windows", "sessions")


class Chain(NamedTuple):
    """Links from the scan up, and when the rows of the last one are written."""

    operators: tuple[Link, ...]
    emit: Emit

    def __str__(self) -> str:
        return f"{' → '.join(map(str, self.operators))}, {self.emit.value}"


_ONCE, _DISTINCT = Link("once"), Link("distinct")
_BOUNDED = tuple(Link(name, direction) for name, direction in product(JOINS, DIRECTIONS))
_OF_WINDOWS = tuple(Link(name) for name in WINDOW_JOINS)
_GROUPS = tuple(Link(name) for name in GROUPS)
_NO_TIME = ("full", "times")
_WRITTEN_ONCE = ("sessions", "left", "right", "full", "window left")
"""Links of which Spark's streaming keeps no changes."""


def _emits(*operators: Link) -> tuple[Emit, ...]:
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
    """Tells why the stages can't be live, if an operator that keeps state feeds another in a way that wasn't proven."""
    for operators in _paths(root):
        for length in range(2, len(operators) + 1):
            if Chain(operators[:length], emit) not in PROVEN:
                below, above = (_NOUNS.get(operator.name, "a join") for operator in operators[length - 2 : length])
                return f"{below} feeds {above}, and it is not proven that Spark's streaming drops no row between them"
    return None


_NOUNS = {
    "once": "the deduplication of a stream",
    "distinct": "a deduplication",
    "times": "an aggregate",
    "windows": "an aggregate",
    "sessions": "an aggregate of sessions",
}


def _paths(stage: Stage) -> Iterator[tuple[Link, ...]]:
    """The operators from each scan up to a stage."""
    if isinstance(stage, Scan):
        yield (_ONCE,) if stage.unique else ()
    own = (stage.streaming.link,) if stage.keeps_state and not stage.is_by_identity else ()
    for below in stage.inputs:
        for path in _paths(below):
            yield (*path, *own)
