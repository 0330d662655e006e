"""Versions of a view: which one a run goes on with, and when it has to begin from the start of the log.

A version belongs to one plan: a declaration that changes what rows mean has another fingerprint. Its rows and position
are in a store, its state is in a checkpoint of Spark's. A version that can't be gone on from is left as it is, and the
next one is built beside it; whichever is served goes on being served until the new one has caught up.

One run at a time works on a view. A lock of the operating system says which, and is gone when its process is. One that
gives no sign of life for its lease loses the view to the next: the state that it may still write to is moved from under
it, and the store's epoch fences off what it would write to the rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from headwater.engine.checkpoint import Checkpoint
from headwater.errors import Fenced, UnknownView, ViewBusy, ViewInterrupted
from headwater.log import TopicLog, folder_of
from headwater.model import spell_duration
from headwater.operate.lock import LEASE, Held, locked
from headwater.plan import PlannedView
from headwater.store import Position, Store, Version
from headwater.store.sound import check_sound

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
    lease: timedelta = LEASE
    beside: Callable[[int | None], Collection[int]] = lambda _: ()

    @contextmanager
    def locked(self, version: int | None = None) -> Iterator[Held]:
        """Be the one run that works on the view, or on a version of it; `ViewBusy` at once if another does.

        Whatever goes wrong after another run has taken the view over is `Fenced`.

        On a disk that has no locks several can: the store's epochs fence off all but the newest.
        """
        name = "lock" if version is None else f"lock.v{version}"
        with locked(self._folder / name, self._busy, self.lease) as held:
            if held.inherited:
                self._move_state(version)
            try:
                yield held
            except Exception as cause:
                if (heir := held.heir()) and not isinstance(cause, Fenced):
                    raise self._taken_over(heir) from cause
                raise

    def _move_state(self, number: int | None) -> None:
        """Give the state of a version another name, so that a former holder that wakes up doesn't write to it.

        Of every version, but for those that are fed beside: they have locks of their own.
        """
        left = {f"v{one}" for one in self.beside(self.store.promoted(self.planned.name))} if number is None else set()
        names = {state.stem for state in self._folder.glob("v*")} - left
        for version in names if number is None else names & {f"v{number}"}:
            newest = self._newest_state(version)
            newest.rename(self._folder / f"{version}.{_heirs(newest) + 1}")

    def _newest_state(self, version: str) -> Path:
        """The state of a version as the last heir has named it."""
        named = [self._folder / version, *self._folder.glob(f"{version}.*")]
        return max(named, key=_heirs)

    def _busy(self, holder: str) -> ViewBusy:
        return ViewBusy(
            f'view "{self.planned.name}" is being brought up to date by another run',
            detail=f"It is {holder or 'another process'}. Nothing was done here.",
            hint="Let it finish, or stop it, then run `headwater catch-up` again.",
            view=self.planned.name,
            holder=holder,
        )

    def _taken_over(self, heir: str) -> Fenced:
        return Fenced(
            f'view "{self.planned.name}" was taken over by another run',
            detail=f"It is {heir}: this run gave no sign of life for {spell_duration(self.lease)}. It has written "
            "nothing since.",
            hint="Let the other run go on, or stop it and start this one again.",
            view=self.planned.name,
            holder=heir,
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

    def anew(self) -> Chosen:
        """A new version, built because that was asked for, beside what there is."""
        versions = self.store.versions(self.planned.name)
        return self._begin(versions[-1].target.version + 1 if versions else 1, ASKED)

    def fed(self, number: int) -> Chosen:
        """A version that is fed beside another one; `ViewInterrupted` if it can't be gone on from."""
        obstacle: str | None = "it isn't there"
        for version in self.store.versions(self.planned.name):
            if version.target.version == number and version.position is not None:
                obstacle = self._obstacle(version, version.position)
        if obstacle is None:
            return Chosen(number, resumes=True)
        raise ViewInterrupted(
            f'view "{self.planned.name}" version {number} can\'t be gone on with: {obstacle}',
            detail="Its rows are as they were.",
            hint=f"`headwater replay {self.planned.name}` builds a new one.",
            view=self.planned.name,
        )

    def resumed(self) -> Version | None:
        """The version that `choose` would go on with, if it would go on with one; nothing is changed."""
        for version in reversed(self.store.versions(self.planned.name)):
            if version.fingerprint == self.planned.fingerprint:
                if version.position is None:
                    return None
                if self._obstacle(version, version.position) is None:
                    return version
        return None

    def renew(self, damaged: Chosen, reason: str, held: Held) -> Chosen:
        """A new version in place of one whose checkpoint turned out to be damaged, which goes if nobody is served.

        A checkpoint that another run has taken over is none of this one's.
        """
        if heir := held.heir():
            raise self._taken_over(heir)
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
        return Checkpoint.of(self.planned, self._newest_state(f"v{number}"))

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

        `RowsDropped` if it is unsound: another one of the same plan may become so again, and is built when asked for.
        A view that is settled has no other state than its position in the store, and what it can compute again.
        """
        checkpoint = self.checkpoint(version.target.version)
        if checkpoint.last_begun() is not None:  # a replay has thrown it away
            check_sound(self.store, self.planned.name, version.target.version)
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
        """Note the logs that a version reads, as far as they are there."""
        checkpoint = self.checkpoint(number)
        identities = {name: identity for name, log in self.logs.items() if (identity := log.identity)}
        checkpoint.remember({**identities, **checkpoint.inputs()})

    @property
    def _folder(self) -> Path:
        return self.state / folder_of(self.planned.name)


def _heirs(state: Path) -> int:
    """The number of times that a version's state was taken over from a silent run, which stands in its name: `v3.1`."""
    return int(state.suffix.removeprefix(".") or 0)
