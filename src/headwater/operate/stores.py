"""The stores of a project, each opened once. One of several names is several stores of which the first one leads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from headwater import model
from headwater.errors import HeadwaterError
from headwater.findings import UnknownStore
from headwater.operate.mend import mend
from headwater.operate.query import DEFAULT_STORE
from headwater.plan import Plan, PlannedView
from headwater.store import OpenStore, Store, open_store
from headwater.store.sound import SoundStore


class Stores:
    """Opens the stores that a plan declares. Thread-safe."""

    def __init__(self, plan: Callable[[], Plan], folder: Path, open_store: OpenStore = open_store) -> None:
        self._plan = plan
        self._folder = folder
        self._open_store = open_store
        self._guard = threading.Lock()
        self._stores: dict[str, Store] = {}
        self._together: dict[str, SoundStore] = {}

    def of(self, planned: PlannedView) -> SoundStore:
        """The store that a view is served from."""
        return self.named(planned.view.store or DEFAULT_STORE)

    def named(self, names: str) -> SoundStore:
        """The store of this name; of several, with commas between them, the first one leads."""
        with self._guard:
            if names not in self._together:
                leader, *followers = [self._opened(name.strip()) for name in names.split(",")]
                self._together[names] = SoundStore(leader, followers)
            return self._together[names]

    def mend(self, views: Iterable[PlannedView]) -> None:
        """Put stores of these views aside that are damaged; one that can't be opened is told by the view's own run."""
        names = dict.fromkeys(name for planned in views for name in planned.view.stores or [DEFAULT_STORE])
        with suppress(HeadwaterError), self._guard:
            mend([self._opened(name) for name in names])

    def close(self) -> None:
        """Let go of those that were opened."""
        for store in self._stores.values():
            store.close()

    def _opened(self, name: str) -> Store:
        if name not in self._stores:
            self._stores[name] = self._open_store(self._declared(name), self._folder)
        return self._stores[name]

    def _declared(self, name: str) -> model.Store:
        for declared in self._plan().project.stores:
            if declared.name == name:
                return declared
        raise UnknownStore(f'the project has no store "{name}"', hint="Declare it in headwater.toml.", store=name)
