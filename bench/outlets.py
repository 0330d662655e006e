"""Changes of a view sent on, beside the fastest that the client library does with the same bytes.

One batch of a view is written to its store, without Spark, and sent to a real Kafka broker and to a Delta table. Beside
Kafka, in the same run: a bare transactional producer that is given the same messages, ready made.
`python -m bench.outlets [changes]`
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer

from headwater.outlets.encode import JsonEncoder
from headwater.outlets.message import Message, Messages
from headwater.project import Project
from tests.outlets.kafka.topic import KafkaTopic
from tests.outlets.shop import Shop, row
from tests.servers.kafka import start_kafka
from tools import servers

ROUNDS = 3
OUTLETS = "CREATE OUTLET {kind}_{number} FROM spend TO '{to}' WITH (envelope = '{envelope}')"


def seconds(step: Callable[[], object]) -> float:
    """How long a step takes."""
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def send(project: Project) -> None:
    """Send all that there is."""
    (sent,) = project.send()
    assert sent.error is None, sent.error


def produce(brokers: str, topic: str, messages: list[Message]) -> None:
    """The floor: the same messages in one transaction of a bare producer."""
    options = {"bootstrap.servers": brokers, "transactional.id": topic, "linger.ms": 5}
    producer = Producer(options)
    producer.init_transactions()
    producer.begin_transaction()
    for message in messages:
        headers: list[tuple[str, str | bytes | None]] = list(message.headers.items())
        while True:
            try:
                producer.produce(topic, key=message.key, value=message.value, headers=headers)
                break
            except BufferError:
                producer.poll(0.1)
    producer.commit_transaction()


def to_kafka(shop: Shop, brokers: str, envelope: str, number: int) -> tuple[float, float]:
    """Seconds of the outlet, and of the bare producer."""
    target, bare = KafkaTopic(brokers), KafkaTopic(brokers)
    shop.declare(OUTLETS.format(kind=envelope, number=number, to=f"kafka://{target.name}", envelope=envelope))
    with shop.project() as project:
        ours = seconds(lambda: send(project))
        (planned,) = project.plan().outlets.values()
        messages = Messages("shop", planned, JsonEncoder())
        made = [found for part in project.views.opened().ask.feed(planned).after(None) for found in messages.of(part)]
    return ours, seconds(lambda: produce(brokers, bare.name, made))


def to_delta(shop: Shop, envelope: str, number: int) -> float:
    """Seconds of the outlet."""
    shop.declare(OUTLETS.format(kind="delta", number=number, to=f"delta://exports/{number}", envelope=envelope))
    with shop.project() as project:
        return seconds(lambda: send(project))


def main(count: int = 200_000) -> None:
    """Measure and print."""
    jars = servers.find("kafka")
    assert jars is not None, "run `make servers ALL=1`"
    with tempfile.TemporaryDirectory() as folder, start_kafka(jars) as kafka:
        settings = f'[kafka.main]\n"bootstrap.servers" = "{kafka.bootstrap}"\n'
        shop = Shop(Path(folder) / "shop", "CREATE OUTLET o FROM spend TO 'delta://unused'", settings=settings)
        shop.write(0, [row(f"card-{number}", f"{number}.00") for number in range(count)])
        to_kafka(shop, kafka.bootstrap, "upsert", 0)  # the broker makes its own topics now
        print("| target | envelope | changes/s | bare producer, messages/s | ratio |\n|---|---|---|---|---|")
        for envelope in ("upsert", "change", "debezium"):
            rounds = [to_kafka(shop, kafka.bootstrap, envelope, number) for number in range(1, ROUNDS + 1)]
            ours, floor = (statistics.median(found) for found in zip(*rounds, strict=True))
            print(f"| Kafka | {envelope} | {count / ours:,.0f} | {count / floor:,.0f} | {floor / ours:.2f}× |")
        for place, envelope in enumerate(("upsert", "change")):
            numbers = range(place * ROUNDS, (place + 1) * ROUNDS)
            ours = statistics.median(to_delta(shop, envelope, number) for number in numbers)
            print(f"| Delta | {envelope} | {count / ours:,.0f} | | |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
