"""Verification compares what is exact exactly, and what a sketch has guessed within its bound."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headwater.operate.verify import differences
from headwater.operators.tolerance import Tolerance


def found(
    held: list[dict[str, Any]], expected: list[dict[str, Any]], share: float | None = 0.1
) -> tuple[list[Any], list[Any]]:
    """What is missing and what is extra if the column "guess" is approximate."""
    return differences(pa.Table.from_pylist(held), pa.Table.from_pylist(expected), {"guess": Tolerance(share)})


def test_estimates_within_the_bound_are_the_same() -> None:
    assert found([{"k": 1, "guess": 1000}], [{"k": 1, "guess": 1080}]) == ([], [])


def test_estimates_beyond_the_bound_are_a_difference() -> None:
    one, other = {"k": 1, "guess": 1000}, {"k": 1, "guess": 1200}
    assert found([one], [other]) == ([other], [one])


def test_one_more_or_less_is_never_a_difference() -> None:
    assert found([{"k": 1, "guess": 3}], [{"k": 1, "guess": 4}]) == ([], [])


def test_what_is_exact_tells_rows_apart() -> None:
    one, other = {"k": 1, "guess": 1000}, {"k": 2, "guess": 1000}
    assert found([one], [other]) == ([other], [one])
    assert found([one, one], [one]) == ([], [one])


def test_a_guess_of_nothing_is_no_guess() -> None:
    one, other = {"k": 1, "guess": None}, {"k": 1, "guess": 7}
    assert found([one], [other]) == ([other], [one])
    assert found([one], [other], None) == ([other], [one])


def test_where_no_bound_can_be_said_of_the_value_its_presence_is_compared() -> None:
    assert found([{"k": 1, "guess": "abc"}], [{"k": 1, "guess": "xyz"}], None) == ([], [])
