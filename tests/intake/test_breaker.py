"""The breaker: what is let pass, and when it opens."""

from __future__ import annotations

import pytest

from headwater.errors import TooMuchPoison
from headwater.intake.breaker import Breaker


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def reasons() -> list[str]:
    return ["the message is not JSON"]


def test_a_share_of_a_minute_s_events_may_be_dead_and_no_more() -> None:
    clock = Clock()
    breaker = Breaker("payments", 0.1, clock)
    breaker.check(900, 100, reasons)
    breaker.passed(900, 100)
    with pytest.raises(TooMuchPoison, match="the message is not JSON") as poisoned:
        breaker.check(8, 2, reasons)
    assert (poisoned.value.fields["dead"], poisoned.value.fields["events"]) == (102, 1010)
    assert poisoned.value.transient
    breaker.check(100, 2, reasons)
    clock.now = 61.0
    breaker.check(8, 2, reasons)  # a minute later the first thousand don't count, and ten are too few to say


def test_few_events_say_nothing() -> None:
    Breaker("payments", 0.5).check(0, 999, reasons)
    with pytest.raises(TooMuchPoison):
        Breaker("payments", 0.5).check(0, 1000, reasons)


def test_any_share_may_be_let_pass() -> None:
    Breaker("payments", None).check(0, 1_000_000, reasons)
