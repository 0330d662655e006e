"""The words for a stage that keeps rows for ever: why nothing bounds it yet, and the lines to write.

A window ends, and so does what is grouped, ranked or made unique within one. Where no window is meant, a view states
how long a row counts (`retention`) or how far back one can matter (`horizon`).
"""

from __future__ import annotations

from dataclasses import dataclass

NOTHING_BOUNDS_IT = "Nothing in the query says when its state can be forgotten."
STATE_RETENTION = "state how long a row counts: WITH (retention = '30 days'), or 'forever'"

TAKE_A_TIME_THAT_STAYS = (
    "Take the time of the side whose rows all stay (the left one of a LEFT JOIN, the right one of a RIGHT JOIN), or "
    f"{STATE_RETENTION}."
)
ORDER_BY_A_TIME_THAT_STAYS = (
    "Order by the time of the side whose rows all stay (the left one of a LEFT JOIN, the right one of a RIGHT JOIN), "
    "or let every row count for ever: WITH (retention = 'forever')."
)


def without_partner(column: str, what: str = "group") -> str:
    """The reason why groups, or frames, by a time never end that an outer join leaves NULL."""
    return f'Its column "{column}" is a time, but rows without a partner don\'t have it, and their {what} never ends.'


@dataclass(frozen=True)
class Remedy:
    """A stage does this for ever; the reason, and what to write."""

    what: str
    detail: str
    hint: str
