"""Versions of a view: which one a run goes on with, and when it has to begin from the start of the log.

A version belongs to one plan: a declaration that changes what rows mean has another fingerprint. Its rows and position
are in a store, its state is in a checkpoint of Spark's. A version that can't be gone on from is left as it is, and the
next one is built beside it; whichever is served goes on being served until the new one has caught up.

One run at a time works on a view. A lock of the operating system says which, and is gone when its process is.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headwater.engine.checkpoint import Checkpoint
from headwater.errors import UnknownView, ViewBusy, ViewInterrupted
from headwater.log import TopicLog, folder_of
from headwater.operate.lock import locked
from headwater.plan import PlannedView
from headwater.store import Position, Store, Version

CHANGED = "its declaration has changed"
GONE = "its checkpoint is gone"
BEHIND = "its store is behind its checkpoint"
AHEAD = "its store is ahead of its checkpoint"
REPLACED = "the derived topic of {} was made anew"
DAMAGED = "its checkpoint can't be read"
ASKED = "a replay was asked for"


@dataclass(frozen=True)
class Chosen:
    """The version that a run works on: it `resumes` or begins; `rebuilt` says why it begins though there were rows."""

    number: int
    resumes: bool
    rebuilt: str | None = None


@dataclass(frozen=True)
class Versions:
    """The versions of one view in its store, with their checkpoints below `state`. It reads `logs`."""

    planned: PlannedView
    store: Store
    state: Path
    logs: Mapping[str, TopicLog]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the one run that works on the view; `ViewBusy` at once if another does.

        On a disk that has no locks several can: the store's epochs fence off all but the newest.
        """
        with locked(self._folder / "lock", self._busy):
            yield

    def _busy(self, holder: str) -> ViewBusy:
        return ViewBusy(
            f'view "{self.planned.name}" is being brought up to date by another run',
            detail=f"It is {holder or 'another process'}. Nothing was done here.",
            hint="Let it finish, or stop it, then run `headwater catch-up` again.",
            view=self.planned.name,
            holder=holder,
        )

    def choose(self) -> Chosen:
        """The version to work on: the newest of this plan that can be gone on from, or else a new one."""
        versions = self.store.versions(self.planned.name)
        if not versions:
            return self._begin(1, None)
        mine = [version for version in reversed(versions) if version.fingerprint == self.planned.fingerprint]
        reasons = []
        for version in mine:
            if version.position is None:
                return self._begin(version.target.version, None)
            reason = self._obstacle(version, version.position)
            if reason is None:
                return Chosen(version.target.version, resumes=True)
            reasons.append(reason)
        return self._begin(versions[-1].target.version + 1, reasons[0] if reasons else CHANGED)

    def renew(self, damaged: Chosen, reason: str) -> Chosen:
        """A new version in place of one whose checkpoint turned out to be damaged, which goes if nobody is served."""
        newest = self.store.versions(self.planned.name)[-1].target.version
        if self.store.promoted(self.planned.name) != damaged.number:
            self.store.drop(self.planned.name, damaged.number)
        return self._begin(newest + 1, f"{DAMAGED}: {reason}")

    def forget(self) -> None:
        """Throw away what is kept beside the rows: the next choice is a new version, from the start of the log.

        For the one run that works on the view.
        """
        for kept in self._folder.glob("v*"):
            shutil.rmtree(kept)

    def checkpoint(self, number: int) -> Checkpoint:
        """The checkpoint of a version."""
        return Checkpoint.of(self.planned, self._folder / f"v{number}")

    def promoted(self) -> Version:
        """The version that is served."""
        for version in self.store.versions(self.planned.name):
            if version.promoted:
                return version
        raise UnknownView(
            f'view "{self.planned.name}" has no rows yet',
            hint="Run `headwater catch-up` first.",
            view=self.planned.name,
        )

    def _begin(self, number: int, rebuilt: str | None) -> Chosen:
        """A version with no checkpoint left over from rows that are no longer there."""
        self.checkpoint(number).renew()
        return Chosen(number, resumes=False, rebuilt=rebuilt)

    def _obstacle(self, version: Version, position: Position) -> str | None:
        """Why a version can't be gone on from. The store is written first: it may be ahead by one batch.

        A view that is settled has no other state than its position in the store, and what it can compute again.
        """
        checkpoint = self.checkpoint(version.target.version)
        if replaced := self._replaced(checkpoint):
            if self.logs[replaced].watermark < position.watermark:
                raise self._unpublished(replaced)
            return REPLACED.format(replaced)
        if self.planned.is_settled:
            return None if checkpoint.folder.is_dir() else GONE
        begun, finished = checkpoint.last_begun(), checkpoint.last_finished()
        if begun is None:
            return GONE
        if damage := checkpoint.damage():
            return f"{DAMAGED}: {damage}"
        if finished is not None and finished > position.batch:
            return BEHIND
        if begun < position.batch or checkpoint.commits(position.batch) != dict(position.commits):
            return AHEAD
        return None

    def _replaced(self, checkpoint: Checkpoint) -> str | None:
        """A view whose derived topic isn't the one that was read: its commits may have other numbers."""
        known, derived = checkpoint.inputs(), {scan.relation for scan in self.planned.scans if scan.kind == "view"}
        return next((name for name in sorted(derived & set(known)) if self.logs[name].identity != known[name]), None)

    def _unpublished(self, view: str) -> ViewInterrupted:
        return ViewInterrupted(
            f'view "{self.planned.name}" waits for view "{view}"',
            detail=f"The derived topic of {view} was made anew, and is behind what was read of the one before. "
            "The rows are as they were.",
            hint=f"Bring view {view} up to date, then run `headwater catch-up` again.",
            view=self.planned.name,
        )

    def begin(self, number: int) -> None:
        """Note which logs a version reads, as far as they are there."""
        checkpoint = self.checkpoint(number)
        found = {name: identity for name, log in self.logs.items() if (identity := log.identity)}
        checkpoint.remember({**found, **checkpoint.inputs()})

    @property
    def _folder(self) -> Path:
        return self.state / folder_of(self.planned.name)
