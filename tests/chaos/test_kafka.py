"""The intake's own process, killed in the middle of its work: the log and the dead letters have each message once.

`headwater intake` is killed at moments that chance decides while messages, good and poisoned, keep coming, and started
again, CHAOS_KILLS times; then it may read up to the end. What the broker has is compared offset by offset.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from uuid import uuid4

import pytest

from headwater.operate.halt import Halt
from headwater.project import Project
from tests.intake.kafka.shop import Shop, event
from tests.servers.kafka import KafkaServer, format_kafka
from tools import servers

KILLS = int(os.environ.get("CHAOS_KILLS", "1"))
SEED = int(os.environ.get("CHAOS_SEED", "20260101"))
COMMAND = (sys.executable, "-c", "from headwater.cli import main; main()", "intake")
PARTITIONS = 3


class Traffic:
    """Messages whose ids are their offsets, some of them poisoned, and what must become of each."""

    def __init__(self, shop: Shop, chance: random.Random) -> None:
        self._shop, self._chance = shop, chance
        self._next = [0] * PARTITIONS
        self.rows: list[str] = []
        self.letters: list[str] = []

    def send(self) -> None:
        """Some messages to each partition, or none."""
        for partition in range(PARTITIONS):
            count = self._chance.choice((0, 1, 7, 400, 3000))
            self._shop.send([self._message(partition) for _ in range(count)], partition)

    def _message(self, partition: int) -> bytes | None:
        place = f"{self._shop.topic}[{partition}]:{self._next[partition]}"
        self._next[partition] += 1
        if self._chance.random() < 0.02:
            self.letters.append(place)
            return self._chance.choice((None, b"poison", b'{"id": 7}', b"\xff"))
        self.rows.append(place)
        return f'{{"id": "{place}", "at": "2026-01-01T00:00:00Z"}}'.encode()


@pytest.mark.timeout(120 + 30 * KILLS)
def test_an_intake_that_is_killed_again_and_again_has_each_message_once(
    kafka_server: KafkaServer, tmp_path: Path
) -> None:
    chance = random.Random(SEED)
    shop = Shop(kafka_server.bootstrap, f"payments-{uuid4().hex[:8]}", tmp_path, partitions=PARTITIONS)
    shop.declare(options="idle = '1 second'")
    traffic = Traffic(shop, chance)
    with shop.open() as project:
        for _ in range(KILLS):
            kill_one(shop, traffic, chance, project)
        project.take_in()
        assert sorted(project.read("payments")["id"].to_pylist()) == sorted(traffic.rows)
        assert sorted(project.dead("payments")["position"].to_pylist()) == sorted(traffic.letters)
        assert traffic.letters


@pytest.mark.skipif(KILLS <= 5, reason="three members, killed and started again all the time: `make chaos`")
@pytest.mark.timeout(300 + 30 * KILLS)
def test_three_that_share_a_topic_and_are_killed_again_and_again_have_each_message_once(
    kafka_server: KafkaServer, tmp_path: Path
) -> None:
    chance = random.Random(SEED)
    shop = Shop(kafka_server.bootstrap, f"payments-{uuid4().hex[:8]}", tmp_path, partitions=PARTITIONS)
    shop.declare(options="idle = '1 second'")
    traffic = Traffic(shop, chance)
    members = [start(shop) for _ in range(3)]
    with shop.open() as project:
        try:
            for _ in range(max(30, KILLS)):
                traffic.send()
                time.sleep(chance.random() * 2)
                at = chance.randrange(3)
                members[at].send_signal(chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGINT)))
                members[at].wait(60)
                members[at] = start(shop)
            deadline = time.monotonic() + 120
            while project.read("payments").num_rows < len(traffic.rows):
                assert time.monotonic() < deadline, "the members that are left have come to a stop"
                time.sleep(0.2)
        finally:
            for member in members:
                member.kill()
                member.wait(30)
        project.take_in()
        assert sorted(project.read("payments")["id"].to_pylist()) == sorted(traffic.rows)
        assert sorted(project.dead("payments")["position"].to_pylist()) == sorted(traffic.letters)
        assert traffic.letters


def start(shop: Shop) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*COMMAND, "--json"], cwd=shop.folder, stdout=subprocess.DEVNULL)


def kill_one(shop: Shop, traffic: Traffic, chance: random.Random, project: Project) -> None:
    """Start an intake, let messages come, and kill it some time after its first commit."""
    traffic.send()
    before = project.log.head("payments")
    process = subprocess.Popen([*COMMAND, "--json"], cwd=shop.folder, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while project.log.head("payments") <= before + 1 and time.monotonic() < deadline:
            assert process.poll() is None
            traffic.send()
        traffic.send()
        time.sleep(chance.random() * 0.4)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait(30)


@pytest.mark.skipif(KILLS <= 5, reason="three starts of a broker: `make chaos`")
def test_brokers_that_are_down_at_the_start_and_in_the_middle_are_waited_for(tmp_path: Path) -> None:
    jars = servers.find("kafka")
    assert jars is not None, "run `make servers ALL=1`"
    with format_kafka(jars) as kafka:
        shop = Shop(kafka.server.bootstrap, "payments", tmp_path, partitions=0)
        with shop.open() as project:
            (intake,) = project.intakes.open()
            halt = Halt()
            thread = threading.Thread(target=intake.run, args=(halt,))
            thread.start()
            for number in range(3):
                with kafka.running():
                    if number == 0:
                        shop.create(1)
                    shop.send([event(number)])
                    deadline = time.monotonic() + 120
                    while project.read("payments").num_rows <= number:
                        assert time.monotonic() < deadline
                        time.sleep(0.1)
                assert thread.is_alive()
            halt.now()
            thread.join(60)
            assert not thread.is_alive()
            assert project.read("payments")["id"].to_pylist() == ["p0", "p1", "p2"]
