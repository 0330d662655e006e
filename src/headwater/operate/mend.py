"""Mending stores: a file that is damaged is put aside, and its views are rebuilt from the log as they are run."""

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
