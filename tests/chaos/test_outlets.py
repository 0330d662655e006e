"""A process that sends, killed and stopped at moments that chance decides: the target has each change once.

The view is written meanwhile, batch by batch, as its run would. CHAOS_KILLS says how often a process is killed, and how
often one is stopped and goes on after another has taken over.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from deltalake import DeltaTable

from headwater.outlets import Place
from tests.outlets.kafka.topic import KafkaTopic
from tests.outlets.shop import Shop, row, sending
from tests.servers.kafka import KafkaServer, format_kafka
from tools import servers

KILLS = int(os.environ.get("CHAOS_KILLS", "1"))
SEED = int(os.environ.get("CHAOS_SEED", "20260101"))
PROGRAM = """
import headwater as hw
with hw.open(".") as project:
    while True:
        for sent in project.send():
            print(sent.place, sent.error, flush=True)
"""
CARDS = 5


class Traffic:
    """Batches of the view, and the ids of the changes that they make."""

    def __init__(self, shop: Shop) -> None:
        self._shop, self._next = shop, 0
        self.ids: list[str] = []

    def write(self, batches: int) -> None:
        for _ in range(batches):
            number = self._next
            self._shop.write(number, [row(f"c{card}", f"{number}.00") for card in range(CARDS)])
            self.ids += [f"1.{number}.{card}" for card in range(CARDS)]
            self._next += 1


@contextmanager
def sender(shop: Shop) -> Iterator[subprocess.Popen[str]]:
    """A process that sends, from its first delivery on; killed at the end of the block."""
    program = [sys.executable, "-c", PROGRAM]
    process = subprocess.Popen(program, cwd=shop.folder, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate(timeout=30)


def mistreated(shop: Shop, sent: Callable[[], list[str]]) -> None:
    """Kill and stop processes while the view is written; then the target has what was written, once."""
    chance, traffic = random.Random(SEED), Traffic(shop)
    traffic.write(2)
    for _ in range(KILLS):
        with sender(shop):
            traffic.write(3)
            time.sleep(chance.random() * 0.1)
        with sender(shop) as zombie:
            traffic.write(2)
            time.sleep(chance.random() * 0.1)
            zombie.send_signal(signal.SIGSTOP)
            traffic.write(1)
            for lock in (shop.folder / ".headwater" / "outlets").glob("*.lock"):
                lock.unlink()  # as if the heir were another machine, which knows nothing of locks
            with shop.project() as project:
                assert [found.error for found in project.send()] == [None]
            zombie.send_signal(signal.SIGCONT)
            traffic.write(1)
            time.sleep(chance.random() * 0.3)
    with shop.project() as project:
        assert [found.error for found in project.send()] == [None]
    assert sent() == traffic.ids


@pytest.mark.timeout(120 + 30 * KILLS)
def test_kafka_has_each_change_once_and_in_order(kafka_server: KafkaServer, tmp_path: Path) -> None:
    topic = KafkaTopic(kafka_server.bootstrap)
    outlet = f"CREATE OUTLET chaos_{topic.name.replace('-', '_')} FROM spend TO 'kafka://{topic.name}'"
    mistreated(
        Shop(tmp_path / "shop", outlet, settings=topic.settings), lambda: [value["id"] for value in topic.values()]
    )


@pytest.mark.timeout(120 + 30 * KILLS)
def test_a_delta_table_has_each_change_once(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop", "CREATE OUTLET o FROM spend TO 'delta://exports/spend'")

    def sent() -> list[str]:
        rows = DeltaTable(shop.folder / "exports" / "spend").to_pyarrow_table()
        return [str(row["id"]) for row in rows.select(["id", "batch"]).sort_by([("batch", "ascending")]).to_pylist()]

    mistreated(shop, lambda: sorted(sent(), key=lambda found: [int(part) for part in found.split(".")]))


@pytest.mark.skipif(KILLS == 1, reason="a broker of its own is for make chaos")
@pytest.mark.timeout(300)
def test_an_outlet_outlasts_a_broker_that_is_away(tmp_path: Path) -> None:
    jars = servers.find("kafka")
    if jars is None:
        pytest.skip("the server kafka isn't present: run `make servers`")
    with format_kafka(jars) as kafka:
        with kafka.running() as server:
            topic = KafkaTopic(server.bootstrap)
            shop = Shop(
                tmp_path / "shop", f"CREATE OUTLET o FROM spend TO 'kafka://{topic.name}'", settings=topic.settings
            )
            traffic = Traffic(shop)
            traffic.write(3)
            with shop.project() as project:
                project.send()
        with shop.project() as project, sending(project, ["o"], lambda error: pytest.fail(str(error))):
            traffic.write(3)  # the view goes on
            time.sleep(15)
            assert project.status().outlets[0].sent.state == "waiting"
            with kafka.running():
                while project.status().outlets[0].sent.place != Place(1, 5):
                    time.sleep(0.1)
                assert [value["id"] for value in topic.values()] == traffic.ids
