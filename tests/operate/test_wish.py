"""What an operator wishes: pauses that last, replays, views that begin again. Runs are played without Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

import headwater as hw
from headwater.errors import ArgumentRefused, HeadwaterError, InternalError, UnknownView, ViewFailed
from headwater.operate import CaughtUp, Reading
from headwater.operate.halt import Halt
from headwater.operate.intake import taking_in
from headwater.operate.keep import Keeper
from headwater.operate.wish import Paused, Subject, Wishes
from tests.patience import PATIENCE, Rounds, until

SQL = """
CREATE STREAM sales (shop STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE STREAM orders (shop STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at)
  WITH (connector = 'kafka', topic = 'orders');
CREATE MATERIALIZED VIEW plain AS SELECT shop FROM sales;
CREATE VIEW named AS SELECT shop FROM sales;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "headwater.toml").write_text('name = "shop"')
    (tmp_path / "shop.sql").write_text(SQL)
    return tmp_path


def test_a_pause_outlives_the_process_that_asked_for_it(folder: Path) -> None:
    with hw.open(folder) as project:
        first = project.admin.pause("PLAIN", reason="the store moves")
        again = project.admin.pause("plain", reason="it still does")
        assert (again.since, again.reason) == (first.since, "it still does")
    with hw.open(folder) as project:
        (view,) = project.status().views
        assert (view.state, view.paused) == ("paused", again)
        assert project.status().as_dict()["views"][0]["paused"]["reason"] == "it still does"
        (left,) = project.catch_up()
        assert (left.paused, left.error) == (again, None), "nothing brings it up to date"
        project.admin.resume("plain")
        assert project.status().views[0].state == "empty"


def test_an_intake_is_paused_by_the_name_of_its_stream(folder: Path) -> None:
    with hw.open(folder) as project:
        paused = project.admin.pause("orders")
        assert [topic.paused for topic in project.status().topics] == [None, paused]
        assert project.take_in("orders") == []
        project.admin.resume("orders")
        assert project.status().topics[1].paused is None


@pytest.mark.parametrize(
    ("name", "refusal"), [("sales", ArgumentRefused), ("named", ArgumentRefused), ("x", UnknownView)]
)
def test_what_does_not_run_cannot_be_paused(folder: Path, name: str, refusal: type[Exception]) -> None:
    with hw.open(folder) as project, pytest.raises(refusal):
        project.admin.pause(name)


class Play:
    """Views that are kept up by a keeper; what each run is to do is said by the test."""

    def __init__(self, folder: Path, *, stays: bool) -> None:
        self.wishes, self.halt = Wishes(folder), Halt()
        self.begun: list[str] = []
        self.told: list[Reading] = []
        self.ended: list[CaughtUp] = []
        self.fails = threading.Event()
        self.keeper = Keeper(self.run, self.wishes, self.told.append, self.ended.append, self.halt, stays)
        self.done: list[CaughtUp] = []

    def run(self, name: str, halt: Halt) -> CaughtUp:
        self.begun.append(name)
        if self.wishes.is_replay_asked(name):
            self.wishes.replay_is_begun(name)
        with self.wishes.obeyed("view", name, halt):
            while not halt.is_wanted:
                if self.fails.is_set():
                    return CaughtUp(name, 1, error=ViewFailed("it failed"))
                halt.wait(timedelta(milliseconds=5))
        return CaughtUp(name, 1)

    @contextmanager
    def played(self) -> Iterator[None]:
        self.keeper.begin(["a"])
        waiting = threading.Thread(target=lambda: self.done.extend(self.keeper.wait()))
        waiting.start()
        try:
            yield
        finally:
            self.halt.now()
            waiting.join(PATIENCE)
            assert not waiting.is_alive()


def test_a_view_rests_while_it_is_paused_and_goes_on_when_it_is_resumed(tmp_path: Path) -> None:
    play = Play(tmp_path, stays=False)
    with play.played():
        until(lambda: play.begun == ["a"])
        play.wishes.pause("view", "a")
        until(lambda: [reading.paused for reading in play.told] == [True])
        assert play.ended == [], "a pause is no end, and no failure"
        play.wishes.resume("view", "a")
        until(lambda: play.begun == ["a", "a"])
        play.wishes.ask_replay("a")
        until(lambda: play.begun == ["a", "a", "a"])
        assert not play.wishes.is_replay_asked("a")
    assert [(found.view, found.error) for found in play.done] == [("a", None)]
    assert play.ended == play.done


def test_a_view_that_has_stopped_begins_again_when_it_is_resumed_or_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play, looks = Play(tmp_path, stays=True), Rounds(monkeypatch, Wishes, "is_replay_asked")
    with play.played():
        for number, wish in enumerate((play.wishes.ask_replay, lambda name: play.wishes.resume("view", name)), 1):
            play.fails.set()
            until(lambda number=number: len(play.ended) == number)
            play.fails.clear()
            looks.pass_by()
            assert len(play.begun) == number, "not by itself"
            wish("a")
            until(lambda number=number: len(play.begun) == number + 1)
    assert [found.error is None for found in play.ended] == [False, False, True]


class ShakyWishes(Wishes):
    """Wishes that can't be read now and then."""

    def __init__(self, folder: Path, *failures: Exception) -> None:
        super().__init__(folder)
        self.failures = list(failures)

    def paused(self, subject: Subject, name: str) -> Paused | None:
        if self.failures:
            raise self.failures.pop(0)
        return super().paused(subject, name)


def test_what_is_wanted_is_obeyed_although_it_could_not_be_read_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wishes, halt = ShakyWishes(tmp_path, OSError(24, "Too many open files")), Halt()
    with wishes.obeyed("view", "a", halt):
        until(lambda: not wishes.failures)
        wishes.pause("view", "a")
        until(lambda: halt.is_wanted)
    assert "obeying what is wanted of view a failed and will be tried again" in caplog.text


def test_a_view_that_nothing_is_known_of_any_more_ends_with_an_error(tmp_path: Path) -> None:
    play = Play(tmp_path, stays=False)
    play.keeper.wishes = ShakyWishes(tmp_path, OSError(5, "Input/output error"))
    play.keeper.begin(["a"])
    (done,) = play.keeper.wait()
    assert isinstance(done.error, InternalError)
    assert play.ended == [done]
    assert "Input/output error" in str(done.error.detail)


def test_without_staying_the_end_of_every_view_is_the_end(tmp_path: Path) -> None:
    play = Play(tmp_path, stays=False)
    play.fails.set()
    play.keeper.begin(["a"])
    (done,) = play.keeper.wait()
    assert isinstance(done.error, ViewFailed)


class Intake:
    """An intake that takes in until it is told to end."""

    def __init__(self, topic: str) -> None:
        self.log = type("Log", (), {"topic": type("Topic", (), {"name": topic})})
        self.is_taking, self.runs = False, 0

    def run(self, halt: Halt) -> None:
        self.is_taking, self.runs = True, self.runs + 1
        while not halt.is_wanted:
            halt.wait(timedelta(seconds=10))
        self.is_taking = False


class BrokenIntake(Intake):
    """An intake with a mistake in it."""

    def run(self, halt: Halt) -> None:
        raise KeyError("partition")


def test_an_intake_that_ends_by_a_mistake_is_told(tmp_path: Path) -> None:
    failed: list[tuple[str, HeadwaterError]] = []
    broken = BrokenIntake("orders")
    with taking_in([broken], Wishes(tmp_path), lambda *found: failed.append(found)) as goes_on:  # type: ignore[list-item]
        until(lambda: not goes_on())
    ((topic, error),) = failed
    assert (topic, str(error.summary)) == ("orders", 'intake "orders" stopped by a mistake of ours')
    assert "KeyError" in str(error.detail)


def test_an_intake_rests_while_it_is_paused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Rounds(monkeypatch, Wishes, "paused")
    wishes, intake, failed = Wishes(tmp_path), Intake("orders"), list[object]()
    wishes.pause("intake", "orders")
    with taking_in([intake], wishes, lambda *found: failed.append(found)) as goes_on:  # type: ignore[list-item]
        looks.pass_by()
        assert (intake.runs, goes_on()) == (0, True)
        wishes.resume("intake", "orders")
        until(lambda: intake.is_taking)
        wishes.pause("intake", "orders")
        until(lambda: not intake.is_taking)
        wishes.resume("intake", "orders")
        until(lambda: intake.is_taking)
    assert (intake.runs, failed) == (2, [])
