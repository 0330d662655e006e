"""The pulse of views that read the same logs: how far they step, what they write together, whom nobody waits for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import pytest

from headwater.engine import pulse
from headwater.engine.pulse import Pulses
from headwater.log import TopicLog, open_storage
from headwater.log.watch import Watch
from tests.log.conftest import ORDERS, orders
from tests.patience import PATIENCE, until

Step = Callable[[int], None]


def nothing(_: int) -> None:
    """A step that is computed at once."""


class Follower:
    """A view in a thread, whose steps are what it is told; each brings the commit that it goes up to."""

    def __init__(self, place: Place, name: str, step: Step) -> None:
        self.name = name
        self.meeting: int | None = None
        self.halted = threading.Event()
        self.steps: list[int] = []
        self.failure: Exception | None = None
        self._place, self._step = place, step
        self._thread = threading.Thread(target=self._follow)
        self._thread.start()

    @property
    def at(self) -> int:
        return self.steps[-1] if self.steps else -1

    def _follow(self) -> None:
        try:
            own = self._place.pulses.of([self._place.log])
            with own.member({"orders": self._place.log}, self.halted.is_set, self._meets) as member:
                commits = None
                while (commits := member.turn(commits)) is not None:
                    self._step(commits["orders"])
                    member.bring("store", (self.name, commits["orders"]), self._place.write)
                    self.steps.append(commits["orders"])
        except ArithmeticError as failure:
            self.failure = failure

    def _meets(self) -> dict[TopicLog, int] | None:
        return None if self.meeting is None else {self._place.log: self.meeting}

    def end(self) -> None:
        self.halted.set()
        self._place.pulses.of([self._place.log]).look()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


class Place:
    """A log, the pulses of its followers, and what they wrote at a time."""

    def __init__(self, log: TopicLog, watch: Watch, cores: int = 2) -> None:
        self.log = log
        self.pulses = Pulses(watch, lambda: cores)
        self.written: list[dict[str, int]] = []
        self.refused: str | None = None
        self._followers: list[Follower] = []
        self._number = 0

    def follow(self, name: str, step: Step = nothing) -> Follower:
        self._followers.append(Follower(self, name, step))
        return self._followers[-1]

    def write(self, brought: Sequence[tuple[str, int]]) -> list[Future[None]]:
        self.written.append(dict(brought))
        told: list[Future[None]] = [Future() for _ in brought]
        for (name, _), future in zip(brought, told, strict=True):
            if name == self.refused:
                future.set_exception(ArithmeticError("refused"))
            else:
                future.set_result(None)
        return told

    def append(self, times: int = 1) -> None:
        for _ in range(times):
            self._number += 1
            self.log.append(orders((str(self._number), self._number)))

    def beat(self, *followers: Follower) -> None:
        """A commit, until these have written it."""
        self.append()
        until(lambda: {follower.at for follower in followers} == {self.log.head})

    def until_together(self, *followers: Follower) -> None:
        """Commits, until these have written one at once: views begin apart."""
        names = {follower.name for follower in followers}
        while not (self.written and set(self.written[-1]) == names):
            self.beat(*followers)

    def end(self) -> None:
        for follower in self._followers:
            follower.end()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    log = TopicLog(ORDERS, open_storage(str(tmp_path)))
    log.create()
    with Watch([log]) as watch, _ended(Place(log, watch)) as place:
        yield place


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is slow, however busy the machine is."""
    monkeypatch.setattr(pulse, "SLOW", PATIENCE)


@contextmanager
def _ended(place: Place) -> Iterator[Place]:
    try:
        yield place
    finally:
        place.end()


def test_views_step_up_to_the_same_commits_and_are_written_at_once(patient: None, place: Place) -> None:
    followers = [place.follow(name) for name in "abc"]
    place.until_together(*followers)
    before = len(place.written)
    for _ in range(5):
        place.beat(*followers)
    place.append(times=20)
    until(lambda: {follower.at for follower in followers} == {place.log.head})
    for together in place.written[before:]:
        assert set(together) == {"a", "b", "c"}
        assert len(set(together.values())) == 1, "each stands at the same commit as the others"


def test_one_that_is_slow_holds_up_nobody_and_is_back_when_it_is_not(place: Place) -> None:
    may_go = threading.Event()
    may_go.set()
    slow = place.follow("slow", lambda _: (may_go.wait(PATIENCE), None)[1])
    others = [place.follow(name) for name in "abc"]
    place.until_together(slow, *others)
    may_go.clear()
    stuck_at = slow.at
    for _ in range(5):
        place.beat(*others)
    assert slow.at == stuck_at
    may_go.set()
    until(lambda: slow.at == place.log.head)
    place.until_together(slow, *others)


def test_cores_that_slow_views_have_are_not_waited_for(place: Place) -> None:
    may_go = threading.Event()
    may_go.set()
    slow = [place.follow(name, lambda _: (may_go.wait(PATIENCE), None)[1]) for name in ("s1", "s2", "s3")]
    others = [place.follow(name) for name in "ab"]
    place.until_together(*slow, *others)
    may_go.clear()
    for _ in range(3):
        place.beat(*others)
    may_go.set()
    until(lambda: {follower.at for follower in slow} == {place.log.head})


def test_who_waits_for_a_core_takes_it_from_one_that_is_slow(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "TURN", PATIENCE)  # nobody goes on without one
    may_go = threading.Event()
    may_go.set()
    followers = [place.follow(name, lambda _: (may_go.wait(PATIENCE), None)[1]) for name in "abcd"]
    place.until_together(*followers)
    may_go.clear()
    place.append()
    own = place.pulses.of([place.log])
    until(lambda: all(member.is_stepping for member in own._members))
    may_go.set()
    until(lambda: {follower.at for follower in followers} == {place.log.head})


def test_one_that_fails_has_left_and_the_others_are_written(patient: None, place: Place) -> None:
    is_bad = threading.Event()

    def step(_: int) -> None:
        if is_bad.is_set():
            raise ArithmeticError("division by zero")

    bad, others = place.follow("bad", step), [place.follow(name) for name in "ab"]
    place.until_together(bad, *others)
    is_bad.set()
    place.beat(*others)
    assert set(place.written[-1]) == {"a", "b"}
    until(lambda: bad.failure is not None)
    is_bad.clear()
    again = place.follow("bad")
    place.until_together(again, *others)


def test_a_write_that_is_refused_is_its_own(patient: None, place: Place) -> None:
    bad, others = place.follow("bad"), [place.follow(name) for name in "ab"]
    place.until_together(bad, *others)
    place.refused = "bad"
    place.beat(*others)
    until(lambda: bad.failure is not None)
    assert place.written[-1] == {"a": place.log.head, "b": place.log.head, "bad": place.log.head}
    place.until_together(*others)


def test_who_waits_for_what_is_written_for_all_is_not_slow(
    patient: None, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    followers = [place.follow(name) for name in "abc"]
    place.until_together(*followers)
    own, may_write, empty, write = place.pulses.of([place.log]), threading.Event(), [], pulse._write

    def held(together: Sequence[pulse._Brought]) -> None:
        if together:
            may_write.wait(PATIENCE)
        else:
            empty.append(together)
        write(together)

    monkeypatch.setattr(pulse, "_write", held)
    place.append()
    until(lambda: len(empty) == 2)  # the others have nothing to write, and wait
    monkeypatch.setattr(pulse, "SLOW", 0.0)
    own._beat.leave_slow()
    assert not any(member.is_apart for member in own._members)
    may_write.set()
    until(lambda: {follower.at for follower in followers} == {place.log.head})


def test_no_view_starves_among_many_on_one_core(tmp_path: Path) -> None:
    log = TopicLog(ORDERS, open_storage(str(tmp_path)))
    log.create()
    with Watch([log]) as watch, _ended(Place(log, watch, cores=1)) as place:
        followers = [place.follow(str(number)) for number in range(20)]
        for _ in range(10):
            place.append(times=3)
        until(lambda: {follower.at for follower in followers} == {log.head})


def test_nobody_goes_on_without_a_core_while_others_leave_theirs(
    patient: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse, "TURN", 3.0)
    monkeypatch.setattr(pulse, "APART", 3.0)
    guard, busy, most = threading.Lock(), 0, 0

    def step(_: int) -> None:
        nonlocal busy, most
        with guard:
            busy += 1
            most = max(most, busy)
        time.sleep(0.1)
        with guard:
            busy -= 1

    log = TopicLog(ORDERS, open_storage(str(tmp_path)))
    log.create()
    with Watch([log]) as watch, _ended(Place(log, watch, cores=1)) as place:
        followers = [place.follow(str(number), step) for number in range(60)]
        place.append()
        until(lambda: {follower.at for follower in followers} == {log.head})
    assert most <= 2, "one that steps with others, and one that is apart"


def test_a_view_at_the_head_has_nothing_to_do_and_ends_at_once(place: Place) -> None:
    follower = place.follow("a")
    until(lambda: follower.steps == [0])
    follower.end()
    assert follower.steps == [0]


def test_who_stands_at_a_meeting_holds_up_nobody_and_catches_up_without_a_new_commit(place: Place) -> None:
    one, other = place.follow("one"), place.follow("other")
    place.until_together(one, other)
    stand = place.log.head + 2
    one.meeting = stand
    for _ in range(5):
        place.beat(other)
    until(lambda: one.at == stand)
    assert other.at == place.log.head > stand
    one.meeting = None
    until(lambda: one.at == place.log.head)
    place.until_together(one, other)


def test_who_has_missed_a_meeting_goes_on(place: Place) -> None:
    one = place.follow("one")
    place.until_together(one)
    one.meeting = place.log.head - 1
    place.beat(one)


def test_who_was_away_when_the_newest_beat_began_reads_it_without_a_new_commit(place: Place) -> None:
    may_go = threading.Event()
    may_go.set()
    slow = place.follow("slow", lambda _: (may_go.wait(PATIENCE), None)[1])
    other = place.follow("other")
    place.until_together(slow, other)
    may_go.clear()
    place.beat(other)
    place.beat(other)
    may_go.set()
    until(lambda: slow.at == place.log.head)
