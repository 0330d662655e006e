"""The checker of histories finds what is wrong, and nothing where nothing is."""

from __future__ import annotations

import random

import pytest

from headwater.testing import History, Read, Write, check_history

ONE, TWO = ("a", 1), ("b", 1)
WRITES = [
    Write(1.0, 2.0, frozenset({ONE})),
    Write(3.0, 4.0, frozenset({ONE, TWO})),
    Write(5.0, None, frozenset({TWO})),
    Write(7.0, 8.0, frozenset({ONE})),
]


def read(began: float, *rows: tuple[str, int], reader: str = "r", ended: float | None = None) -> Read:
    return Read(reader, began, began + 0.1 if ended is None else ended, rows)


@pytest.mark.parametrize(
    "reads",
    [
        [],
        [read(0.5), read(1.5), read(1.6, ONE), read(3.5, ONE), read(4.5, ONE, TWO)],
        [read(5.5, ONE, TWO), read(5.6, TWO), read(5.7, TWO)],
        [read(5.5, TWO), read(5.6, ONE, TWO, reader="another")],
        [read(9.0, ONE)],
        [read(0.5, ONE, ended=1.5)],
        [read(1.5, ONE), read(3.5, ONE, TWO), read(7.5, ONE)],
    ],
    ids=[
        "nothing",
        "in order",
        "unacknowledged",
        "two readers",
        "a state again",
        "overlapping",
        "back to an old state",
    ],
)
def test_a_history_in_which_each_read_is_a_state_in_order_is_right(reads: list[Read]) -> None:
    assert check_history(History(WRITES, reads)) == []


@pytest.mark.parametrize(
    ("reads", "kind"),
    [
        ([read(4.5, ONE, ONE, TWO)], "doubled"),
        ([read(4.5, ("c", 1))], "torn"),
        ([read(2.5)], "lost"),
        ([read(4.5, ONE)], "lost"),
        ([read(9.0, TWO)], "lost"),
        ([read(1.5, ONE, TWO)], "early"),
        ([read(3.5, ONE, TWO), read(3.6, ONE)], "backwards"),
        ([read(5.5, TWO), read(5.6, ONE, TWO)], "backwards"),
    ],
)
def test_a_history_with_a_wrong_read_is_found(reads: list[Read], kind: str) -> None:
    (found,) = check_history(History(WRITES, reads))
    assert found.kind == kind
    assert found.read == reads[-1]
    assert kind in str(found)


def test_one_wrong_read_in_a_long_history_is_found() -> None:
    chance = random.Random(7)
    states = [frozenset({("k", number), ("n", number % 3)}) for number in range(200)]
    writes = [Write(float(number), number + 0.5, state) for number, state in enumerate(states)]
    reads = [read(number + 0.6, *states[number]) for number in range(200)]
    assert check_history(History(writes, reads)) == []
    wrong = chance.randrange(1, 200)
    torn = read(wrong + 0.6, ("k", wrong), ("n", (wrong + 1) % 3))
    found = check_history(History(writes, [*reads[:wrong], torn, *reads[wrong + 1 :]]))
    assert [anomaly.kind for anomaly in found] == ["torn"]
