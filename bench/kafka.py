"""Messages of a real Kafka broker into the log, beside a bare consumer of librdkafka that looks at none of them.

Each format has a topic with the same bids, which both read in the same run, one after the other, in rounds. The same
backlog is read by one process and by tasks of Spark. Then bids come a few at a time, and what is measured is how long
it takes until each is durable.
`python -m bench.kafka [messages]`
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from fastavro import parse_schema, schemaless_writer
from google.protobuf.message_factory import GetMessageClass

import headwater as hw
from headwater.intake import Generator
from headwater.json_text import json_lines_of
from headwater.kafka.client import TUNED
from headwater.model import INSTANT, Column, Stream
from headwater.operate.halt import Halt
from headwater.schemas.known import Draft
from headwater.schemas.protobuf import compile_protobuf
from headwater.schemas.written import Written
from tests.servers.kafka import KafkaServer, start_kafka
from tools import servers

PARTITIONS = 4
ROUNDS = 3
COLUMNS = "id STRING, auction BIGINT, bidder STRING, price DECIMAL(12, 2), channel STRING, at TIMESTAMP NOT NULL"
AVRO = {
    "type": "record",
    "name": "Bid",
    "fields": [
        {"name": "id", "type": ["null", "string"]},
        {"name": "auction", "type": ["null", "long"]},
        {"name": "bidder", "type": ["null", "string"]},
        {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}]},
        {"name": "channel", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    ],
}
PROTOBUF = """syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "confluent/type/decimal.proto";
message Bid { optional string id = 1; optional int64 auction = 2; optional string bidder = 3;
  confluent.type.Decimal price = 4; optional string channel = 5; google.protobuf.Timestamp at = 6; }"""
FRAME = b"\0\0\0\0\1"
"""What stands before a message of the registry's first schema."""
SCHEMAS = {"avro": Draft("AVRO", json.dumps(AVRO)), "protobuf": Draft("PROTOBUF", PROTOBUF)}


def bids(count: int) -> pa.Table:
    """Bids, about 130 bytes each as JSON."""
    columns = {"id": pa.string(), "auction": pa.int64(), "bidder": pa.string(), "price": pa.decimal128(12, 2)}
    topic = Stream(
        name="bids",
        columns=(
            *(Column(name, kind) for name, kind in columns.items()),
            Column("channel", pa.string()),
            Column("at", INSTANT, nullable=False),
        ),
        time="at",
    )
    return next(Generator(topic=topic).batches(count, count)).rows.select([*columns, "channel", "at"])


def in_json(rows: pa.Table) -> Iterable[bytes]:
    return json_lines_of(rows).splitlines()


def in_avro(rows: pa.Table) -> Iterable[bytes]:
    schema = parse_schema(AVRO)
    for row in rows.to_pylist():
        body = BytesIO(FRAME)
        body.seek(len(FRAME))
        schemaless_writer(body, schema, row)
        yield body.getvalue()


def in_protobuf(rows: pa.Table) -> Iterable[bytes]:
    bid = GetMessageClass(compile_protobuf(Written("PROTOBUF", PROTOBUF)).message_types_by_name["Bid"])
    for row in rows.to_pylist():
        given = {name: row[name] for name in ("id", "auction", "bidder", "channel", "at")}
        message = bid(**{name: value for name, value in given.items() if value is not None})
        if row["price"] is not None:
            message.price.value = int(row["price"].scaleb(2)).to_bytes(8, "big", signed=True)
            message.price.scale = 2
        yield FRAME + b"\0" + message.SerializeToString()


WRITERS: dict[str, Callable[[pa.Table], Iterable[bytes]]] = {
    "json": in_json,
    "avro": in_avro,
    "protobuf": in_protobuf,
}


def fill(kafka: KafkaServer, topic: str, messages: Iterable[bytes]) -> None:
    """A topic with these messages, spread over its partitions."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(30)
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 500_000}
    )
    for number, message in enumerate(messages):
        while True:
            try:
                producer.produce(topic, message, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0


def consume(kafka: KafkaServer, topic: str, count: int) -> None:
    """The floor: every message fetched by librdkafka and handed to Python, and nothing done with it."""
    settings = {"bootstrap.servers": kafka.bootstrap, "group.id": "bare", "isolation.level": "read_committed"}
    consumer = Consumer({**TUNED, **settings})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    seen = 0
    while seen < count:
        seen += sum(1 for message in consumer.consume(5000, 0.1) if message.error() is None)
    consumer.close()


def project_in(folder: Path, kafka: KafkaServer, topic: str, form: str, more: str = "") -> hw.project.Project:
    """A project that takes a topic in."""
    folder.mkdir()
    cluster = f'[kafka.main]\n"bootstrap.servers" = "{kafka.bootstrap}"\n'
    (folder / "headwater.toml").write_text(f'name = "{folder.name}"\n{cluster}')
    options = f"connector = 'kafka', topic = '{topic}', format = '{form}', idle = '30 seconds'{more}"
    text = f"CREATE STREAM bids ({COLUMNS}, WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH ({options});"
    (folder / "bids.sql").write_text(text)
    project = hw.open(folder)
    if form in SCHEMAS:
        assert project.schemas.register(f"{topic}-value", SCHEMAS[form]).number == 1
    return project


def take_in(kafka: KafkaServer, folder: Path, form: str, count: int) -> None:
    """The whole way: fetched, decoded into Arrow, stamped, written and fsynced, with its offsets."""
    with project_in(folder, kafka, form, form) as project:
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


def compare(kafka: KafkaServer, home: Path, count: int) -> None:
    """Print messages a second, of a bare consumer and into the log, format by format."""
    head = "format | bare consumer, messages/s | into the log, messages/s | ratio | a second of processor time | ratio"
    print(f"| {head} |\n|{'---|' * 6}")
    rows = bids(count)
    for form, write in WRITERS.items():
        fill(kafka, form, write(rows))
        bare, ours = [], []
        for number in range(ROUNDS):
            bare.append(timed(lambda form=form: consume(kafka, form, count)))
            folder = home / f"{form}{number}"
            ours.append(timed(lambda folder=folder, form=form: take_in(kafka, folder, form, count)))
        floor, way = median(bare), median(ours)
        speeds = f"{count / floor.wall:,.0f} | {count / way.wall:,.0f} | {floor.wall / way.wall:.2f}×"
        print(f"| {form} | {speeds} | {count / way.processor:,.0f} | {floor.processor / way.processor:.2f}× |")


def in_bulk(kafka: KafkaServer, home: Path, count: int) -> None:
    """Print messages a second of a backlog: by one process, and by tasks of Spark that is running already."""
    print("\n| a backlog of JSON | messages/s |\n|---|---|")
    for path, above in (("process", None), ("spark", 0)):
        spent = []
        for number in range(ROUNDS):
            with project_in(home / f"backlog-{path}{number}", kafka, "json", "json") as project:
                if above is not None:
                    project.views.opened().catalog.spark.range(0, 8, 1, 8).mapInArrow(
                        lambda found: found, "id long"
                    ).collect()
                spent.append(timed(partial(taken, project, path, above, count)))
        print(f"| by {'this process' if above is None else 'tasks of Spark'} | {count / median(spent).wall:,.0f} |")


def taken(project: Any, path: str, above: int | None, count: int) -> None:
    (found,) = project.take_in(bulk_above=above)
    assert (found.rows, found.path) == (count, path)


def trickle(kafka: KafkaServer, home: Path, every: str, seconds: int = 10, rate: int = 200) -> None:
    """Print how long it takes from a message's sending to the commit that has it, at a moderate rate."""
    topic = f"trickle-{every.replace(' ', '-')}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    with project_in(home / topic, kafka, topic, "json", f", commit_every = '{every}', message_time = 'at'") as project:
        halt = Halt()
        (intake,) = project.intakes.open()
        thread = threading.Thread(target=intake.run, args=(halt,))
        thread.start()
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 0})
        began = time.monotonic()
        for number in range(seconds * rate):
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
            producer.produce(topic, b'{"id": "%d"}' % number)
            producer.poll(0)
        producer.flush(30)
        while project.read("bids").num_rows < seconds * rate:
            time.sleep(0.1)
        halt.now()
        thread.join()
        delays = durable_after(project)
    print(f"| {every} | {np.percentile(delays, 50):.0f} ms | {np.percentile(delays, 99):.0f} ms |")


def durable_after(project: Any) -> list[float]:
    """Milliseconds from each message to its commit; the first two seconds, when the group is joined, are left out."""
    made = {commit.number: commit.at for commit in project.log.commits("bids", last=1_000_000)}
    rows = project.read("bids", columns=["at", "_commit"]).to_pylist()
    begin = rows[0]["at"].timestamp() + 2
    late = (row for row in rows if row["at"].timestamp() > begin)
    return [(made[row["_commit"]] - row["at"]).total_seconds() * 1000 for row in late]


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    jars = servers.find("kafka")
    assert jars is not None, "run `make servers ALL=1`"
    print(f"Measured {datetime.now(UTC):%Y-%m-%d} with `make bench`, {count:,} messages in {PARTITIONS} partitions.\n")
    with start_kafka(jars) as kafka, tempfile.TemporaryDirectory() as home:
        compare(kafka, Path(home), count)
        in_bulk(kafka, Path(home), count)
        print("\n| `commit_every` | sent to durable, p50 | p99 |\n|---|---|---|")
        for every in ("500 milliseconds", "50 milliseconds"):
            trickle(kafka, Path(home), every)


if __name__ == "__main__":
    main()
