"""State: what an operator keeps, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headwater.model import spell_duration


@dataclass(frozen=True)
class Kept:
    """The state of one operator; `until` is the instant that the watermark has to pass before it is let go of."""

    operator: str
    what: str
    until: str | None = None

    def __str__(self) -> str:
        return f"{self.operator}: {self.what}{f', until {self.until}' if self.until else ''}"


def after(what: str, delay: timedelta) -> str:
    """An instant so long after another one, in words."""
    if delay == timedelta():
        return what
    return f"{what} {'−' if delay < timedelta() else '+'} {spell_duration(abs(delay))}"
