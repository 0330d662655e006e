"""The stores that every test of the conformance suite runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from headwater.store import Store
from headwater.store.sqlite import SqliteStore
from tests.store.targets import START


class Wall:
    """A wall clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime:
        return self.at

    def move(self, **by: float) -> None:
        self.at += timedelta(**by)


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture(params=["sqlite"])
def again(request: pytest.FixtureRequest, tmp_path: Path, wall: Wall) -> Iterator[Callable[[], Store]]:
    """Open the same store as another process would: nothing shared but the place. Changes are kept for a day."""
    opened: list[Store] = []

    def open_again() -> Store:
        opened.append(SqliteStore(tmp_path / "views.db", changes_retention=timedelta(days=1), now=wall))
        return opened[-1]

    yield open_again
    for store in opened:
        store.close()


@pytest.fixture
def store(again: Callable[[], Store]) -> Store:
    return again()
