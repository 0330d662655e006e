"""The pulse of views that read the same topics: one wake-up, one choice of how far the next step goes, one write.

In a *beat* each of its *members* takes a step up to the same cut. A beat begins when there is something new and all
who stepped in the one before are back; so members stand at the same commits between two beats. What they write they
bring together: the last one writes it for all, in one transaction of a store that can.

Nobody is held up by one that is slow. A beat that hears nothing of its last members for a while goes on without them:
they are *apart*, write for themselves and catch up with the beat that is the newest by then, until a step of theirs
takes no longer than those of others. So is one that begins, for the steps in which plans are made. One that fails has
left. One that stands at a meeting (`next_batch`) lets beats go by, and catches up with them when it is over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from statistics import median_low
from typing import Any

from headwater.engine.next_batch import MEETING, Meets, bounded, no_meeting
from headwater.log import TopicLog
from headwater.log.cut import newest_cut, shared
from headwater.log.watch import Watch

LOOK = timedelta(milliseconds=300)
"""The wait of a pulse for a commit, before it looks whether its members shall end."""
SLOW, TIMES = 0.25, 3
"""Seconds for which a beat that hears nothing of its last members waits for them; a step that takes no longer than
that, or so many times what those of others take, is not slow."""
TURN, APART = 2.0, 10.0
"""Seconds in which nobody has left a core, after which a member goes on without one, and one that is apart."""
FIRST = 2
"""The steps of a member in which plans are made: of a whole log, and of a small step."""
REST = 1 / 4
"""The rest after a beat, in times of what it took: so long others have the cores."""
Write = Callable[[Sequence[Any]], Sequence["Future[Any]"]]
"""Writes what was brought; tells of each what became of it."""


class Cores:
    """So many cores for those who compute, and when one was last left."""

    def __init__(self, count: int) -> None:
        self._free = threading.Semaphore(count)
        self.left_at = time.monotonic()

    def take(self, longest: float) -> bool:
        """Wait for a core for so many seconds at most, and tell whether there is one."""
        return self._free.acquire(timeout=longest)

    def leave(self) -> None:
        """Leave a core to others."""
        self.left_at = time.monotonic()
        self._free.release()


@dataclass(eq=False)
class Member:
    """A view in a pulse: whether it is apart, since when it computes a step, and how long it took for the last one."""

    pulse: Pulse
    names: Mapping[str, TopicLog]
    halted: Callable[[], bool]
    meets: Meets = no_meeting
    meeting: Mapping[TopicLog, int] | None = None
    is_apart: bool = True
    is_waiting: bool = False
    is_stepping: bool = False
    turns: int = 0
    commits: Mapping[str, int] | None = None
    began: float | None = None
    took: float | None = None
    core: Cores | None = None

    def turn(self, commits: Mapping[str, int] | None) -> Mapping[str, int] | None:
        """Wait for the next step of a view that has read these commits, and tell up to where; None if it shall end."""
        return self.pulse.turn(self, commits)

    def bring(self, place: Hashable, own: Any, write: Write) -> Any:
        """Have something written with what others of this beat bring to the same place, and give its result."""
        return self.pulse.bring(self, _Brought(place, own, write))

    def stop(self) -> None:
        """Look whether it shall end, as `halted` says."""
        self.pulse.look()

    def look_for_meeting(self) -> None:
        """See whether it is to stand at some commits; not if it has read more than these."""
        meeting, commits = self.meets(), self.commits
        is_missed = commits is None or any(
            commits[name] > (meeting or {}).get(log, commits[name]) for name, log in self.names.items()
        )
        self.meeting = None if is_missed else meeting

    def is_behind(self, upto: Mapping[TopicLog, int]) -> bool:
        """Tells whether it has something to do up to these commits; who begins has to look."""
        commits = self.commits
        if self.took is None or commits is None:
            return True
        most = bounded(upto, self.meeting or {})
        return any(most[log] > commits[name] for name, log in self.names.items())

    def upto(self, upto: Mapping[TopicLog, int]) -> dict[str, int]:
        """The commits that a step goes up to, by their names."""
        most = bounded(upto, self.meeting or {})
        return {name: max(most[log], (self.commits or {}).get(name, 0)) for name, log in self.names.items()}

    def leave_core(self) -> None:
        """Leave the core to others."""
        if self.core is not None:
            self.core.leave()
            self.core = None

    def compute_ends(self) -> None:
        """Leave the core, and note how long the step took that was computed."""
        self.leave_core()
        if self.began is not None:
            self.took, self.began = time.monotonic() - self.began, None


@dataclass(eq=False)
class _Brought:
    """Something that is to be written in a place, and what became of it."""

    place: Hashable
    own: Any
    write: Write
    told: Future[Any] = field(default_factory=Future)


@dataclass(eq=False)
class _Beat:
    """A beat: up to where it goes, who has not come back, who has not brought anything, and what was brought."""

    upto: Mapping[TopicLog, int]
    away: set[Member] = field(default_factory=set)
    silent: set[Member] = field(default_factory=set)
    brought: list[_Brought] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    heard_at: float = field(default_factory=time.monotonic)
    is_written: bool = False

    def hear(self, member: Member) -> None:
        """Hear of a member that it has computed its step, or will not."""
        self.heard_at = time.monotonic()
        self.silent.discard(member)

    def leave_slow(self) -> float:
        """Go on without those of whom nothing was heard for long; the seconds until others may be slow."""
        rest = self.heard_at + SLOW - time.monotonic()
        if rest > 0 or self.is_written:
            return max(rest, SLOW)
        for member in [member for member in self.silent or self.away if member.is_stepping]:
            member.is_apart = True
            member.leave_core()
            self.silent.discard(member)
            self.away.discard(member)
        self.heard_at = time.monotonic()
        return SLOW


class Pulse:
    """The pulse of the views that read the same logs, of which so many compute at a time as there are `cores`.

    Of those that are apart `others` says how many.
    """

    def __init__(self, logs: Iterable[TopicLog], watch: Watch, cores: Cores, others: Cores) -> None:
        self._logs = tuple(logs)
        self._watch = watch
        self._cores, self._others = cores, others
        self._changed = threading.Condition()
        self._members: set[Member] = set()
        self._beat = _Beat(dict.fromkeys(self._logs, -1))
        self._seen = self._beat.upto
        self._rests_until = 0.0
        self._looked_at = 0.0
        self._is_watched = False

    @contextmanager
    def member(
        self, names: Mapping[str, TopicLog], halted: Callable[[], bool], meets: Meets = no_meeting
    ) -> Iterator[Member]:
        """Be a member, with these names for the logs, until `halted`; whoever fails has left."""
        member = Member(self, names, halted, meets)
        with self._changed:
            self._members.add(member)
        try:
            yield member
        finally:
            with self._changed:
                self._come_back(member)
                self._members.discard(member)

    def look(self) -> None:
        """Let those who wait look whether they shall end."""
        with self._changed:
            self._changed.notify_all()

    # Turns

    def turn(self, member: Member, commits: Mapping[str, int] | None) -> Mapping[str, int] | None:
        """Wait for the next step of a member."""
        with self._changed:
            self._come_back(member)
            member.is_apart = member.is_apart and self._is_slow(member)
            member.is_waiting, member.commits = True, commits
            while not member.halted() and not self._may_step(member):
                self._wait()
            member.is_waiting = False
            self._changed.notify_all()  # the one who waits for all may be this one
            member.look_for_meeting()
            upto = member.upto(self._beat.upto)
        if member.halted():
            return None
        self._take_core(member)
        member.began, member.is_stepping = time.monotonic(), True
        member.turns += 1
        return upto

    def _take_core(self, member: Member) -> None:
        """Wait for a core, and let nobody who is slow keep one."""
        cores, patience = (self._others, APART) if member.is_apart else (self._cores, TURN)
        began = time.monotonic()
        while member.core is None and (rest := max(began, cores.left_at) + patience - time.monotonic()) > 0:
            if cores.take(min(SLOW, rest)):
                member.core = cores
                return
            with self._changed:
                self._beat.leave_slow()
                self._changed.notify_all()

    def _is_slow(self, member: Member) -> bool:
        """Tells whether the others would be held up by a member that was apart; nothing is known of one that begins."""
        known = [other.took for other in self._members if other.took is not None]
        return member.took is None or member.turns < FIRST or member.took > max(SLOW, TIMES * median_low(known))

    def _may_step(self, member: Member) -> bool:
        """Tells whether a member has something to do in the newest beat; the next one begins if it can."""
        if not self._beat.away:
            self._begin()
        return (member.is_apart or member in self._beat.away) and member.is_behind(self._beat.upto)

    def _begin(self) -> None:
        """Begin a beat, if there is something new and the rest after the last one is over."""
        heads = self._watch.heads(self._logs)
        self._look_for_meetings()
        if heads == self._seen:
            self._leave_late()
            return
        if time.monotonic() < self._rests_until:
            return
        self._seen = heads
        upto = self._cut(heads)
        if upto == self._beat.upto:
            return
        here = [member for member in self._members if member.is_waiting and not member.is_apart]
        away = {member for member in here if member.is_behind(upto)}
        self._beat = _Beat(upto, away, set(away))
        self._changed.notify_all()

    def _look_for_meetings(self) -> None:
        """See who is to stand at a meeting, every so often; each looks for itself before it steps."""
        if (now := time.monotonic()) - self._looked_at >= MEETING.total_seconds():
            self._looked_at = now
            for member in self._members:
                if member.is_waiting:
                    member.look_for_meeting()

    def _leave_late(self) -> None:
        """Let those step by themselves who were away when the newest beat began, or stood at a meeting."""
        late = [one for one in self._members if one.is_waiting and not one.is_apart and one.is_behind(self._beat.upto)]
        for member in late:
            member.is_apart = True
        if late:
            self._changed.notify_all()

    def _cut(self, heads: Mapping[TopicLog, int]) -> Mapping[TopicLog, int]:
        """The newest cut of the logs; of those that share no transactions with others, what was seen."""
        together = [log for group in shared(heads) for log in group]
        return {**heads, **newest_cut(together)} if together else heads

    def _wait(self) -> None:
        """Wait until something may have changed; one of those who wait does so for all."""
        if self._is_watched:
            self._changed.wait()
            return
        self._is_watched = True
        try:
            if self._beat.away:
                self._changed.wait(self._beat.leave_slow())
            elif (rest := self._rests_until - time.monotonic()) > 0:
                self._changed.wait(rest)
            else:
                self._watch_logs()
        finally:
            self._is_watched = False

    def _watch_logs(self) -> None:
        self._changed.release()
        try:
            self._watch.wait(self._seen, LOOK)
        finally:
            self._changed.acquire()

    def _come_back(self, member: Member) -> None:
        """Take a member's step for done."""
        member.compute_ends()
        member.is_stepping, beat = False, self._beat
        if member in beat.away:
            beat.away.discard(member)
            beat.hear(member)
            if not beat.away:
                now = time.monotonic()
                self._rests_until = now + (now - beat.began) * REST
            self._changed.notify_all()

    # Writing

    def bring(self, member: Member, brought: _Brought) -> Any:
        """Write something together with the others of the beat; alone if it is not expected there."""
        with self._changed:
            beat, is_expected = self._beat, member in self._beat.silent
            together = self._gathered(member, brought, beat) if is_expected else [brought]
            writes_for_beat = is_expected and bool(together)
            beat.is_written = beat.is_written or writes_for_beat
        _write(together)
        if writes_for_beat:
            beat.heard_at, beat.is_written = time.monotonic(), False
        return brought.told.result()

    def _gathered(self, member: Member, brought: _Brought, beat: _Beat) -> list[_Brought]:
        """Wait until all have brought what is to be written, or are slow; the first to know has it all."""
        member.compute_ends()
        beat.brought.append(brought)
        beat.hear(member)
        self._changed.notify_all()
        while beat.silent and beat.brought:
            self._changed.wait(beat.leave_slow())
        together, beat.brought = beat.brought, []
        return together


class Pulses:
    """The pulses of a run: one for each set of logs. At a time as many views compute as there are cores."""

    def __init__(self, watch: Watch, cores: Callable[[], int]) -> None:
        self._watch = watch
        self._count = cores
        self._pulses: dict[frozenset[TopicLog], Pulse] = {}
        self._guard = threading.Lock()

    def of(self, logs: Iterable[TopicLog]) -> Pulse:
        """The pulse of the views that read these logs."""
        read = frozenset(logs)
        with self._guard:
            if read not in self._pulses:
                self._pulses[read] = Pulse(read, self._watch, *self._cores)
            return self._pulses[read]

    @cached_property
    def _cores(self) -> tuple[Cores, Cores]:
        """Those for members that step together, and for those that are apart."""
        return Cores(self._count()), Cores(self._count())


def _write(together: Sequence[_Brought]) -> None:
    """Write what was brought, place by place, and tell each what became of it."""
    for place in dict.fromkeys(brought.place for brought in together):
        there = [brought for brought in together if brought.place == place]
        try:
            outcomes = there[0].write([brought.own for brought in there])
        except BaseException as failure:
            for brought in there:
                brought.told.set_exception(failure)
            continue
        for brought, outcome in zip(there, outcomes, strict=True):
            refused = outcome.exception()
            if refused is None:
                brought.told.set_result(outcome.result())
            else:
                brought.told.set_exception(refused)
