"""Patience with a machine that is busy: a test waits for what it needs, and gives up only where something is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

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


class Rounds:
    """Counts the calls of a method, for a test that nothing comes of something that looks again and again."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: type, method: str) -> None:
        self.count = 0
        original = getattr(owner, method)

        def counted(*given: Any, **named: Any) -> Any:
            self.count += 1
            return original(*given, **named)

        patch.setattr(owner, method, counted)

    def pass_by(self, rounds: int = 3) -> None:
        """Wait until there were so many more, begun after this one that may be under way."""
        before = self.count
        until(lambda: self.count > before + rounds)
