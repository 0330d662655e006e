"""Mending stores: what is damaged is put aside, and views are rebuilt from the log.

A store that is one file is put aside as a whole when views are run, and they are rebuilt as they run. One that has a
view in a place of its own makes room for it when the view is replayed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable

from headwater.errors import StoreDamaged
from headwater.store import Store

_logger = logging.getLogger("headwater.run")


@runtime_checkable
class Mendable(Protocol):
    """A store that can tell whether it is as it was left, and make room for a new one if it isn't."""

    def require_sound(self) -> None:
        """Asked before views are run; `StoreDamaged` if it isn't."""

    def put_aside(self) -> Path:
        """Move what is damaged away; returns where it is. After a crash in between, it is there or not."""


@runtime_checkable
class MakesRoom(Protocol):
    """A store in which a view can be so damaged that no version of it can be built."""

    def make_room(self, view: str) -> list[str]:
        """Move what is damaged of a view away, before it is replayed; returns where it is. Sound versions stay.

        For the one run that works on the view. Nobody who held an epoch before can write to what is built afterwards.
        """


def make_room(stores: Iterable[Store], view: str) -> list[str]:
    """Put aside what is damaged of a view in each of its stores; returns where it is now."""
    aside = [place for store in stores if isinstance(store, MakesRoom) for place in store.make_room(view)]
    for place in aside:
        _logger.warning('view "%s" was damaged: a part of it is put aside as %s, and it is rebuilt.', view, place)
    return aside


def mend(stores: Iterable[Store]) -> list[Path]:
    """Put the stores aside that are damaged; returns where they are now."""
    aside = []
    for store in stores:
        if isinstance(store, Mendable):
            try:
                store.require_sound()
            except StoreDamaged as damaged:
                aside.append(store.put_aside())
                _logger.warning(
                    "%s: %s It is put aside as %s, and its views are rebuilt from the log.",
                    damaged.summary, damaged.detail, aside[-1],
                )  # fmt: skip
    return aside
