"""The suite that every inlet of an intake passes, with nothing but the methods of `headwater.intake.Inlet`.

An inlet of your own runs it with pytest: derive a class whose name starts with `Test`, and give it the fixture `feed`,
fresh for each test: what the inlet reads from. `send` puts events there, all of one source and in their order; `inlet`
opens it as another process would, for `topic`, which `payments` makes.

    class TestMine(IntakeConformance):
        @pytest.fixture
        def feed(self, tmp_path):
            return MyFeed(tmp_path, payments(Connector(name="mine")))

A *process* of the suite has the logs and an inlet of its own, and shares nothing with the others but where they are. It
is *killed* at a point: nothing that it does afterwards happens.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, Protocol
from uuid import uuid4

import pyarrow as pa

from headwater.errors import Fenced, HeadwaterError, TooMuchPoison
from headwater.intake.dead import dead_topic
from headwater.intake.protocol import Inlet, Taken
from headwater.intake.run import Intake
from headwater.log import Appended, Storage, TopicLog, open_storage
from headwater.log.read import read
from headwater.model import INSTANT, Column, Stream, Topic
from headwater.model import Intake as Declared
from headwater.testing.conformance.expect import refuses
from headwater.waiting import Until, wait_for

POINTS = ("before letters", "after letters", "before rows", "after rows")
"""The moment a process is killed: before or after what it appends is durable."""
PATIENCE = 60.0


class Feed(Protocol):
    """The origin that an inlet reads from, and the topic that takes it in."""

    topic: Topic

    def send(self, *values: bytes) -> None:
        """Put events there behind those that are there, to be read in this order; returns when they can be read."""

    def inlet(self) -> Inlet:
        """Open it, as another process would."""


def payments(intake: Declared) -> Topic:
    """The stream of the suite, with an intake."""
    columns = (Column("id", pa.string()), Column("amount", pa.int32()), Column("at", INSTANT))
    return Stream(name="payments", columns=columns, time="at", idle=timedelta(seconds=30), intake=intake)


def payment(number: int, year: int = 2026) -> bytes:
    """An event that can be read."""
    return json.dumps({"id": f"p{number}", "amount": number, "at": f"{year}-01-01T00:00:00Z"}).encode()


class Killed(BaseException):
    """The process is dead."""


class Log(TopicLog):
    """A log of a process that may be killed when it appends."""

    def __init__(self, topic: Topic, storage: Storage, what: str, kill: dict[str, int]) -> None:
        super().__init__(topic, storage)
        self._what, self._kill = what, kill

    def append(self, rows: pa.Table, **how: Any) -> Appended:
        """Append, unless the process dies before; rows count, and not moves alone."""
        if not rows.num_rows:
            return super().append(rows, **how)
        self._die(f"before {self._what}")
        appended = super().append(rows, **how)
        self._die(f"after {self._what}")
        return appended

    def _die(self, point: str) -> None:
        if self._kill.get(point) == 1:
            raise Killed
        if point in self._kill:
            self._kill[point] -= 1


class World:
    """The logs, and processes that take in what is fed."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self._rows, self._letters = (open_storage(f"memory://{uuid4().hex}") for _ in range(2))

    def process(self, kill: dict[str, int] | None = None, topic: Topic | None = None) -> Intake:
        """An intake as another process has it; `kill` says when it comes to a point for which time it dies."""
        declared, points = topic or self.feed.topic, dict(kill or {})
        log = Log(declared, self._rows, "rows", points)
        return Intake(log, Log(dead_topic(declared), self._letters, "letters", points), self.feed.inlet)

    def drain(self) -> tuple[int, int]:
        """The numbers of rows and dead letters that a new process takes in."""
        taken = self.process().drain()
        return taken.rows, taken.dead

    @property
    def ids(self) -> list[str]:
        """The ids of all rows, in the order of the log."""
        ids: list[str] = self._read(self.process().log, "id")
        return ids

    @property
    def dead_positions(self) -> list[str]:
        """The positions of all dead letters, in the order of their log."""
        positions: list[str] = self._read(self.process().dead, "position")
        return positions

    @property
    def poison(self) -> list[bytes]:
        """The bytes of all dead letters."""
        poison: list[bytes] = self._read(self.process().dead, "bytes")
        return poison

    def _read(self, log: TopicLog, column: str) -> Any:
        return read(log, columns=[column])[column].to_pylist() if log.head >= 0 else []

    @contextmanager
    def running(self) -> Iterator[Callable[[], None]]:
        """A process that runs meanwhile; what is given halts it, and returns when it has ended."""
        halt, failed = Until(threading.Event()), []

        def run() -> None:
            try:
                self.process().run(halt)
            except HeadwaterError as error:
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()

        def stop() -> None:
            halt.event.set()
            thread.join(PATIENCE)
            assert not thread.is_alive(), "it ends when it is halted"
            assert failed == [], "it goes on until it is halted"

        try:
            yield stop
        finally:
            stop()


def soon(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    patience = timedelta(seconds=PATIENCE)
    assert wait_for(condition, patience, every=timedelta(milliseconds=20)), "it comes in time"


class IntakeConformance:
    """The duties of every inlet."""

    def test_each_event_is_a_row_or_a_dead_letter_once(self, feed: Feed) -> None:
        """In their order; what was taken in is not taken in again, and what comes later is."""
        world = World(feed)
        assert world.drain() == (0, 0)
        feed.send(payment(0), b"half a mess", payment(1))
        assert world.drain() == (2, 1)
        assert world.drain() == (0, 0)
        feed.send(payment(2))
        feed.send(b'{"amount": "x"}', payment(3))
        assert world.drain() == (2, 1)
        assert world.ids == ["p0", "p1", "p2", "p3"]
        assert world.poison == [b"half a mess", b'{"amount": "x"}']

    def test_dead_letters_say_where_they_came_from(self, feed: Feed) -> None:
        """Each has a source, and a position of its own."""
        world = World(feed)
        feed.send(b"a", b"b", payment(0))
        world.drain()
        feed.send(b"c")
        world.drain()
        assert len(set(world.dead_positions)) == 3
        assert all(position.rpartition(":")[2].isdigit() for position in world.dead_positions)
        assert None not in read(world.process().dead, columns=["source"])["source"].to_pylist()

    def test_the_positions_are_in_the_log(self, feed: Feed) -> None:
        """They move with the rows, and say where the next process begins."""
        world = World(feed)
        feed.send(payment(0))
        first = self._positions(world, world.process().drain())
        feed.send(payment(1), payment(2))
        second = self._positions(world, world.process().drain())
        assert any(second[source] > first.get(source, -1) for source in second)
        assert self._positions(world, world.process().drain()) == second

    def _positions(self, world: World, taken: Taken) -> dict[str, int]:
        log, connector = world.process().log, world.feed.topic.intake.connector if world.feed.topic.intake else ""
        kept = {source: log.position(f"{connector}:{source}") for source in taken.positions}
        assert kept == dict(taken.positions), "what a run says is what the log has"
        return dict(taken.positions)

    def test_a_process_that_is_killed_loses_and_doubles_nothing(self, feed: Feed) -> None:
        """Whatever it had appended before it died, and whichever of its commits it was."""
        world, sent, poison = World(feed), 0, []
        for point in POINTS:
            for which in (1, 2):
                process, killed = world.process({point: which}), False
                for _ in range(3):
                    poison.append(b"poison %d" % sent)
                    feed.send(payment(sent), poison[-1], payment(sent + 1))
                    sent += 2
                    with suppress(Killed):
                        process.drain()
                        continue
                    killed = True
                    break
                assert killed, f"it comes to the point {point}"
        world.drain()
        assert world.ids == [f"p{number}" for number in range(sent)]
        assert world.poison == poison

    def test_what_is_dead_stays_dead_although_it_could_be_read_now(self, feed: Feed) -> None:
        """A process that died between the letters and the rows has decided; the next one keeps to it."""
        world = World(feed)
        feed.send(payment(0), payment(1, year=2999), payment(2))
        with suppress(Killed):
            world.process({"before rows": 1}).drain()
        taken = world.process(topic=replace(feed.topic, max_ahead=None)).drain()
        assert (taken.rows, taken.dead) == (2, 0)
        assert (world.ids, world.poison) == (["p0", "p2"], [payment(1, year=2999)])

    def test_far_too_much_poison_stays_where_it_is(self, feed: Feed) -> None:
        """Nothing of it is appended, and it is read once it may pass."""
        world = World(feed)
        feed.send(*(b"poison %d" % number for number in range(1200)))
        with refuses(TooMuchPoison):
            world.drain()
        assert (world.ids, world.poison) == ([], [])
        assert feed.topic.intake is not None
        patient = replace(feed.topic, intake=replace(feed.topic.intake, max_dead=None))
        assert world.process(topic=patient).drain().dead == 1200

    def test_a_run_takes_in_what_comes_and_ends_when_it_is_halted(self, feed: Feed) -> None:
        """Events that came after it had ended are the next one's."""
        world = World(feed)
        with world.running() as stop:
            feed.send(payment(0))
            soon(lambda: world.ids == ["p0"])
            feed.send(payment(1), b"poison")
            soon(lambda: world.ids == ["p0", "p1"])
            stop()
        feed.send(payment(2))
        assert world.drain() == (1, 0)
        assert (world.ids, world.poison) == (["p0", "p1", "p2"], [b"poison"])

    def test_two_that_take_in_at_once_double_nothing(self, feed: Feed) -> None:
        """One of the two is told that it was overtaken."""
        world = World(feed)
        with world.running():
            for number in range(10):
                feed.send(payment(number))
                with suppress(Fenced):  # then the other one has it
                    world.drain()
        soon(lambda: not any(world.drain()))
        assert world.ids == [f"p{number}" for number in range(10)]
