"""Holds: versions of a view that are kept up beside the one that a run would serve.

A view that is *held* serves what it serves until somebody promotes another version: a run builds the next one beside
it, and goes on feeding both. A version that was served before is *kept* for a while and fed as well, so that the way
back leads to rows that are current. All of it is written below the project, for whichever process runs its views.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from headwater.errors import PromotionRefused
from headwater.log import folder_of, wall_clock
from headwater.operate.halt import Halt
from headwater.operate.lock import locked
from headwater.operate.record import put
from headwater.operate.wish import POLL
from headwater.store import Store, Version
from headwater.waiting import wait_for

KEEP_OLD = timedelta(hours=24)
"""A version that another one has replaced is fed for so long, unless something else is said."""


@dataclass(frozen=True)
class Holds:
    """The holds of a project, below its own folder, `home`."""

    home: Path
    now: Callable[[], datetime] = wall_clock

    def hold(self, view: str) -> None:
        """Let what a view serves be served until another version is promoted."""
        if not self.is_held(view):
            put(self._path(view, "held"), json.dumps({"since": self.now().isoformat()}))

    def release(self, view: str) -> None:
        """Let a run serve the version that it has built."""
        self._path(view, "held").unlink(missing_ok=True)

    def is_held(self, view: str) -> bool:
        """Tells whether a view is held."""
        return self._path(view, "held").exists()

    def keep(self, view: str, version: int, upto: timedelta) -> None:
        """Let a version be fed for so long, though another one is served."""
        kept = self.kept(view) | {version: self.now() + upto}
        put(self._path(view, "kept"), json.dumps({number: at.isoformat() for number, at in kept.items()}))

    def let_go(self, view: str, *versions: int) -> None:
        """Let versions be fed no longer."""
        left = {number: at for number, at in self.kept(view).items() if number not in versions}
        put(self._path(view, "kept"), json.dumps({number: at.isoformat() for number, at in left.items()}))

    def kept(self, view: str) -> dict[int, datetime]:
        """The versions that are kept, and until when."""
        kept = {int(number): datetime.fromisoformat(at) for number, at in _read(self._path(view, "kept")).items()}
        return {number: at for number, at in kept.items() if at > self.now()}

    def beside(self, view: str, served: int | None) -> set[int]:
        """The versions to be fed beside the one that a run works on, if it isn't among them."""
        return {*self.kept(view), *({served} if served is not None and self.is_held(view) else ())}

    # Meetings of versions

    @contextmanager
    def meet(self, view: str, commits: Mapping[str, int], longest: timedelta) -> Iterator[None]:
        """Meanwhile let the versions of a view that are run stand at these commits, for so long at most."""
        until = self.now() + longest
        put(self._path(view, "meeting"), json.dumps({"commits": dict(commits), "until": until.isoformat()}))
        try:
            yield
        finally:
            self._path(view, "meeting").unlink(missing_ok=True)

    def meeting(self, view: str) -> dict[str, int] | None:
        """The commits at which the versions of a view shall stand; None if they needn't."""
        record = _read(self._path(view, "meeting"))
        if not record or datetime.fromisoformat(record["until"]) <= self.now():
            return None
        return dict(record["commits"])

    # Promotions of a version

    @contextmanager
    def promoting(self, view: str) -> Iterator[None]:
        """Be the one who changes which version of a view is served."""

        def busy(holder: str) -> PromotionRefused:
            return PromotionRefused(
                f'another version of view "{view}" is being promoted',
                detail=f"By {holder or 'another process'}. Nothing was changed here.",
                hint=f"Wait until it is done: `headwater versions {view}` shows what is served.",
                view=view,
            )

        with locked(self._path(view, "promoting"), busy):
            yield

    def is_being_promoted(self, view: str) -> bool:
        """Tells whether someone is changing which version of a view is served."""
        try:
            with self.promoting(view):
                return False
        except PromotionRefused:
            return True

    def fence(self, store: Store, version: Version) -> None:
        """Take the next epoch of a version, so that its run stands still until the promotion is over.

        It is written down before: a run that finds itself fenced off must know by whom, whatever becomes of us.
        """
        target = version.target
        now = next((one.epoch for one in store.versions(target.view) if one.target.version == target.version), 0)
        self.fenced(target.view, target.version, now + 1)
        self.fenced(target.view, target.version, store.open(target, version.fingerprint))

    def fenced(self, view: str, version: int, epoch: int) -> None:
        """Write down which epoch of a version was taken so that it stands still while another one is promoted."""
        put(self._path(view, "fenced"), json.dumps({"version": version, "epoch": epoch}))

    def is_fenced(self, store: Store, view: str, version: int) -> bool:
        """Tells whether it was a promotion that took the newest epoch of a version: its run may go on behind it."""
        record = _read(self._path(view, "fenced"))
        newest = next((one.epoch for one in store.versions(view) if one.target.version == version), None)
        return record.get("version") == version and record.get("epoch") == newest

    def outlast(self, store: Store, view: str, version: int, halt: Halt) -> bool:
        """Wait until a promotion is over that has fenced a version off; False if that wasn't one, or at the end."""
        wait_for(lambda: not self.is_being_promoted(view), every=POLL, halt=halt)
        return not halt.is_wanted and self.is_fenced(store, view, version)

    def swapping(self, view: str, version: int | None) -> None:
        """Write down which version is to be served in every store of a view; None when it is."""
        path = self._path(view, "swapping")
        if version is None:
            path.unlink(missing_ok=True)
        else:
            put(path, json.dumps({"version": version}))

    def unfinished(self, view: str) -> int | None:
        """The version of a promotion that was cut off before every store served it."""
        return _read(self._path(view, "swapping")).get("version")

    def _path(self, view: str, name: str) -> Path:
        return self.home / "holds" / folder_of(view) / name


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return {}
