"""Instants as text."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headwater.model import INSTANT
from headwater.store import instants

NOON = 1_767_268_800_000_000
DIGITS = {
    0: "2026-01-01 12:00:00",
    250_000: "2026-01-01 12:00:00.250",
    250_125: "2026-01-01 12:00:00.250125",
    -1: "2026-01-01 11:59:59.999999",
}


@pytest.mark.parametrize("usual", DIGITS)
@pytest.mark.parametrize("repeated", [True, False])
def test_every_instant_has_the_digits_it_needs_whatever_most_others_need(usual: int, repeated: bool) -> None:
    """Many that are different are spelled in another way than many that repeat."""
    many = [NOON + usual + (0 if repeated else 1_000_000 * second) for second in range(3 * instants.SAMPLE)]
    array = pa.array([*many, *(NOON + digits for digits in DIGITS), None], pa.int64()).cast(INSTANT)
    texts = instants.encode(array)
    assert texts[-5:] == [*DIGITS.values(), None]
    assert {len(text) for text in texts[: len(many)]} == {len(DIGITS[usual])}
    assert instants.decode(texts, INSTANT).equals(array)


def test_times_of_day_are_spelled_without_a_date() -> None:
    array = pa.array([0, 37_800_250_000, None], pa.int64()).cast(pa.time64("us"))
    assert instants.encode(array) == ["00:00:00", "10:30:00.250", None]
