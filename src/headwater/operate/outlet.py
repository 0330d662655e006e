"""Running outlets: each in a thread of its own, beside the views and never in their way.

A run opens its target, which says how far it was sent to, and delivers what comes behind that. A failure where another
attempt can help is met with patience: the target is closed, and opened again after a while, and again says how far it
was sent to. A run that follows is patient without end, or for as long as its patience states. Any other failure stops
the outlet, and the others go on.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from headwater.errors import HeadwaterError, InternalError
from headwater.log import TopicLog, folder_of
from headwater.operate.halt import Halt, side_by_side
from headwater.operate.supervise import Patience
from headwater.outlets import Delivery, Feed, Place, Refused, Target
from headwater.outlets.dead import keep
from headwater.plan import PlannedOutlet

POLL = timedelta(milliseconds=100)
"""How often a run that follows looks for changes."""
State = Literal["empty", "sending", "waiting", "at rest", "stopped"]


@dataclass(frozen=True)
class Sent:
    """How far an outlet has come: its place, and how many changes it has sent, and could not send, since it was made.

    `seen` is where its view was when there was nothing left to send. `note` says what it waits for, `error` why it has
    stopped.
    """

    outlet: str
    view: str
    to: str
    state: State = "empty"
    place: Place | None = None
    seen: Place | None = None
    changes: int = 0
    dead: int = 0
    sent_at: datetime | None = None
    note: str | None = None
    error: HeadwaterError | None = None

    def as_dict(self) -> dict[str, Any]:
        """The same with stable field names."""
        places = {name: asdict(at) if at else None for name, at in (("place", self.place), ("seen", self.seen))}
        error = self.error.as_dict() if self.error else None
        return {name: getattr(self, name) for name in _NAMES} | places | {"error": error}


_NAMES = ("outlet", "view", "to", "state", "changes", "dead", "sent_at", "note")


class Notes:
    """What is known of outlets between runs, for whoever asks how they are: nothing ever goes on from it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, planned: PlannedOutlet) -> Sent:
        """What was written last, of an outlet that isn't at work in this process."""
        nothing = Sent(planned.name, planned.view.name, planned.outlet.to)
        try:
            found = json.loads(self._path(planned.name).read_text(encoding="utf-8"))
            return replace(nothing, **_known(found))
        except (OSError, ValueError, KeyError, TypeError):  # there is nothing yet, or nothing that we understand
            return nothing

    def write(self, sent: Sent) -> None:
        """Keep what is known now."""
        path = self._path(sent.outlet)
        path.parent.mkdir(parents=True, exist_ok=True)
        staged = path.with_suffix(".tmp")
        staged.write_text(json.dumps(sent.as_dict(), default=str), encoding="utf-8")
        staged.replace(path)

    def _path(self, outlet: str) -> Path:
        return self._folder / f"{folder_of(outlet)}.json"


def _known(found: Any) -> dict[str, Any]:
    places = {name: Place(**found[name]) if found[name] else None for name in ("place", "seen")}
    state: State = "stopped" if found["state"] == "stopped" else "at rest" if places["place"] else "empty"
    sent_at = datetime.fromisoformat(found["sent_at"]) if found["sent_at"] else None
    counts = {name: found[name] for name in ("changes", "dead", "note")}
    return places | counts | {"state": state, "sent_at": sent_at}


@dataclass
class OutletRun:
    """One outlet on its way to where its view is; it ends there, or follows."""

    planned: PlannedOutlet
    feed: Feed
    target: Callable[[], Target]
    dead: Callable[[], TopicLog]
    notes: Notes
    patience: Patience
    halt: Halt
    chance: Callable[[], float]
    now: Callable[[], datetime]
    report: Callable[[Sent], None]

    def __post_init__(self) -> None:
        known = self.notes.read(self.planned)
        self.sent = replace(known, state="sending", note=None, error=None)
        self._was_well_at = time.monotonic()

    def drain(self) -> Sent:
        """Send what there is, up to where the view is now."""
        return self._ended(lambda: self._patiently(self._deliver))

    def follow(self) -> Sent:
        """Send what comes until the halt is wanted, or the outlet fails for good."""
        return self._ended(self._follow)

    def _follow(self) -> None:
        while not self.halt.is_wanted:
            try:
                self._patiently(self._deliver_on)
            except HeadwaterError as failure:
                failed_for, most = timedelta(seconds=time.monotonic() - self._was_well_at), self.patience.give_up_after
                if not failure.transient or (most is not None and failed_for >= most):
                    raise
                self._rest(failure, self.patience.longest_backoff)

    def _ended(self, work: Callable[[], None]) -> Sent:
        try:
            self.report(self.sent)
            work()
            self.sent = replace(self.sent, state="at rest" if self.sent.place else "empty", note=None)
        except HeadwaterError as error:
            self._stop(error)
        except Exception as cause:
            self._stop(_mistake(self.planned.name, cause))
        self._tell(self.sent)
        return self.sent

    def _stop(self, error: HeadwaterError) -> None:
        self.sent = replace(self.sent, state="stopped", note=error.summary, error=error)

    def _patiently(self, step: Callable[[], None]) -> None:
        """Attempt a step until it succeeds, or fails for good, or patience is at its end."""
        failures = 0
        while True:
            before = self.sent.place
            try:
                return step()
            except HeadwaterError as failure:
                failures = 1 if self.sent.place != before else failures + 1
                if not failure.transient or failures >= self.patience.attempts or self.halt.is_wanted:
                    raise
                self._rest(failure, self.patience.wait(failures, self.chance()))
                if self.halt.is_wanted:
                    raise

    def _rest(self, failure: HeadwaterError, wait: timedelta) -> None:
        self._tell(
            replace(self.sent, state="waiting", note=f"attempt in {wait.total_seconds():.1f} s: {failure.summary}")
        )
        self.halt.wait(wait)

    def _deliver(self) -> None:
        with closing(self.target()) as target:
            self._deliver_what_is_there(target, target.open())

    def _deliver_on(self) -> None:
        with closing(self.target()) as target:
            place = target.open()
            while not self.halt.is_wanted:
                place = self._deliver_what_is_there(target, place)
                self.halt.wait(POLL)

    def _deliver_what_is_there(self, target: Target, place: Place | None) -> Place | None:
        if place != self.sent.place or self.sent.state != "sending":
            self._tell(replace(self.sent, state="sending", place=place, note=None))
        newest = self.feed.newest()
        for delivery in self.feed.after(place):
            buried = 0

            def bury(refused: Sequence[Refused]) -> None:
                nonlocal buried
                keep(self.dead(), self.planned.name, refused)
                buried += len(refused)

            target.deliver(delivery, bury)
            place, self._was_well_at = delivery.place, time.monotonic()
            self._count(delivery, buried)
            if self.halt.is_wanted:
                return place
        self._was_well_at = time.monotonic()
        if newest != self.sent.seen:
            self._tell(replace(self.sent, seen=newest))
        return place

    def _count(self, delivery: Delivery, buried: int) -> None:
        self._tell(
            replace(
                self.sent,
                place=delivery.place,
                changes=self.sent.changes + delivery.changes.num_rows - buried,
                dead=self.sent.dead + buried,
                sent_at=self.now(),
            )
        )

    def _tell(self, sent: Sent) -> None:
        self.sent = sent
        self.notes.write(sent)
        self.report(sent)


def drain_outlets(runs: Sequence[OutletRun]) -> list[Sent]:
    """Let each send what there is; one that fails tells so in what it returns."""
    return side_by_side([run.drain for run in runs], len(runs) or 1, Halt())


@contextmanager
def sending(runs: Sequence[OutletRun], failed: Callable[[HeadwaterError], object]) -> Iterator[Callable[[], bool]]:
    """Let each send whatever comes, meanwhile, in a thread of its own; `failed` is told of one that stops.

    What is given tells whether any still does. All of them have one halt, which ends them at the end of the block.
    """

    def send(run: OutletRun) -> None:
        done = run.follow()
        if done.error is not None:
            failed(done.error)

    threads = [threading.Thread(target=send, args=(run,), name="headwater-outlet", daemon=True) for run in runs]
    for thread in threads:
        thread.start()
    try:
        yield lambda: any(thread.is_alive() for thread in threads)
    finally:
        for run in runs:
            run.halt.now()
        for thread in threads:
            thread.join()


def _mistake(outlet: str, cause: Exception) -> InternalError:
    error = InternalError(
        f'outlet "{outlet}" stopped by a mistake of ours',
        detail=f"{type(cause).__name__}: {cause}. What was delivered stays.",
        hint="Please report it.",
        outlet=outlet,
    )
    error.__cause__ = cause
    return error
