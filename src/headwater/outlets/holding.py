"""The place of an outlet whose target keeps none: an object beside the log, swapped only by who holds it.

It says who holds the outlet, under which epoch, and how far was sent. Whoever opens the outlet takes the next epoch; an
older run can't swap the object any more, and so learns that it was overtaken.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from headwater.errors import Fenced
from headwater.log import Storage, folder_of
from headwater.outlets.protocol import Place, fenced
from headwater.store.refusals import this_process


class Holding:
    """One outlet, as one run holds it."""

    def __init__(self, outlet: str, storage: Storage) -> None:
        self._outlet = outlet
        self._storage = storage
        self._path = f"{folder_of(outlet)}.json"
        self._known: bytes | None = None
        self._epoch = 0

    def take(self) -> Place | None:
        """Take the next epoch, and tell how far was sent."""
        while True:
            before = self._storage.read(self._path)
            kept = json.loads(before or b'{"epoch": 0, "place": null}')
            place = Place(**kept["place"]) if kept["place"] else None
            self._epoch, self._known = kept["epoch"] + 1, before
            if self._swap(place):
                return place

    def check(self) -> None:
        """`Fenced` if another run has taken the outlet over."""
        if self._storage.read(self._path) != self._known:
            raise self._fenced()

    def keep(self, place: Place) -> None:
        """Keep how far was sent; when it returns that is durable. `Fenced` if another run has taken over."""
        if not self._swap(place):
            raise self._fenced()

    def _swap(self, place: Place | None) -> bool:
        told = {"epoch": self._epoch, "holder": this_process(), "place": asdict(place) if place else None}
        after = json.dumps(told).encode()
        if not self._storage.swap(self._path, self._known, after):
            return False
        self._known = after
        return True

    def _fenced(self) -> Fenced:
        kept = json.loads(self._storage.read(self._path) or b"{}")
        holder = kept.get("holder", "Another run")
        return fenced(self._outlet, holder, f"has epoch {kept.get('epoch')}; this run has epoch {self._epoch}.")
