"""Rules of alerts: which figure of the project is watched, from where on it is too much, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

Figure = Literal["lag", "freshness", "late", "dead", "remainder", "stopped", "failing", "intake", "held", "watermark"]
"""The figure that a rule watches.

`lag`: commits that a view has not read. `freshness`: seconds from arrival to the store within which 99 of 100 of a
view's commits were there. `late`: the share of a view's rows that came too late, over the last ten minutes. `dead`:
dead letters of a topic that have not come back, changes that an outlet could not deliver. `remainder`: what a view's
ledger leaves unexplained. `stopped`: a view, an intake or an outlet has stopped for good. `failing`: one waits for its
next attempt, or its store can't be asked. `intake`: an intake waits, for its source or because of too much poison.
`held`: bytes of WAL that PostgreSQL holds back for the slot that a table is taken in by.
`watermark`: seconds that a topic's watermark is behind the wall clock.
"""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """An alert is due once a figure was above a threshold for so long; of what is named in `of`, or of everything."""

    name: str
    when: Figure
    above: float = 0
    lasting: timedelta = timedelta()
    of: tuple[str, ...] = ()

    def is_about(self, name: str) -> bool:
        """Tells whether the rule watches what has this name.

        >>> Rule(name="r", when="lag", of=("Spend",)).is_about("spend")
        True
        """
        return not self.of or name.lower() in {watched.lower() for watched in self.of}


DEFAULT_RULES = (
    Rule(name="rows lost or doubled", when="remainder"),
    Rule(name="stopped", when="stopped"),
    Rule(name="dead letters", when="dead"),
    Rule(name="WAL held back", when="held", above=10e9),
)
"""The rules of a project that states none."""
