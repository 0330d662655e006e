"""Supervision: each view's failures are its own.

A *run* brings one view to the head of its topics, and ends there or follows them. A failure where another attempt can
help (a locked database, a lost task, a storage that didn't answer) is met with *patience*: the run goes on from its
checkpoint after a while, and every batch that was applied stays applied once. A run that follows begins anew after the
longest wait, without end unless one is stated. A checkpoint that Spark can't read is given up for a new version, once
in a run. Any other failure stops the view, and the others go on.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from headwater.engine.key import naming_taken
from headwater.engine.pulse import Pulses
from headwater.errors import (
    CheckpointDamaged,
    Fenced,
    HeadwaterError,
    ViewBusy,
    ViewFailed,
)
from headwater.log import TopicLog
from headwater.log.columns import KeptColumns
from headwater.log.watch import Watch
from headwater.operate.derive import Derived
from headwater.operate.halt import Halt
from headwater.operate.history import hold_where_gone
from headwater.operate.hold import Holds
from headwater.operate.lock import Held
from headwater.operate.mend import make_room
from headwater.operate.mistake import KEPT, mistake, refused, stopped
from headwater.operate.patience import Patience
from headwater.operate.speed import Speeds, Stopwatch
from headwater.operate.versions import ASKED, GONE, Chosen, Versions
from headwater.operate.wish import Paused, Wishes
from headwater.plan import PlannedView
from headwater.store import Batch, Position, Target, Version
from headwater.store.several import Gather
from headwater.store.sound import DROPPED, SoundStore, mark, unsound

if TYPE_CHECKING:
    from headwater.engine.live import Changes, LiveView
    from headwater.engine.settle import SettleView
    from headwater.engine.span import Settled

T = TypeVar("T")


@dataclass(frozen=True)
class CaughtUp:
    """The outcome of one view. `rebuilt` says why it was built from the start of the log; `error` why it stopped.

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
    """The progress of a run: the commits that it has read of each topic, their heads, and the rows it has written.

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


@dataclass(frozen=True)
class Work:
    """A view to be run, with what it reads, where it is kept and what computes it.

    `derived` is the log of its derived topic, if others read it.
    """

    planned: PlannedView
    store: SoundStore
    versions: Versions
    wishes: Wishes
    logs: Mapping[str, TopicLog]
    spark: Any
    derived: TopicLog | None = None
    columns: KeptColumns = field(default_factory=KeptColumns)
    speeds: Speeds | None = None
    holds: Holds | None = None
    built_by: Callable[[Version], PlannedView | None] = lambda _: None
    holds_changed: bool = False

    def is_held_now(self) -> bool:
        """Hold the view if what its served version has read is no longer all in the log, or its declaration has changed
        and the policy says so; tell whether it is held by that.
        """
        served = next((version for version in self.store.versions(self.planned.name) if version.promoted), None)
        if served is None or self.holds is None:
            return False
        if self.holds_changed and served.fingerprint != self.planned.fingerprint:
            self.holds.hold(self.planned.name)
            return True
        return hold_where_gone(self.built_by(served), served, self.store, self.logs, self.holds)

    def meeting(self) -> Mapping[TopicLog, int] | None:
        """The commits at which versions of the view are to stand, to be compared; None if they needn't."""
        commits = self.holds.meeting(self.planned.name) if self.holds is not None else None
        return None if commits is None else {log: commits[name] for name, log in self.logs.items() if name in commits}


@dataclass(frozen=True)
class RunOptions:
    """The options of a run of a view: it goes on until its `halt` is wanted, and tells `report` how far it has come.

    `options` go to the source. `chance` gives numbers in [0, 1). With a `watch` the run follows the topics from their
    heads, a settled one in `pulses` that it shares with others; such a one waits for another run that works on the
    view, unless it is not to.
    """

    halt: Halt
    report: Callable[[Reading], None]
    options: Mapping[str, str] = field(default_factory=dict)
    patience: Patience = field(default_factory=Patience)
    chance: Callable[[], float] = random.random
    watch: Watch | None = None
    pulses: Pulses | None = None
    waits: bool = True


@dataclass
class Run:
    """One view on its way to the head of its topics, and what it has done so far.

    With `beside` it feeds that version, which is never served by it.
    """

    work: Work
    how: RunOptions
    beside: int | None = None
    commits: int = 0
    rows: int = 0
    failing_since: float | None = None
    gather: Gather | None = None

    def keep_up(self) -> CaughtUp:
        """Follow the topics until the halt is wanted, the view fails for good, or patience is at its end."""
        while True:
            done = self.catch_up()
            if self.how.halt.is_wanted or done.error is None:
                return replace(done, error=None)
            if not done.error.transient or (isinstance(done.error, ViewBusy) and not self.how.waits):
                return done
            most = self.how.patience.give_up_after
            if most is not None and self._failing_for() >= most and not isinstance(done.error, ViewBusy):
                return done
            self._rest(done.error, self.how.patience.longest_backoff)

    def _failing_for(self) -> timedelta:
        """The time without a write since something failed."""
        now = time.monotonic()
        return timedelta(seconds=now - (now if self.failing_since is None else self.failing_since))

    def catch_up(self) -> CaughtUp:
        """Bring the view to the head, or say why not."""
        name, number = self.work.planned.name, 0
        try:
            with self.work.versions.locked(self.beside) as held:
                if paused := self.work.wishes.paused("view", name):
                    return CaughtUp(name, 0, paused=paused)
                chosen = self._chosen()
                number = chosen.number
                with self._alone_with(chosen):
                    chosen = self._follow(chosen, held)
                return self._patiently(lambda: self._served(chosen))
        except HeadwaterError as error:
            paused = self.work.wishes.paused("view", name) if self.how.halt.is_wanted else None
            return CaughtUp(name, number, error=None if paused else error, paused=paused)
        except OSError as cause:
            return CaughtUp(name, number, error=refused(name, cause))
        except Exception as cause:
            return CaughtUp(name, number, error=mistake("view", name, cause, KEPT))

    def _chosen(self) -> Chosen:
        """The version to work on; a new one, if a replay was asked for."""
        name = self.work.planned.name
        if (beside := self.beside) is not None:
            return self._patiently(lambda: self.work.versions.fed(beside))
        if not self.work.wishes.is_replay_asked(name):
            return self._patiently(self.work.versions.choose)
        self._patiently(lambda: make_room(self.work.store.parts, name))
        if self._is_held() or self._patiently(self.work.is_held_now):  # what there is goes on being fed
            chosen = self._patiently(self.work.versions.anew)
            self._patiently(
                lambda: self.work.store.open(_target_of(self.work.planned, chosen), self.work.planned.fingerprint)
            )
            self.work.wishes.replay_is_begun(name)
            return chosen
        self.work.versions.forget()
        self.work.wishes.replay_is_begun(name)
        chosen = self._patiently(self.work.versions.choose)
        return replace(chosen, rebuilt=ASKED) if chosen.rebuilt == GONE else chosen

    def _served(self, chosen: Chosen) -> CaughtUp:
        name = self.work.planned.name
        if self.how.watch is None:  # one that follows is served as soon as it has caught up
            self._serve(chosen.number)
        return CaughtUp(name, chosen.number, self.work.store.position(name, chosen.number), chosen.rebuilt)

    def _is_held(self) -> bool:
        """Tells whether what is served is to be served until another version is promoted."""
        name = self.work.planned.name
        held = self.work.holds is not None and self.work.holds.is_held(name)
        return held and self.work.store.promoted(name) is not None

    @contextmanager
    def _alone_with(self, chosen: Chosen) -> Iterator[None]:
        """Be the one run that works on a version, and obey what is wanted of its view."""
        if self.beside is not None:
            yield
            return
        with (
            self.work.versions.locked(chosen.number),
            self.work.wishes.obeyed("view", self.work.planned.name, self.how.halt),
        ):
            yield

    def _serve(self, number: int) -> None:
        if self.beside is not None or self._is_held():
            return
        if self.work.store.promoted(self.work.planned.name) != number and not self.work.is_held_now():
            self.work.store.promote(self.work.planned.name, number)

    def _follow(self, chosen: Chosen, held: Held) -> Chosen:
        """Run the version to the head; a damaged checkpoint is replaced, and only one that was there before."""
        try:
            self._work(chosen)
        except CheckpointDamaged as damage:
            if not chosen.resumes:
                raise
            reason = str(damage.fields["reason"])
            renewed = self._patiently(lambda: self.work.versions.renew(chosen, reason, held))
            self._work(renewed)
            return renewed
        return chosen

    def _work(self, chosen: Chosen) -> None:
        target, holds = _target_of(self.work.planned, chosen), self.work.holds
        while True:
            try:
                self._go_on(target, chosen)
                return
            except Fenced:
                if holds is None or not holds.outlast(self.work.store, target.view, target.version, self.how.halt):
                    raise

    def _go_on(self, target: Target, chosen: Chosen) -> None:
        # taken once, not once per attempt: whoever takes the view over in between shall fence this run off
        epoch = self._patiently(lambda: self.work.store.open(target, self.work.planned.fingerprint))
        self.work.versions.begin(chosen.number)
        try:
            self._patiently(lambda: self._attempt(target, epoch))
        except ViewFailed as failure:
            raise self._named(failure, chosen) from failure

    def _patiently(self, step: Callable[[], T]) -> T:
        """Attempt a step until it succeeds, or fails for good, or patience is at its end."""
        return self.how.patience.attempt(step, self.how.halt, lambda: self.commits, self._pause)

    def _pause(self, failure: HeadwaterError, failures: int) -> None:
        wait = self.how.patience.wait(failures, self.how.chance())
        self._rest(failure, wait, f"{failures + 1} of {self.how.patience.attempts} ")

    def _rest(self, failure: HeadwaterError, wait: timedelta, which: str = "") -> None:
        self.failing_since = time.monotonic() if self.failing_since is None else self.failing_since
        reason = failure.fields.get("reason", failure.summary)
        note = f"attempt {which}in {wait.total_seconds():.1f} s: {reason}"
        self.how.report(Reading(self.work.planned.name, {}, {}, self.rows, note=note))
        self.how.halt.wait(wait)

    def _attempt(self, target: Target, epoch: int) -> None:
        from headwater.engine.live import LiveView

        heads, derived, number = self._heads(), self._derived(target), target.version
        watch = Stopwatch(self.work.speeds, target.view, heads)
        position = self.work.store.position(target.view, number)
        is_served = self._serve_at(number, heads, dict(position.commits) if position else {})

        def deliver(changes: Changes) -> None:
            nonlocal is_served
            self._check_sound(target, epoch, changes)
            position = Position(changes.number, tuple(sorted(changes.commits.items())), changes.watermark)
            added = None if changes.new is None else changes.new.num_rows
            batch = Batch(changes.upserts, changes.deletes, position, changes.ledger, added)
            began = time.monotonic()
            with naming_taken(self.work.planned, changes.new, lambda: self.work.store.read(target.view, number)):
                self.work.store.apply(target, epoch, batch, self.gather)
            writing = timedelta(seconds=time.monotonic() - began)
            self.failing_since = None
            if derived is not None:
                derived.publish(changes.settled)
            is_served = is_served or self._serve_at(number, heads, changes.commits)
            self.commits = max(self.commits, sum(changes.commits.values()))
            self.rows += batch.upserts.num_rows + batch.deletes.num_rows
            watch.take(changes.commits, changes.ledger.get("logged", 0))
            self._tell(changes, heads, number, writing)

        self.how.report(Reading(self.work.planned.name, {}, heads, self.rows, version=number))
        checkpoint = self.work.versions.checkpoint(number)
        if self.work.planned.is_settled:
            self._settle(target, checkpoint.folder, deliver, derived)
        else:
            view = LiveView(self.work.planned, target.key, self.work.logs, checkpoint, deliver, self.how.halt.watch)
            self._stream(view)
        if self.how.halt.is_wanted and self.how.watch is None:
            raise stopped(self.work.planned.name)

    def _check_sound(self, target: Target, epoch: int, changes: Changes) -> None:
        """Refuse a batch of which rows were dropped, and mark its version first: nobody shall go on with it."""
        dropped = changes.ledger.get(DROPPED, 0)
        if dropped:
            mark(self.work.store, target, epoch, changes.number, dropped)
            raise unsound(target.view, target.version, dropped)

    def _serve_at(self, number: int, heads: Mapping[str, int], commits: Mapping[str, int]) -> bool:
        """Serve a version that follows once it has come to where the heads were when it began; tell whether it has."""
        if self.how.watch is None or any(commits.get(name, -1) < head for name, head in heads.items()):
            return False
        self._serve(number)
        return True

    def _tell(self, changes: Changes, heads: Mapping[str, int], number: int, writing: timedelta) -> None:
        if self.how.watch is not None:
            by_log = self.how.watch.heads(self.work.logs.values())
            heads = {name: by_log[log] for name, log in self.work.logs.items()}
        events, effort = changes.ledger.get("logged", 0), changes.effort
        reading = Reading(self.work.planned.name, changes.commits, heads, self.rows, changes.watermark)
        reading = replace(reading, version=number, events=events, began_at=effort.began_at, writing=writing)
        self.how.report(replace(reading, state_bytes=effort.state_bytes))

    def _stream(self, view: LiveView) -> None:
        if self.how.watch is None:
            view.catch_up(self.work.spark, self.how.options)
        else:
            view.follow(self.work.spark, self.how.options, self.how.watch, self.work.meeting)

    def _derived(self, target: Target) -> Derived | None:
        """The view's derived topic, if others read it."""
        if self.work.derived is None:
            return None
        derived = Derived(self.work.planned, self.work.derived, self.work.store, target.version)
        derived.begin()
        return derived

    def _settle(
        self, target: Target, folder: Path, deliver: Callable[[Changes], None], derived: Derived | None
    ) -> None:
        from headwater.engine.executor import executor_of
        from headwater.engine.span import Settled

        position = self.work.store.position(target.view, target.version)
        if derived is not None and position is not None:  # the process may have died before this was done
            derived.publish(position.watermark)
        begin = Settled(position.batch, dict(position.commits), position.watermark) if position else None
        view = executor_of(self.work.planned)(
            self.work.planned,
            target.key,
            self.work.logs,
            folder,
            deliver,
            lambda: self.how.halt.is_wanted,
            self.work.columns,
        )
        if self.how.pulses is None:
            view.catch_up(self.work.spark, self.how.options, begin)
        else:
            self._in_pulse(view, begin)

    def _in_pulse(self, view: SettleView, begin: Settled | None) -> None:
        """Follow in step with the other views that read the same logs."""
        assert self.how.pulses is not None
        pulse = self.how.pulses.of(self.work.logs.values())
        with pulse.member(self.work.logs, lambda: self.how.halt.is_wanted, self.work.meeting) as member:
            self.how.halt.watch(member)
            self.gather = member.bring
            try:
                view.follow(self.work.spark, self.how.options, begin, member)
            finally:
                self.gather = None

    def _named(self, failure: ViewFailed, chosen: Chosen) -> ViewFailed:
        """The failure with what it failed on, where that can be found."""
        from headwater.engine.batch import BatchView
        from headwater.engine.culprit import named

        if self.how.halt.is_wanted:
            return failure
        after, upto = self._failed(chosen)
        return named(self.work.spark, BatchView(self.work.planned, self.work.logs, upto, after), failure)

    def _failed(self, chosen: Chosen) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """The commits after which, and up to which, the batch reads that has failed, and the one before it.

        What a batch closes was decided by the watermark that the one before it left behind.
        """
        before = dict.fromkeys(self.work.logs, 0)
        if self.work.planned.is_settled:
            position = self.work.store.position(self.work.planned.name, chosen.number)
            return dict(position.commits) if position else before, self._heads()
        checkpoint = self.work.versions.checkpoint(chosen.number)
        batch = checkpoint.last_begun()
        if batch is None:
            return before, before
        return before | checkpoint.commits(batch - 2), checkpoint.commits(batch)

    def _heads(self) -> dict[str, int]:
        return {name: max(log.head, 0) for name, log in self.work.logs.items()}


def _target_of(planned: PlannedView, chosen: Chosen) -> Target:
    """The version that is chosen, as a store sees it."""
    view = planned.view
    return Target(view.name, chosen.number, planned.columns, planned.identity, planned.emit, view.serving, view.comment)
