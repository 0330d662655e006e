"""Programs: a pattern as instructions of a small machine, which looks for the match that comes first by preference.

A *thread* stands at an instruction and at a row. Where it can go on in two ways it prefers the first; the other is
tried if that leads nowhere. So the order of the instructions is the order of preference that the standard states:
alternatives from left to right, greedy quantifiers once more before leaving, reluctant ones the other way round.

    TAKE variable   the row must be one of the variable; the thread goes on with the next row
    FORK a b        go on at a, or else at b
    START, END      the row is the first of its partition, or there is none left
    ABSENT variable no row from here on is one of the variable, until the time or the partition is over
    FOUND           the rows up to here are a match
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import permutations

from headwater.model import pattern as model

MOST = 2_000
"""The most instructions of a pattern: of a longer one a single match could take for ever."""


class Code(IntEnum):
    """The kinds of instructions."""

    TAKE = 0
    FORK = 1
    START = 2
    END = 3
    FOUND = 4
    ABSENT = 5


@dataclass(frozen=True)
class Instruction:
    """One instruction; `first` and `second` are a variable's number, or instructions to go on at.

    A row that is `excluded` belongs to the match and isn't shown among its rows.
    """

    code: Code
    first: int = 0
    second: int = 0
    excluded: bool = False


class TooLong(Exception):
    """A pattern has more instructions than a program may have."""


@dataclass(frozen=True)
class Program:
    """The instructions of a pattern over these variables."""

    variables: tuple[str, ...]
    instructions: tuple[Instruction, ...]

    @property
    def begins_with(self) -> frozenset[int] | None:
        """The variables that the first row of a match can be; None if a match may have no rows."""
        seen, waiting, first = set[int](), [0], set[int]()
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            own = self.instructions[at]
            if own.code is Code.FOUND:
                return None
            if own.code is Code.TAKE:
                first.add(own.first)
            else:
                waiting += [own.first, own.second] if own.code is Code.FORK else [at + 1]
        return frozenset(first)


def program_of(step: model.Step, variables: Sequence[str]) -> Program:
    """The program of a pattern; `TooLong` if it has too many instructions."""
    numbers = {name.lower(): number for number, name in enumerate(variables)}
    code: list[Instruction] = []
    _Writer(numbers, code).write(step, excluded=False)
    code.append(Instruction(Code.FOUND))
    return Program(tuple(variables), tuple(code))


@dataclass(frozen=True)
class _Writer:
    numbers: dict[str, int]
    code: list[Instruction]

    def add(self, instruction: Instruction) -> int:
        if len(self.code) >= MOST:
            raise TooLong
        self.code.append(instruction)
        return len(self.code) - 1

    def write(self, step: model.Step, *, excluded: bool) -> None:
        match step:
            case model.Variable(name):
                self.add(Instruction(Code.TAKE, self.numbers[name.lower()], excluded=excluded))
            case model.Sequence(parts):
                for part in parts:
                    self.write(part, excluded=excluded)
            case model.Alternation(options):
                self.choose([(option,) for option in options], excluded=excluded)
            case model.Permutation(parts):
                if len(parts) > 6:
                    raise TooLong
                self.choose(list(permutations(parts)), excluded=excluded)
            case model.Exclusion(part):
                self.write(part, excluded=True)
            case model.Absence(name):
                self.add(Instruction(Code.ABSENT, self.numbers[name.lower()]))
            case model.Anchor(at):
                self.add(Instruction(Code.START if at == "start" else Code.END))
            case model.Repeat():
                self.repeat(step, excluded=excluded)

    def choose(self, options: Sequence[tuple[model.Step, ...]], *, excluded: bool) -> None:
        """The options, the first one that leads to a match before the others."""
        leaving = []
        for number, option in enumerate(options):
            last = number == len(options) - 1
            fork = None if last else self.add(Instruction(Code.FORK))
            for part in option:
                self.write(part, excluded=excluded)
            if fork is not None:
                leaving.append(self.add(Instruction(Code.FORK)))
                self.code[fork] = Instruction(Code.FORK, fork + 1, len(self.code))
        for at in leaving:
            self.code[at] = Instruction(Code.FORK, len(self.code), len(self.code))

    def repeat(self, step: model.Repeat, *, excluded: bool) -> None:
        for _ in range(step.least):
            self.write(step.part, excluded=excluded)
        if step.most is None:
            fork = self.add(Instruction(Code.FORK))
            self.write(step.part, excluded=excluded)
            self.add(Instruction(Code.FORK, fork, fork))
            self.fork(fork, greedy=step.greedy)
            return
        forks = []
        for _ in range(step.most - step.least):
            forks.append(self.add(Instruction(Code.FORK)))
            self.write(step.part, excluded=excluded)
        for fork in forks:
            self.fork(fork, greedy=step.greedy)

    def fork(self, at: int, *, greedy: bool) -> None:
        """Let an instruction lead to the one behind it and to the end as it is now, in the order of preference."""
        inside, outside = at + 1, len(self.code)
        self.code[at] = Instruction(Code.FORK, *((inside, outside) if greedy else (outside, inside)))


def can_be_empty(step: model.Step) -> bool:
    """Tells whether a pattern matches no rows at all."""
    match step:
        case model.Variable():
            return False
        case model.Sequence(parts) | model.Permutation(parts):
            return all(map(can_be_empty, parts))
        case model.Alternation(options):
            return any(map(can_be_empty, options))
        case model.Repeat(part, least):
            return least == 0 or can_be_empty(part)
        case model.Exclusion(part):
            return can_be_empty(part)
        case model.Anchor() | model.Absence():
            return True


def anchors(step: model.Step) -> Iterator[model.Anchor]:
    """The anchors of a pattern."""
    match step:
        case model.Anchor():
            yield step
        case model.Sequence(parts) | model.Permutation(parts) | model.Alternation(parts):
            for part in parts:
                yield from anchors(part)
        case model.Repeat(part) | model.Exclusion(part):
            yield from anchors(part)
        case model.Variable() | model.Absence():
            pass


def exclusions(step: model.Step) -> Iterator[model.Exclusion]:
    """The exclusions of a pattern."""
    match step:
        case model.Exclusion():
            yield step
        case model.Sequence(parts) | model.Permutation(parts) | model.Alternation(parts):
            for part in parts:
                yield from exclusions(part)
        case model.Repeat(part):
            yield from exclusions(part)
        case model.Anchor() | model.Variable() | model.Absence():
            pass


def absences(step: model.Step) -> Iterator[model.Absence]:
    """The absences of a pattern."""
    match step:
        case model.Absence():
            yield step
        case model.Sequence(parts) | model.Permutation(parts) | model.Alternation(parts):
            for part in parts:
                yield from absences(part)
        case model.Repeat(part) | model.Exclusion(part):
            yield from absences(part)
        case model.Anchor() | model.Variable():
            pass
