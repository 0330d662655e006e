"""Where a topic's events come from, if not by calls of `append`: what a stream or table declares as its intake."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Kafka:
    """A Kafka topic. Each of its partitions is a source, and the log keeps the next offset of each with the rows.

    `brokers` are addresses (`host:port, …`), else those of `cluster`, a section of headwater.toml. Avro is read
    with the schemas of `registry`, an address, else that of the cluster. `start` is where the
    first run begins: `earliest`, `latest`, or at an instant of Kafka's timestamps. `gaps` says what to do about offsets
    that Kafka has let go of before they were read: `stop`, or `skip` and record them. `commit_every` is how long a
    message may wait for others to share its commit. `message_key`, `message_time` and `message_headers` name columns
    that take what Kafka keeps beside a message's value.
    """

    topic: str
    brokers: str | None = None
    cluster: str = "main"
    format: Literal["json", "avro"] = "json"
    registry: str | None = None
    start: Literal["earliest", "latest"] | datetime = "earliest"
    gaps: Literal["stop", "skip"] = "stop"
    commit_every: timedelta = timedelta(milliseconds=500)
    message_key: str | None = None
    message_time: str | None = None
    message_headers: str | None = None
