"""Where a topic's events come from, if not by calls of `append`: what a stream or table declares as its intake."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Kafka:
    """A Kafka topic. Each of its partitions is a source, and the log keeps the next offset of each with the rows.

    `brokers` are addresses (`host:port, …`), else those of `cluster`, a section of headwater.toml. Avro, Protobuf and
    JSON Schema are read with the schemas of `registry`, an address, else that of the cluster, else the project's own.
    `envelope` is what a row comes in, if it does. CSV has `fields` in this order, all columns if it is empty, with a
    `delimiter` between them.
    `start` is where the first run begins: `earliest`, `latest`, or at an instant of Kafka's timestamps. `gaps` says
    what to do about offsets that Kafka has let go of before they were read: `stop`, or `skip` and record them.
    `commit_every` is how long a message may wait for others to share its commit. `message_value`, `message_key`,
    `message_time` and `message_headers` name columns that take a message's value as it is, and what Kafka keeps beside.
    """

    topic: str
    brokers: str | None = None
    cluster: str = "main"
    format: Literal["json", "avro", "protobuf", "json-schema", "csv", "raw"] = "json"
    registry: str | None = None
    envelope: Literal["debezium"] | None = None
    fields: tuple[str, ...] = ()
    delimiter: str = ","
    start: Literal["earliest", "latest"] | datetime = "earliest"
    gaps: Literal["stop", "skip"] = "stop"
    commit_every: timedelta = timedelta(milliseconds=500)
    message_value: str | None = None
    message_key: str | None = None
    message_time: str | None = None
    message_headers: str | None = None

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that don't come from what a message's value says."""
        named = (self.message_value, self.message_key, self.message_time, self.message_headers)
        return tuple(name for name in named if name is not None)
