"""A pattern over ordered rows: what MATCH_RECOGNIZE declares.

The rows of each *partition*, in order, are matched like the letters of a text by a regular expression whose letters
are *variables*: a row is an A if A's condition holds for it. A variable without a condition matches every row.
The expression is a tree of the values below; each spells itself as SQL does.

    Variable     A                     Sequence      A B C            Alternation   A | B
    Repeat       A* A+ A? A{2,5} A*?   Permutation   PERMUTE(A, B)    Exclusion     {- A -}
    Anchor       ^ $          Absence       [^ A ]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Literal


@dataclass(frozen=True)
class Variable:
    """One row for which the variable's condition holds."""

    name: str


@dataclass(frozen=True)
class Sequence:
    """The parts one after the other."""

    parts: tuple[Step, ...]


@dataclass(frozen=True)
class Alternation:
    """The first of the options that matches."""

    options: tuple[Step, ...]


@dataclass(frozen=True)
class Repeat:
    """`part` at least `least` and at most `most` times (None: no limit); as often as possible if `greedy`."""

    part: Step
    least: int
    most: int | None
    greedy: bool = True


@dataclass(frozen=True)
class Permutation:
    """The parts, each once, in any order."""

    parts: tuple[Step, ...]


@dataclass(frozen=True)
class Exclusion:
    """Rows that must match and are left out of ALL ROWS PER MATCH."""

    part: Step


@dataclass(frozen=True)
class Anchor:
    """The start (`^`) or the end (`$`) of the partition."""

    at: Literal["start", "end"]


@dataclass(frozen=True)
class Absence:
    """No row of the variable from here on, until the time or the partition is over."""

    name: str


Step = Variable | Sequence | Alternation | Repeat | Permutation | Exclusion | Anchor | Absence


class RowsPerMatch(Enum):
    """The rows that a match gives: one, or its own."""

    ONE = "ONE ROW PER MATCH"
    ALL = "ALL ROWS PER MATCH"
    ALL_SHOW_EMPTY = "ALL ROWS PER MATCH SHOW EMPTY MATCHES"
    ALL_OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    ALL_WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


@dataclass(frozen=True)
class Skip:
    """The row at which the search goes on after a match: past its last, the one after its first, or a variable's."""

    to: Literal["past last row", "next row", "first", "last"] = "past last row"
    variable: str | None = None


@dataclass(frozen=True)
class Measure:
    """A column of the result, computed over the match (`final`) or over the match so far."""

    name: str
    expression: str
    final: bool | None = None


@dataclass(frozen=True)
class Definition:
    """The condition under which a row is this variable; canonical SQL."""

    variable: str
    condition: str


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """`MATCH_RECOGNIZE (…)`. Expressions are canonical SQL; a match lasts less than `within` from first to last row.

    A name of `subsets` stands for several variables.
    """

    step: Step
    partition_by: tuple[str, ...] = ()
    order_by: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows: RowsPerMatch = RowsPerMatch.ONE
    skip: Skip = Skip()
    within: timedelta | None = None
    define: tuple[Definition, ...] = ()
    subsets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the pattern, in the order in which they occur, each once."""
        return tuple(dict.fromkeys(_variables(self.step)))


def _variables(step: Step) -> list[str]:
    match step:
        case Variable(name) | Absence(name):
            return [name]
        case Sequence(parts) | Alternation(parts) | Permutation(parts):
            return [name for part in parts for name in _variables(part)]
        case Repeat(part) | Exclusion(part):
            return _variables(part)
        case Anchor():
            return []


def spell_step(step: Step) -> str:
    """The pattern as SQL writes it; names that aren't plain words are in backquotes.

    >>> spell_step(Sequence((Variable("A"), Repeat(Alternation((Variable("B"), Variable("C"))), 1, None))))
    'A (B | C)+'
    """
    match step:
        case Variable(name):
            plain = name.isidentifier() and name.isascii() and name.upper() != "PERMUTE"
            return name if plain else f"`{name.replace('`', '``')}`"
        case Sequence(parts):
            return " ".join(_wrapped(part, Alternation, Sequence) for part in parts)
        case Alternation(options):
            return " | ".join(_wrapped(option, Alternation) for option in options)
        case Repeat(part):
            return f"{_wrapped(part, Alternation, Sequence, Repeat)}{_quantifier(step)}"
        case Permutation(parts):
            return f"PERMUTE({', '.join(map(spell_step, parts))})"
        case Exclusion(part):
            return f"{{- {spell_step(part)} -}}"
        case Anchor(at):
            return "^" if at == "start" else "$"
        case Absence(name):
            return f"[^ {spell_step(Variable(name))} ]"


def _wrapped(step: Step, *kinds: type[Step]) -> str:
    return f"({spell_step(step)})" if isinstance(step, kinds) else spell_step(step)


def _quantifier(repeat: Repeat) -> str:
    signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    most = "" if repeat.most is None else str(repeat.most)
    exact = f"{{{most}}}" if repeat.least == repeat.most else f"{{{repeat.least},{most}}}"
    return signs.get((repeat.least, repeat.most), exact) + ("" if repeat.greedy else "?")
