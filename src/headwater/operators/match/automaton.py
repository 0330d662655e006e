"""The machine: it runs the program of a pattern over the rows of one partition, and says what matches.

The search begins at each row in turn. What it finds depends on the rows that it has looked at, and on those that were
not there to be looked at; so every outcome has an instant from which it is *decided*: once all rows up to there have
come, no other can change it. Where one search begins depends on what the one before has found, so that an outcome is
not decided before all that came before it in the partition.

A search that has been at an instruction and a row once needn't come back: what follows depends on the two alone, unless
a condition looks at the match so far. Then every way is tried, up to a bound.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from headwater.operators.match.condition import Compute, ConditionFailed
from headwater.operators.match.program import Code, Program

MOST_TRIES = 1_000_000
"""The most that one search may try."""

Path = tuple[Any, int] | None
"""The instructions that have taken the rows of a match so far, the last one first."""


class MatchFailed(Exception):
    """The search from a row can't be carried through, or not be gone on from; that is decided at an instant."""

    def __init__(self, first: int, row: int, decided: int, what: str, hint: str) -> None:
        super().__init__(what)
        self.first, self.row, self.decided, self.what, self.hint = first, row, decided, what, hint


class Outcome(NamedTuple):
    """The result of a search from a row on: the instructions that took the rows, one for each; None if nothing.

    `decided` is the instant from which that stays so; `number` counts the matches of the partition.
    """

    first: int
    taken: tuple[int, ...] | None
    decided: int
    number: int
    is_covered: bool = False


@dataclass(frozen=True)
class Going:
    """The row at which the search goes on behind a match: past its last, at its next, or at one of some variables."""

    to: Literal["past last row", "next row", "first", "last"]
    variables: frozenset[int] = frozenset()
    name: str = ""


@dataclass(frozen=True)
class Machine:
    """A program, with how long a match may be, how far ahead of a row one may look, and how it goes on behind a match.

    `conditions` are those that look at the match so far, by the number of their variable. Instants and spans are whole
    microseconds. Where the partition is `ending`, nothing is decided before it does.
    """

    program: Program
    within: int | None
    ahead: int
    going: Going
    conditions: Mapping[int, Compute] = field(default_factory=dict)
    ending: bool = False

    def outcomes(
        self,
        times: Sequence[int],
        truths: Sequence[Sequence[bool]],
        columns: Mapping[str, Sequence[Any]],
        starts: Sequence[int],
        begin: int,
        number: int = 0,
        ends: int = 0,
    ) -> Iterator[Outcome]:
        """The outcomes of the searches in a partition, one after the other.

        They begin at the rows that can be the first of a match, `starts`, from `begin` on. `number` matches came
        before. A partition that ends does so at `ends`.
        """
        decided, covered = ends, -1
        while (at := bisect_left(starts, begin)) < len(starts):
            first = starts[at]
            taken, looked = self._search(times, truths, columns, first)
            decided = ends if self.ending else max(decided, looked)
            number += taken is not None
            outcome = Outcome(first, taken, decided, number, first <= covered)
            yield outcome
            covered = max(covered, first + len(taken or ()) - 1)
            begin = self.behind(outcome)

    def behind(self, outcome: Outcome) -> int:
        """The row from which the search goes on."""
        first, taken = outcome.first, outcome.taken
        if not taken or self.going.to == "next row":
            return first + 1
        if self.going.to == "past last row":
            return first + len(taken)
        code, wanted = self.program.instructions, self.going.variables
        places = [place for place, at in enumerate(taken) if code[at].first in wanted]
        if not places:
            what = f'the match that begins here has no row of "{self.going.name}" to skip to'
            hint = "Skip to a variable that every match has, or PAST LAST ROW."
            raise MatchFailed(first, first, outcome.decided, what, hint)
        place = places[0] if self.going.to == "first" else places[-1]
        if place == 0:
            what = f'the match that begins here would be found again: its first row is one of "{self.going.name}"'
            hint = "Skip to a variable that no match begins with, or TO NEXT ROW."
            raise MatchFailed(first, first, outcome.decided, what, hint)
        return first + place

    def _search(
        self,
        times: Sequence[int],
        truths: Sequence[Sequence[bool]],
        columns: Mapping[str, Sequence[Any]],
        first: int,
    ) -> tuple[tuple[int, ...] | None, int]:
        """The instructions that take the rows of the match from a row on, and the instant at which that is decided."""
        code, conditions, rows = self.program.instructions, self.conditions, len(times)
        until = times[first] + self.within if self.within is not None else None
        stop = rows if until is None else bisect_left(times, until, first)
        looked, at_end, tries = first, False, 0
        seen: dict[Any, Path] = {}
        waiting: list[tuple[int, int, Path]] = [(0, first, None)]
        accepted: Path = None
        is_found = False
        while waiting and not is_found:
            at, row, path = waiting.pop()
            while True:
                tries += 1
                # a path is kept as long as its place in memory stands for it
                key = (at, row, id(path)) if conditions else at * (rows + 1) + row
                if key in seen:
                    break
                seen[key] = path
                instruction = code[at]
                if instruction.code is Code.TAKE:
                    if row >= stop:
                        at_end = True
                        break
                    looked = max(looked, row)
                    variable = instruction.first
                    if not truths[variable][row]:
                        break
                    if variable in conditions and not self._holds(variable, times, columns, first, row, path):
                        break
                    path, row, at = (path, at), row + 1, at + 1
                elif instruction.code is Code.FORK:
                    if instruction.second != instruction.first:
                        waiting.append((instruction.second, row, path))
                    at = instruction.first
                elif instruction.code is Code.ABSENT:
                    come = self._comes(instruction.first, times, truths, columns, first, range(row, stop), path)
                    if come is not None:
                        looked = max(looked, come)
                        break
                    at_end, at = True, at + 1
                elif instruction.code is Code.FOUND:
                    accepted, is_found = path, True
                    break
                elif row == (0 if instruction.code is Code.START else rows):
                    at += 1
                else:
                    break
            if tries > MOST_TRIES:
                what = f"the search that begins here has tried {MOST_TRIES:,} ways"
                hint = "Bound the quantifiers, shorten WITHIN, or let conditions not look at the match so far."
                raise MatchFailed(first, first, times[looked] + self.ahead, what, hint)
        decided = until if at_end and until is not None else times[looked]
        return (_listed(accepted) if is_found else None), decided + self.ahead

    def _comes(
        self,
        variable: int,
        times: Sequence[int],
        truths: Sequence[Sequence[bool]],
        columns: Mapping[str, Sequence[Any]],
        first: int,
        rows: range,
        path: Path,
    ) -> int | None:
        """The first of some rows that is one of a variable behind the rows of a path; None if none is."""
        true = (row for row in rows if truths[variable][row])
        looks_back = variable in self.conditions
        taken = (row for row in true if not looks_back or self._holds(variable, times, columns, first, row, path))
        return next(taken, None)

    def _holds(
        self,
        variable: int,
        times: Sequence[int],
        columns: Mapping[str, Sequence[Any]],
        first: int,
        row: int,
        path: Path,
    ) -> bool:
        """Tells whether the condition of a variable is true of a row behind those of a path."""
        code = self.program.instructions
        so_far = [(first + place, code[at].first) for place, at in enumerate(_listed(path))]
        try:
            return self.conditions[variable](columns, [*so_far, (row, variable)]) is True
        except ConditionFailed as failure:
            what = f'the condition of "{self.program.variables[variable]}" can\'t be computed: {failure}'
            hint = "Let the condition take such a row, with CASE or coalesce."
            raise MatchFailed(first, row, times[row] + self.ahead, what, hint) from None


def _listed(path: Path) -> tuple[int, ...]:
    taken: list[int] = []
    while path is not None:
        path, at = path
        taken.append(at)
    return tuple(reversed(taken))
