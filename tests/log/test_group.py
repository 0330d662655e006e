"""Group commit: everyone is served once, in order, and errors reach their own callers."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from headwater.log.group import Group
from tests.patience import PATIENCE


def test_callers_that_come_while_a_group_is_served_share_the_next() -> None:
    groups: list[list[int]] = []
    entered, release = threading.Event(), threading.Event()

    def serve(requests: Sequence[int]) -> list[int]:
        groups.append(list(requests))
        entered.set()
        release.wait(PATIENCE)
        return [request * 10 for request in requests]

    group: Group[int, int] = Group(serve)
    answers: dict[int, int] = {}
    threads = [threading.Thread(target=lambda n=n: answers.update({n: group.submit(n)})) for n in range(50)]
    threads[0].start()
    entered.wait(PATIENCE)
    for number, thread in enumerate(threads[1:], 1):
        thread.start()
        while len(group._waiting) < number:
            time.sleep(0.001)
    release.set()
    for thread in threads:
        thread.join()
    assert groups == [[0], list(range(1, 50))]
    assert answers == {number: number * 10 for number in range(50)}


def test_an_error_reaches_its_own_caller_only() -> None:
    group: Group[int, int] = Group(lambda requests: [ValueError("odd") if n % 2 else n for n in requests])
    assert group.submit(2) == 2
    with pytest.raises(ValueError, match="odd"):
        group.submit(3)
    assert group.submit(4) == 4


def test_a_failed_group_fails_all_of_its_callers_and_the_next_is_served() -> None:
    failing = [True, False]

    def serve(requests: Sequence[int]) -> Sequence[int]:
        if failing.pop(0):
            raise OSError("disk gone")
        return requests

    group: Group[int, int] = Group(serve)
    with pytest.raises(OSError, match="disk gone"):
        group.submit(1)
    assert group.submit(2) == 2


def test_many_threads_are_each_served_exactly_once() -> None:
    served: list[int] = []
    group: Group[int, int] = Group(lambda requests: served.extend(requests) or list(requests))  # type: ignore[func-returns-value]
    wrong: list[int] = []

    def work(start: int) -> None:
        wrong.extend(n for n in range(start, start + 200) if group.submit(n) != n)

    threads = [threading.Thread(target=work, args=(start * 1000,)) for start in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(served) == len(set(served)) == 16 * 200
