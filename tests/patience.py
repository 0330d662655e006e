"""Patience with a machine that is busy: a test waits for what it needs, and gives up only where something is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""How many seconds a step may take that takes hardly any on an idle machine."""


def until(condition: Callable[[], object]) -> None:
    """Wait until something holds."""
    eventually(lambda: bool(condition()), True)


def eventually(found: Callable[[], object], wanted: object) -> None:
    """Wait until what is found is what is wanted."""
    deadline = time.monotonic() + PATIENCE
    while (last := found()) != wanted:
        assert time.monotonic() < deadline, f"it never came: {last}"
        time.sleep(0.01)
