"""Streaming: what Spark's own streaming makes of an operator.

One that keeps state is a link in a chain of those:

once             each event of a `unique` stream once
distinct         one row per key, one of which is a time
inner … semi     joins within a bound in time; `before`, `after` or `around` says where the partners of a row lie
window inner …   joins of rows in the same window
times            groups that share an instant
windows          groups of tumbling, hopping, cumulating or calendar windows
sessions         groups of sessions
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Direction = Literal["", "before", "after", "around"]


class Link(NamedTuple):
    """An operator that keeps state, as far as it matters to the next one."""

    name: str
    direction: Direction = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.direction})" if self.direction else self.name


class Streaming(NamedTuple):
    """An operator by Spark's streaming: its link in a chain of those that keep state, and what is special about it.

    The `obstacle` says why it can't be carried out. Of what is `unchanging` no changes are kept: it is emitted when it
    is final, or rather settled where that shows it earlier (`shown_early`). What `stays_up` is never moved below the
    watermark; what is `stamped` reads the stamps of rows. What `only_adds` shows rows for good as soon as what they are
    made of is there: more rows below give more rows of it, and none is waited for.
    """

    link: Link
    obstacle: str | None = None
    unchanging: str | None = None
    shown_early: bool = False
    stays_up: bool = False
    stamped: bool = False
    only_adds: bool = False
