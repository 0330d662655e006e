"""Serving: how a view is laid out in its stores, beyond its columns and its key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, get_args

Layout = Literal["json", "hash", "sorted set", "stream"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
"""The structures in which Redis shows rows."""


@dataclass(frozen=True)
class Serving:
    """The wishes of a view to its stores; each takes what it knows, and what none of them knows is refused by `check`.

    `layout` is how Redis shows rows. A sorted set is ordered by the column `score`; the columns `group`, a part of the
    key, say which set a row is in. `ttl` is how long a hash or a set is shown after its last change. `indexes` are
    lists of columns that a database is to find rows by.
    """

    layout: Layout | None = None
    score: str | None = None
    group: tuple[str, ...] = ()
    ttl: timedelta | None = None
    indexes: tuple[tuple[str, ...], ...] = ()
