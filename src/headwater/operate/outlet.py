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
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Self

from headwater.errors import HeadwaterError, OutletBusy
from headwater.log import TopicLog, folder_of
from headwater.operate.halt import Halt, side_by_side
from headwater.operate.lock import locked
from headwater.operate.mistake import mistake
from headwater.operate.patience import Patience
from headwater.operate.record import tell
from headwater.outlets import Delivery, Feed, Place, Refused, Target
from headwater.outlets.dead import keep
from headwater.plan import PlannedOutlet

POLL = timedelta(milliseconds=100)
"""A run that follows looks for changes so often."""
State = Literal["empty", "sending", "waiting", "at rest", "stopped"]


@dataclass(frozen=True)
class Sent:
    """The progress of an outlet: its place, and how many changes it has sent, and could not send, since it was made.

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
    """Notes about outlets between runs, for whoever asks how they are: nothing ever goes on from them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, planned: PlannedOutlet) -> Sent:
        """The note that was written last, of an outlet that isn't at work in this process."""
        nothing = Sent(planned.name, planned.view.name, planned.outlet.to)
        try:
            record = json.loads(self._path(planned.name).read_text(encoding="utf-8"))
            return replace(nothing, **_known(record))
        except (OSError, ValueError, KeyError, TypeError):  # there is nothing yet, or nothing that we understand
            return nothing

    def write(self, sent: Sent) -> None:
        """Keep what is known now."""
        tell(f"how far outlet {sent.outlet} is", self._path(sent.outlet), sent.as_dict())

    def lock(self, outlet: str) -> Path:
        """The file whose lock says that a run sends for an outlet."""
        return self._folder / f"{folder_of(outlet)}.lock"

    def _path(self, outlet: str) -> Path:
        return self._folder / f"{folder_of(outlet)}.json"


def _known(record: Any) -> dict[str, Any]:
    places = {name: Place(**record[name]) if record[name] else None for name in ("place", "seen")}
    state: State = "stopped" if record["state"] == "stopped" else "at rest" if places["place"] else "empty"
    sent_at = datetime.fromisoformat(record["sent_at"]) if record["sent_at"] else None
    counts = {name: record[name] for name in ("changes", "dead", "note")}
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
        self._has_held = False

    def drain(self) -> Sent:
        """Send what there is, up to where the view is now; `OutletBusy` if another run does."""
        return self._ended(lambda: self._alone(lambda: self._patiently(self._deliver)))

    def follow(self) -> Sent:
        """Send what comes until the halt is wanted, or the outlet fails for good."""
        return self._ended(self._follow)

    def _follow(self) -> None:
        while not self.halt.is_wanted:
            try:
                self._alone(lambda: self._patiently(self._deliver_on))
            except OutletBusy as busy:
                self._was_well_at = time.monotonic()
                self._rest(busy, self.patience.longest_backoff)
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
            self._stop(mistake("outlet", self.planned.name, cause, "What was delivered stays."))
        self._tell(self.sent)
        return self.sent

    def _alone(self, work: Callable[[], None]) -> None:
        """Work while no other run of this machine does, which opening the target would fence off."""
        with locked(self.notes.lock(self.planned.name), self._busy, self.patience.lease):
            self._has_held = True
            work()

    def _busy(self, holder: str) -> OutletBusy:
        return OutletBusy(
            f'outlet "{self.planned.name}" is being sent by another run',
            detail=f"It is {holder or 'another process'}. Nothing was sent here.",
            hint="Let it send, or stop it first.",
            outlet=self.planned.name,
            holder=holder,
        )

    def _stop(self, error: HeadwaterError) -> None:
        self.sent = replace(self.sent, state="stopped", note=error.summary, error=error)

    def _patiently(self, step: Callable[[], None]) -> None:
        """Attempt a step until it succeeds, or fails for good, or patience is at its end."""

        def rest(failure: HeadwaterError, failures: int) -> None:
            self._rest(failure, self.patience.wait(failures, self.chance()))

        self.patience.attempt(step, self.halt, lambda: self.sent.place, rest)

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
        if self._has_held:  # or the notes are those of another run
            self.notes.write(sent)
        self.report(sent)


def drain_outlets(runs: Sequence[OutletRun]) -> list[Sent]:
    """Let each send what there is; one that fails tells so in what it returns."""
    return side_by_side([run.drain for run in runs], len(runs) or 1, Halt())


class Sending:
    """Outlets that send whatever comes, each in a thread of its own, within a `with` block.

    `run_of` makes the run of an outlet as it is declared by then; `failed` is told of one that stops.
    """

    def __init__(self, run_of: Callable[[str], OutletRun], failed: Callable[[HeadwaterError], object]) -> None:
        self._run_of = run_of
        self._failed = failed
        self._guard = threading.RLock()
        self._is_over = False
        self._sent_by: dict[str, tuple[OutletRun, threading.Thread]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        with self._guard:
            self._is_over = True
            runs = list(self._sent_by.values())
        for run, _ in runs:
            run.halt.now()
        for _, thread in runs:
            thread.join()

    @property
    def is_going_on(self) -> bool:
        """Tells whether any still sends."""
        with self._guard:
            return any(thread.is_alive() for _, thread in self._sent_by.values())

    def begin(self, names: Iterable[str]) -> None:
        """Let these send too."""
        with self._guard:
            for name in names if not self._is_over else ():
                run = self._run_of(name)
                thread = threading.Thread(target=self._send, args=(run,), name="headwater-outlet", daemon=True)
                self._sent_by[name] = run, thread
                thread.start()

    def renew(self, ended: Iterable[str], begun: Iterable[str]) -> None:
        """Let some end what they send and then others begin, meanwhile: what is under way may take its time."""
        with self._guard:
            gone = [self._sent_by[name] for name in ended if name in self._sent_by]

        def change() -> None:
            for run, _ in gone:
                run.halt.now()
            for _, thread in gone:
                thread.join()
            self.begin(begun)

        threading.Thread(target=change, name="headwater-outlets", daemon=True).start()

    def _send(self, run: OutletRun) -> None:
        done = run.follow()
        if done.error is not None:
            self._failed(done.error)
