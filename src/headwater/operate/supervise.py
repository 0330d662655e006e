"""Supervision: each view's failures are its own.

A *run* brings one view to the head of its topics, and ends there or follows them. A failure where another attempt can
help (a locked database, a lost task, a storage that didn't answer) is met with *patience*: the run goes on from its
checkpoint after a while, and every batch that was applied stays applied once. A run that follows begins anew after the
longest wait, without end unless one is stated. A checkpoint that Spark can't read is given up for a new version, once
in a run. Any other failure stops the view, and the others go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from headwater.errors import CheckpointDamaged, HeadwaterError, InternalError, ViewBusy, ViewFailed, ViewInterrupted
from headwater.log import TopicLog
from headwater.log.columns import KeptColumns
from headwater.log.watch import Watch
from headwater.operate.derive import Derived
from headwater.operate.halt import Halt
from headwater.operate.lock import LEASE, Held
from headwater.operate.versions import ASKED, GONE, Chosen, Versions
from headwater.operate.wish import Paused, Wishes
from headwater.plan import PlannedView
from headwater.store import Batch, Position, Store, Target
from headwater.store.sound import DROPPED, mark, unsound

if TYPE_CHECKING:
    from headwater.engine.live import Changes, LiveView

T = TypeVar("T")
KEPT = "Its rows are as they were after the last batch that succeeded."


@dataclass(frozen=True)
class Patience:
    """How often a step is attempted, and how long is waited before it is attempted again.

    The wait doubles from `backoff` up to `longest_backoff`. A batch that reads on starts the count afresh. A run that
    follows ends once nothing but failures came for `give_up_after`. One that gives no sign of life for its `lease`
    loses what it works on to another run.
    """

    attempts: int = 5
    backoff: timedelta = timedelta(milliseconds=500)
    longest_backoff: timedelta = timedelta(seconds=30)
    give_up_after: timedelta | None = None
    lease: timedelta = LEASE

    def wait(self, failures: int, chance: float) -> timedelta:
        """How long to wait after so many failures; `chance`, in [0, 1], spreads those who failed together.

        >>> [Patience().wait(failures, chance=1).total_seconds() for failures in (1, 2, 3, 20)]
        [0.5, 1.0, 2.0, 30.0]
        """
        doubled: timedelta = self.backoff * (1 << min(failures - 1, 30))
        return min(doubled, self.longest_backoff) * (0.5 + chance / 2)


@dataclass(frozen=True)
class CaughtUp:
    """What became of one view. `rebuilt` says why it was built from the start of the log; `error` why it stopped.

    One that is `paused` was left as it is. `left_to` is the run that works on a view and was asked to replay it.
    """

    view: str
    version: int
    position: Position | None = None
    rebuilt: str | None = None
    error: HeadwaterError | None = None
    paused: Paused | None = None
    left_to: str | None = None


@dataclass(frozen=True)
class Reading:
    """How far a run has come: the commits that it has read of each topic, their heads, and the rows it has written.

    `events` are the rows of the log that the last batch has read. It began at an instant; that it was written took
    `writing` of its time, and so many bytes are kept from one batch to the next. `note` says what the run waits for,
    if it does; `paused` that it rests because the operator wants it to.
    """

    view: str
    commits: Mapping[str, int]
    heads: Mapping[str, int]
    rows: int = 0
    watermark: datetime | None = None
    note: str | None = None
    version: int = 0
    events: int = 0
    paused: bool = False
    began_at: datetime | None = None
    writing: timedelta = timedelta()
    state_bytes: int = 0


@dataclass
class Run:
    """One view on its way to the head of its topics; with a `watch` it follows them from there.

    One that follows waits for another run that works on the view, unless it is not to.
    """

    planned: PlannedView
    store: Store
    versions: Versions
    wishes: Wishes
    logs: Mapping[str, TopicLog]
    spark: Any
    options: Mapping[str, str]
    patience: Patience
    halt: Halt
    report: Callable[[Reading], None]
    chance: Callable[[], float]
    derived: TopicLog | None = None
    watch: Watch | None = None
    waits: bool = True
    columns: KeptColumns = field(default_factory=KeptColumns)
    commits: int = 0
    rows: int = 0
    failing_since: float | None = None

    def keep_up(self) -> CaughtUp:
        """Follow the topics until the halt is wanted, the view fails for good, or patience is at its end."""
        while True:
            done = self.catch_up()
            if self.halt.is_wanted or done.error is None:
                return replace(done, error=None)
            if not done.error.transient or (isinstance(done.error, ViewBusy) and not self.waits):
                return done
            most = self.patience.give_up_after
            if most is not None and self._failing_for() >= most and not isinstance(done.error, ViewBusy):
                return done
            self._rest(done.error, self.patience.longest_backoff)

    def _failing_for(self) -> timedelta:
        """How long nothing was written since something failed."""
        now = time.monotonic()
        return timedelta(seconds=now - (now if self.failing_since is None else self.failing_since))

    def catch_up(self) -> CaughtUp:
        """Bring the view to the head, or say why not."""
        name, number = self.planned.name, 0
        try:
            with self.versions.locked() as held:
                if paused := self.wishes.paused("view", name):
                    return CaughtUp(name, 0, paused=paused)
                chosen = self._chosen()
                number = chosen.number
                with self.wishes.obeyed("view", name, self.halt):
                    chosen = self._follow(chosen, held)
                return self._patiently(lambda: self._served(chosen))
        except HeadwaterError as error:
            paused = self.wishes.paused("view", name) if self.halt.is_wanted else None
            return CaughtUp(name, number, error=None if paused else error, paused=paused)
        except OSError as cause:
            return CaughtUp(name, number, error=_refused(name, cause))
        except Exception as cause:
            return CaughtUp(name, number, error=mistake("view", name, cause, KEPT))

    def _chosen(self) -> Chosen:
        """The version to work on; a new one, if a replay was asked for."""
        name = self.planned.name
        if not self.wishes.is_replay_asked(name):
            return self._patiently(self.versions.choose)
        self.versions.forget()
        self.wishes.replay_is_begun(name)
        chosen = self._patiently(self.versions.choose)
        return replace(chosen, rebuilt=ASKED) if chosen.rebuilt == GONE else chosen

    def _served(self, chosen: Chosen) -> CaughtUp:
        name = self.planned.name
        if self.watch is None:  # one that follows is served as soon as it has caught up
            self._serve(chosen.number)
        return CaughtUp(name, chosen.number, self.store.position(name, chosen.number), chosen.rebuilt)

    def _serve(self, number: int) -> None:
        if self.store.promoted(self.planned.name) != number:
            self.store.promote(self.planned.name, number)

    def _follow(self, chosen: Chosen, held: Held) -> Chosen:
        """Run the version to the head; a damaged checkpoint is replaced, and only one that was there before."""
        try:
            self._work(chosen)
        except CheckpointDamaged as damage:
            if not chosen.resumes:
                raise
            reason = str(damage.fields["reason"])
            renewed = self._patiently(lambda: self.versions.renew(chosen, reason, held))
            self._work(renewed)
            return renewed
        return chosen

    def _work(self, chosen: Chosen) -> None:
        planned = self.planned
        view = planned.view
        target = Target(
            view.name, chosen.number, planned.columns, planned.identity, planned.emit, view.serving, view.comment
        )
        # taken once, not once per attempt: whoever takes the view over in between shall fence this run off
        epoch = self._patiently(lambda: self.store.open(target, self.planned.fingerprint))
        self.versions.begin(chosen.number)
        try:
            self._patiently(lambda: self._attempt(target, epoch))
        except ViewFailed as failure:
            raise self._named(failure, chosen) from failure

    def _patiently(self, step: Callable[[], T]) -> T:
        """Attempt a step until it succeeds, or fails for good, or patience is at its end."""
        failures = 0
        while True:
            before = self.commits
            try:
                return step()
            except HeadwaterError as failure:
                failures = 1 if self.commits > before else failures + 1
                if not failure.transient or failures >= self.patience.attempts or self.halt.is_wanted:
                    raise
                self._pause(failure, failures)
                if self.halt.is_wanted:
                    raise

    def _pause(self, failure: HeadwaterError, failures: int) -> None:
        wait = self.patience.wait(failures, self.chance())
        self._rest(failure, wait, f"{failures + 1} of {self.patience.attempts} ")

    def _rest(self, failure: HeadwaterError, wait: timedelta, which: str = "") -> None:
        self.failing_since = time.monotonic() if self.failing_since is None else self.failing_since
        reason = failure.fields.get("reason", failure.summary)
        note = f"attempt {which}in {wait.total_seconds():.1f} s: {reason}"
        self.report(Reading(self.planned.name, {}, {}, self.rows, note=note))
        self.halt.wait(wait)

    def _attempt(self, target: Target, epoch: int) -> None:
        from headwater.engine.live import LiveView

        heads, derived, number = self._heads(), self._derived(target), target.version
        position = self.store.position(target.view, number)
        is_served = self._serve_at(number, heads, dict(position.commits) if position else {})

        def deliver(changes: Changes) -> None:
            nonlocal is_served
            self._check_sound(target, epoch, changes)
            position = Position(changes.number, tuple(sorted(changes.commits.items())), changes.watermark)
            batch = Batch(changes.upserts, changes.deletes, position, changes.ledger)
            began = time.monotonic()
            self.store.apply(target, epoch, batch)
            writing = timedelta(seconds=time.monotonic() - began)
            self.failing_since = None
            if derived is not None:
                derived.publish(changes.settled)
            is_served = is_served or self._serve_at(number, heads, changes.commits)
            self.commits = max(self.commits, sum(changes.commits.values()))
            self.rows += batch.upserts.num_rows + batch.deletes.num_rows
            self._tell(changes, heads, number, writing)

        self.report(Reading(self.planned.name, {}, heads, self.rows, version=number))
        checkpoint = self.versions.checkpoint(number)
        if self.planned.is_settled:
            self._settle(target, checkpoint.folder, deliver, derived)
        else:
            view = LiveView(self.planned, target.key, self.logs, checkpoint, deliver, self.halt.watch)
            self._stream(view)
        if self.halt.is_wanted and self.watch is None:
            raise _stopped(self.planned.name)

    def _check_sound(self, target: Target, epoch: int, changes: Changes) -> None:
        """Refuse a batch of which rows were dropped, and mark its version first: nobody shall go on with it."""
        dropped = changes.ledger.get(DROPPED, 0)
        if dropped:
            mark(self.store, target, epoch, changes.number, dropped)
            raise unsound(target.view, target.version, dropped)

    def _serve_at(self, number: int, heads: Mapping[str, int], commits: Mapping[str, int]) -> bool:
        """Serve a version that follows once it has come to where the heads were when it began; tell whether it has."""
        if self.watch is None or any(commits.get(name, -1) < head for name, head in heads.items()):
            return False
        self._serve(number)
        return True

    def _tell(self, changes: Changes, heads: Mapping[str, int], number: int, writing: timedelta) -> None:
        if self.watch is not None:
            found = self.watch.heads(self.logs.values())
            heads = {name: found[log] for name, log in self.logs.items()}
        events, effort = changes.ledger.get("logged", 0), changes.effort
        reading = Reading(self.planned.name, changes.commits, heads, self.rows, changes.watermark)
        reading = replace(reading, version=number, events=events, began_at=effort.began_at, writing=writing)
        self.report(replace(reading, state_bytes=effort.state_bytes))

    def _stream(self, view: LiveView) -> None:
        if self.watch is None:
            view.catch_up(self.spark, self.options)
        else:
            view.follow(self.spark, self.options, self.watch)

    def _derived(self, target: Target) -> Derived | None:
        """The view's derived topic, if others read it."""
        if self.derived is None:
            return None
        found = Derived(self.planned, self.derived, self.store, target.version)
        found.begin()
        return found

    def _settle(
        self, target: Target, folder: Path, deliver: Callable[[Changes], None], derived: Derived | None
    ) -> None:
        from headwater.engine.settle import SettleView
        from headwater.engine.slice import Settled

        position = self.store.position(target.view, target.version)
        if derived is not None and position is not None:  # the process may have died before this was done
            derived.publish(position.watermark)
        begin = Settled(position.batch, dict(position.commits), position.watermark) if position else None
        view = SettleView(
            self.planned, target.key, self.logs, folder, deliver, lambda: self.halt.is_wanted, self.columns
        )
        if self.watch is None:
            view.catch_up(self.spark, self.options, begin)
        else:
            view.follow(self.spark, self.options, begin, self.watch)

    def _named(self, failure: ViewFailed, chosen: Chosen) -> ViewFailed:
        """The failure with what it failed on, where that can be found."""
        from headwater.engine.batch import BatchView
        from headwater.engine.culprit import named

        if self.halt.is_wanted:
            return failure
        after, upto = self._failed(chosen)
        return named(self.spark, BatchView(self.planned, self.logs, upto, after), failure)

    def _failed(self, chosen: Chosen) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """The commits after which, and up to which, the batch reads that has failed, and the one before it.

        What a batch closes was decided by the watermark that the one before it left behind.
        """
        before = dict.fromkeys(self.logs, 0)
        if self.planned.is_settled:
            position = self.store.position(self.planned.name, chosen.number)
            return dict(position.commits) if position else before, self._heads()
        checkpoint = self.versions.checkpoint(chosen.number)
        batch = checkpoint.last_begun()
        if batch is None:
            return before, before
        return before | checkpoint.commits(batch - 2), checkpoint.commits(batch)

    def _heads(self) -> dict[str, int]:
        return {name: max(log.head, 0) for name, log in self.logs.items()}


def _stopped(view: str) -> ViewInterrupted:
    return ViewInterrupted(
        f'view "{view}" was stopped before it had caught up',
        detail=KEPT,
        hint="Run `headwater catch-up` again: it goes on from there.",
        view=view,
    )


def _refused(view: str, cause: OSError) -> ViewInterrupted:
    error = ViewInterrupted(
        f'the state of view "{view}" could not be read or written',
        detail=f"{cause}. {KEPT}",
        hint="Check the permissions and the free space of the project's folder, then run `headwater catch-up` again.",
        view=view,
    )
    error.__cause__ = cause
    return error


def mistake(kind: str, name: str, cause: Exception, kept: str) -> InternalError:
    """The error of a view or an outlet that ran into something that nobody has foreseen; what it has is kept."""
    fields: dict[str, Any] = {kind: name}
    error = InternalError(
        f'{kind} "{name}" stopped by a mistake of ours',
        detail=f"{type(cause).__name__}: {cause}. {kept}",
        hint="Please report it.",
        **fields,
    )
    error.__cause__ = cause
    return error
