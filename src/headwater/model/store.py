"""A store: where views are served from."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.model.view import Emit


@dataclass(frozen=True, kw_only=True)
class Store:
    """A store named in headwater.toml. `takes` is what it can be given; a password is never part of `url` in print."""

    name: str
    url: str = field(repr=False)
    takes: frozenset[Emit] = frozenset(Emit)
    options: tuple[tuple[str, str], ...] = ()
