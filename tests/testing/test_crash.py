"""Crash points: a process dies at the chosen call, and nothing that it does later happens."""

from __future__ import annotations

import pytest

from headwater.errors import ArgumentRefused
from headwater.testing import CRASH, Crash
from headwater.testing.crash import Crashed, Fuse, doomed


class Shelf:
    """A part of a process that does something to the world."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.is_closed = False

    def apply(self, row: str) -> int:
        self.rows.append(row)
        return len(self.rows)

    def position(self) -> int:
        return len(self.rows)

    def close(self) -> None:
        self.is_closed = True


def test_before_a_call_it_does_not_happen_and_after_it_it_has() -> None:
    for point, expected in {"before apply": ["a"], "after apply": ["a", "b"]}.items():
        shelf, fuse = Shelf(), Fuse()
        fuse.arm(Crash(point, 2))
        process = doomed(shelf, fuse)
        assert process.apply("a") == 1
        with pytest.raises(Crashed):
            process.apply("b")
        assert shelf.rows == expected
        assert fuse.is_blown


def test_a_dead_process_does_nothing_but_let_go() -> None:
    shelf, other, fuse = Shelf(), Shelf(), Fuse()
    fuse.arm(CRASH)
    process, part = doomed(shelf, fuse), doomed(other, fuse)
    with pytest.raises(Crashed):
        process.apply("a")
    for call in (lambda: process.apply("b"), lambda: process.position(), lambda: part.apply("c")):
        with pytest.raises(Crashed):
            call()
    assert (shelf.rows, other.rows) == (["a"], [])
    process.close()
    assert shelf.is_closed


def test_a_process_that_is_not_to_die_does_everything() -> None:
    shelf = Shelf()
    process = doomed(shelf, Fuse())
    assert [process.apply("a"), process.apply("b"), process.position()] == [1, 2, 2]


@pytest.mark.parametrize("point", ["apply", "during apply", "before lunch", "after __init__", ""])
def test_a_point_that_no_process_comes_to_is_refused(point: str) -> None:
    with pytest.raises(ArgumentRefused, match="no crash point"):
        Crash(point)


def test_times_count_from_one() -> None:
    with pytest.raises(ArgumentRefused, match="time 0"):
        Crash("after apply", 0)
