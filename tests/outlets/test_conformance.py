"""Every target passes the suite of `headwater.testing`; one of somebody else's comes in by an entry point."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import KafkaException, Producer
from deltalake import DeltaTable

from headwater.errors import Fenced, SettingsRefused
from headwater.log import open_storage
from headwater.operate.halt import Halt
from headwater.outlets import Delivery, Place, Surroundings, Target, open_target
from headwater.outlets.kafka.target import KafkaTarget
from headwater.outlets.message import Message, Messages
from headwater.outlets.protocol import Bury
from headwater.plan import PlannedOutlet
from headwater.testing import TargetConformance, planned_outlet
from headwater.testing.conformance.expect import refuses
from headwater.testing.conformance.target import OpenAgain, delivery, none_refused
from tests.outlets.hook import Hook, hooked
from tests.outlets.kafka.topic import KafkaTopic
from tests.outlets.shop import NOON
from tests.servers.kafka import KafkaServer


def surroundings(folder: Path, **clusters: dict[str, str]) -> Surroundings:
    places = open_storage(str(folder / "places"))
    return Surroundings("suite", folder, clusters, {}, {}, places, Halt(), lambda: NOON, lambda: 0.5)


class _Flushed:
    """Messages of which each is sent before the next is made."""

    def __init__(self, messages: Messages, producer: Producer) -> None:
        self._messages = messages
        self._producer = producer

    def of(self, delivered: Delivery) -> Iterator[Message]:
        for message in self._messages.of(delivered):
            yield message
            with suppress(SystemError, KafkaException):  # what the producer is told meanwhile, it tells again
                self._producer.flush()


class TestKafka(TargetConformance):
    @pytest.fixture
    def topic(self, kafka_server: KafkaServer) -> KafkaTopic:
        return KafkaTopic(kafka_server.bootstrap)

    @pytest.fixture
    def again(self, topic: KafkaTopic, tmp_path: Path) -> Callable[[], Target]:
        planned = planned_outlet(f"kafka://{topic.name}", f"o_{uuid4().hex[:8]}")
        around = surroundings(tmp_path, main={"bootstrap.servers": topic.brokers})
        return lambda: open_target(planned, around)

    @pytest.fixture
    def seen(self, topic: KafkaTopic) -> Callable[[], list[str]]:
        return lambda: [value["id"] for value in topic.values()]

    def test_who_is_told_between_two_messages_is_fenced(self, again: OpenAgain) -> None:
        """The producer learns of it in the middle of a transaction, and refuses the next message as fatal."""
        with closing(again()) as older, closing(again()) as newer:
            assert isinstance(older, KafkaTarget)
            older.open()
            newer.open()
            older._messages = _Flushed(older._messages, older._sender)  # type: ignore[assignment]
            with refuses(Fenced):
                older.deliver(delivery(0, ("a", None, 1), ("b", None, 1)), none_refused)


class TestDelta(TargetConformance):
    @pytest.fixture
    def again(self, tmp_path: Path) -> Callable[[], Target]:
        return lambda: open_target(planned_outlet("delta://sent"), surroundings(tmp_path))

    @pytest.fixture
    def seen(self, tmp_path: Path) -> Callable[[], list[str]]:
        return lambda: sorted(DeltaTable(tmp_path / "sent").to_pyarrow_table()["id"].to_pylist())


class TestWebhook(TargetConformance):
    @pytest.fixture
    def hook(self) -> Iterator[Hook]:
        with hooked() as found:
            yield found

    @pytest.fixture
    def again(self, hook: Hook, tmp_path: Path) -> Callable[[], Target]:
        return lambda: open_target(planned_outlet(hook.url), surroundings(tmp_path))

    @pytest.fixture
    def seen(self, hook: Hook) -> Callable[[], list[str]]:
        return lambda: [body["id"] for body in hook.bodies]


class Notebook:
    """A target of somebody else's: a file that keeps what came."""

    def __init__(self, planned: PlannedOutlet, around: Surroundings) -> None:
        self._file = around.folder / planned.outlet.address

    def open(self) -> Place | None:
        return None

    def deliver(self, delivery: Delivery, bury: Bury) -> None:
        self._file.write_text(json.dumps(delivery.changes["op"].to_pylist()))

    def close(self) -> None:
        """Nothing is open."""


def nothing(planned: PlannedOutlet, around: Surroundings) -> Target:
    raise ValueError("no such place")


def test_a_target_of_somebody_elses_comes_in_by_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "somebodys-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys\nVersion: 1.0\n")
    points = f"[headwater.outlets]\nnotebook = {__name__}:Notebook\nbroken = {__name__}:nothing\n"
    (installed / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    target = open_target(planned_outlet("notebook://sent.json"), surroundings(tmp_path))
    assert isinstance(target, Notebook)
    with pytest.raises(SettingsRefused, match="no such place"):
        open_target(planned_outlet("broken://x"), surroundings(tmp_path))
