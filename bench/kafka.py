"""JSON messages of a real Kafka broker into the log, beside a bare consumer of librdkafka that looks at none of them.

Both read the same topic in the same run, one after the other, in rounds. `python -m bench.kafka [messages]`
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import headwater as hw
from headwater.intake import Generator, json_lines_of
from headwater.model import INSTANT, Column, Stream
from tests.servers.kafka import KafkaServer, start_kafka
from tools import servers

TOPIC = "bids"
PARTITIONS = 4
ROUNDS = 3
DECLARED = """CREATE STREAM bids (id STRING, auction BIGINT, bidder STRING, price DECIMAL(12, 2), channel STRING,
  at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '5' SECOND)
  WITH (connector = 'kafka', topic = 'bids', idle = '30 seconds');"""


def lines(count: int) -> list[bytes]:
    """Bids as JSON, about 130 bytes each."""
    columns = {"id": pa.string(), "auction": pa.int64(), "bidder": pa.string(), "price": pa.decimal128(12, 2)}
    bids = Stream(
        name="bids",
        columns=(
            *(Column(name, kind) for name, kind in columns.items()),
            Column("channel", pa.string()),
            Column("at", INSTANT, nullable=False),
        ),
        time="at",
    )
    found = json_lines_of(next(Generator(topic=bids).batches(count, count)).rows)
    return found.splitlines()


def fill(kafka: KafkaServer, messages: list[bytes]) -> None:
    """The topic with these messages, spread over its partitions."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 500_000}
    )
    for number, message in enumerate(messages):
        producer.produce(TOPIC, message, partition=number % PARTITIONS)
        if number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0


def consume(kafka: KafkaServer, count: int) -> None:
    """The floor: every message fetched by librdkafka and handed to Python, and nothing done with it."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "bare", "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
    seen = 0
    while seen < count:
        seen += sum(1 for message in consumer.consume(5000, 1.0) if message.error() is None)
    consumer.close()


def take_in(kafka: KafkaServer, folder: Path, count: int) -> None:
    """The whole way: fetched, decoded into Arrow, stamped, written and fsynced, with its offsets."""
    folder.mkdir()
    (folder / "headwater.toml").write_text(f'name = "b"\n[kafka.main]\n"bootstrap.servers" = "{kafka.bootstrap}"\n')
    (folder / "bids.sql").write_text(DECLARED)
    with hw.open(folder) as project:
        (taken,) = project.take_in()
    assert (taken.rows, taken.dead) == (count, 0)


@dataclass(frozen=True)
class Spent:
    """Seconds on the wall, and of the processor, librdkafka's threads included."""

    wall: float
    processor: float


def timed(action: Callable[[], object]) -> Spent:
    began, used = time.perf_counter(), time.process_time()
    action()
    return Spent(time.perf_counter() - began, time.process_time() - used)


def median(rounds: list[Spent]) -> Spent:
    return Spent(statistics.median(s.wall for s in rounds), statistics.median(s.processor for s in rounds))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    jars = servers.find("kafka")
    assert jars is not None, "run `make servers ALL=1`"
    print(f"Measured {datetime.now(UTC):%Y-%m-%d} with `make bench`.\n")
    with start_kafka(jars) as kafka, tempfile.TemporaryDirectory() as home:
        fill(kafka, lines(count))
        bare, ours = [], []
        for number in range(ROUNDS):
            bare.append(timed(lambda: consume(kafka, count)))
            ours.append(timed(lambda number=number: take_in(kafka, Path(home) / str(number), count)))
    floor, way = median(bare), median(ours)
    print("| what | messages/s | messages a second of processor time |\n|---|---|---|")
    for what, spent in ((f"bare consumer, {count:,} messages", floor), ("into the log, durable, exactly once", way)):
        print(f"| {what} | {count / spent.wall:,.0f} | {count / spent.processor:,.0f} |")
    print(f"| ratio | {floor.wall / way.wall:.2f}× | {floor.processor / way.processor:.2f}× |")


if __name__ == "__main__":
    main()
