"""A second opinion on patterns: the standard's definition written down, by backtracking. Nothing here is Headwater's.

A pattern is a tree of tuples: ("var", name), ("seq", parts), ("alt", options), ("rep", part, least, most, greedy),
("perm", parts), ("not shown", part), ("start",), ("end",), ("absent", name).

`is_one(name, path, row)` says whether a row is one of a
variable behind the rows of a path, which are pairs of a row and its variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

Pattern = tuple[Any, ...]
Path = tuple[tuple[int, str, bool], ...]
IsOne = Callable[[str, Path, int], bool]


def forms(
    pattern: Pattern, at: int, path: Path, stop: int, count: int, is_one: IsOne, hidden: bool
) -> Iterator[tuple[int, Path]]:
    """The ways in which a pattern matches rows from one on, those that are preferred first."""
    match pattern:
        case ("var", name):
            if at < stop and is_one(name, path, at):
                yield at + 1, (*path, (at, name, hidden))
        case ("seq", []):
            yield at, path
        case ("seq", [first, *rest]):
            for then, longer in forms(first, at, path, stop, count, is_one, hidden):
                yield from forms(("seq", rest), then, longer, stop, count, is_one, hidden)
        case ("alt", options):
            for option in options:
                yield from forms(option, at, path, stop, count, is_one, hidden)
        case ("perm", parts):
            for order in permutations(parts):
                yield from forms(("seq", list(order)), at, path, stop, count, is_one, hidden)
        case ("not shown", part):
            yield from forms(part, at, path, stop, count, is_one, True)
        case ("absent", name):
            if not any(is_one(name, path, row) for row in range(at, stop)):
                yield at, path
        case ("start",):
            if at == 0:
                yield at, path
        case ("end",):
            if at == count:
                yield at, path
        case ("rep", part, least, most, greedy):

            def again() -> Iterator[tuple[int, Path]]:
                if most == 0:
                    return
                for then, longer in forms(part, at, path, stop, count, is_one, hidden):
                    if then > at or least > 0:  # nothing more of nothing
                        rest = ("rep", part, max(least - 1, 0), None if most is None else most - 1, greedy)
                        yield from forms(rest, then, longer, stop, count, is_one, hidden)

            if least:
                yield from again()
            elif greedy:
                yield from again()
                yield at, path
            else:
                yield at, path
                yield from again()


def matches(
    pattern: Pattern, times: list[int], within: int | None, skip: tuple[str, frozenset[str]], is_one: IsOne
) -> Iterator[tuple[int, Path | None]]:
    """The row at which each search begins, and the rows of its match; None where it finds none."""
    at = 0
    while at < len(times):
        stop = len(times) if within is None else sum(time < times[at] + within for time in times)
        found = next(forms(pattern, at, (), stop, len(times), is_one, False), None)
        yield at, found[1] if found else None
        if not found or found[0] == at or skip[0] == "next row":
            at += 1
        elif skip[0] == "past last row":
            at = found[0]
        else:
            rows = [row for row, name, _ in found[1] if name in skip[1]]
            chosen = (rows[0] if skip[0] == "first" else rows[-1]) if rows else at
            if chosen == at:
                return  # it would be found again, or there is no such row
            at = chosen
