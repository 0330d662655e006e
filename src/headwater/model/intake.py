"""The intake that a stream or table declares: where its topic's events come from, if not by calls of `append`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Intake(ABC):
    """The options of every intake. `commit_every` is how long an event may wait for others to share its commit.

    If more than the share `max_dead` of a minute's events can't be read, the intake pauses.
    """

    commit_every: timedelta = timedelta(milliseconds=500)
    max_dead: float | None = 0.5

    @property
    @abstractmethod
    def connector(self) -> str:
        """The name of its kind in declarations."""

    @property
    def transactions_of(self) -> tuple[str | None, ...] | None:
        """The place whose transactions it takes in: topics of one place are read at one cut. None if there are none."""
        return None


@dataclass(frozen=True, kw_only=True)
class Connector(Intake):
    """A way in that an installed package brings along, by an entry point of the group `headwater.intakes`.

    `name` is that of the entry point; `options` are names and values, for the package to read.
    """

    name: str
    options: tuple[tuple[str, str], ...] = ()

    @property
    def connector(self) -> str:
        """The name of the entry point."""
        return self.name


@dataclass(frozen=True, kw_only=True)
class Folder(Intake):
    """A folder, or a prefix of an object store, whose files are taken in once each.

    `path` is a path from the project's folder, or a URL (`s3://bucket/in`). Files whose names match `pattern` are read;
    `**` stands for folders in between. Their format follows from their names, unless it is given. Of those that are
    ready at the same time, the first by `order` comes first. A file is ready when it has not changed for `settle`; one
    of an object store is as soon as it is there. `poll` is how often is looked. `gaps` says what to do about a file
    that is gone, or was replaced, before all of it was read: `stop`, or `skip` and record it.
    """

    path: str
    pattern: str = "*"
    format: Literal["json", "csv", "tsv", "parquet", "arrow", "avro"] | None = None
    order: Literal["name", "modified"] = "name"
    settle: timedelta = timedelta(seconds=2)
    poll: timedelta = timedelta(seconds=1)
    gaps: Literal["stop", "skip"] = "stop"

    @property
    def connector(self) -> str:
        """`folder`."""
        return "folder"


@dataclass(frozen=True, kw_only=True)
class Postgres(Intake):
    """A table of a PostgreSQL database (`schema.name`), whose rows come first, and then every change of them.

    Or an outbox: a table in which each row is an event, of which a stream takes those whose aggregate is of the type
    that `outbox` names. Its columns are those of the payload, and `message_id`, `message_key`, `message_type`,
    `message_value` and `message_headers` name columns that take what stands beside it. With `poll` it is asked by
    queries so often, in place of a slot.

    `url` is the address of the database; it may name variables of the environment. The tables of a project in one
    database share a `slot`, from which PostgreSQL gives changes, and a `publication`, which names the tables; without
    names both are called by the project. `message_time` and `transaction` name columns that take the time of the
    commit, and the id of the transaction, that made a change. `gaps` says what to do if the slot no longer has what
    comes behind the log: `stop`, or take a new `snapshot`. `columns` says what to do about columns that the database
    has otherwise than declared: `evolve` follows it and stops at one that is gone, which `ignore` takes for NULL, and
    `stop` also stops at one that is added, or that has got a type with values which wouldn't fit.
    """

    url: str
    table: str
    slot: str | None = None
    publication: str | None = None
    gaps: Literal["stop", "snapshot"] = "stop"
    columns: Literal["evolve", "ignore", "stop"] = "evolve"
    message_time: str | None = None
    transaction: str | None = None
    outbox: str | None = None
    poll: timedelta | None = None
    message_id: str | None = None
    message_key: str | None = None
    message_type: str | None = None
    message_value: str | None = None
    message_headers: str | None = None

    @property
    def connector(self) -> str:
        """`postgres`."""
        return "postgres"

    @property
    def has_slot(self) -> bool:
        """Tells whether PostgreSQL keeps a slot for it."""
        return self.poll is None

    @property
    def transactions_of(self) -> tuple[str | None, ...] | None:
        """The slot in its database."""
        return (self.url, self.slot) if self.has_slot else None

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that don't come from what a row or a payload says."""
        named = (
            self.message_id,
            self.message_key,
            self.message_type,
            self.message_value,
            self.message_headers,
            self.message_time,
            self.transaction,
        )
        return tuple(name for name in named if name is not None)


@dataclass(frozen=True, kw_only=True)
class Mysql(Intake):
    """A table of a MariaDB or MySQL database (`name`, or `database.name`), whose rows come first, then every change.

    `url` is the address of the database; it may name variables of the environment. The tables of a project that say
    the same one are read together, from the server's binary log. `gaps`, `columns`, `message_time` and `transaction`
    are those of `Postgres`.
    """

    url: str
    table: str
    gaps: Literal["stop", "snapshot"] = "stop"
    columns: Literal["evolve", "ignore", "stop"] = "evolve"
    message_time: str | None = None
    transaction: str | None = None

    @property
    def connector(self) -> str:
        """`mysql`."""
        return "mysql"

    @property
    def transactions_of(self) -> tuple[str | None, ...] | None:
        """The binary log of its server."""
        return (self.url,)

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that don't come from what a row says."""
        return tuple(name for name in (self.message_time, self.transaction) if name is not None)


@dataclass(frozen=True, kw_only=True)
class Kafka(Intake):
    """A Kafka topic, several (`a, b`), or all that match a pattern (`^payments-.*`).

    Each partition is a source, and the log keeps the next offset of each with the rows.

    `brokers` are addresses (`host:port, …`), else those of `cluster`, a section of headwater.toml. Avro, Protobuf and
    JSON Schema are read with the schemas of `registry`, an address, else that of the cluster, else the project's own.
    `envelope` is what a row comes in, if it does. CSV has `fields` in this order, all columns if it is empty, with a
    `delimiter` between them. `start` is where the first run begins: `earliest`, `latest`, at an instant of Kafka's
    timestamps, or at an offset of each partition. `gaps` says what to do about offsets that Kafka has let go of before
    they were read: `stop`, or `skip` and record them. Copies of dead letters go to `dead_topic`, another topic of the
    same cluster. `message_value`, `message_key`, `message_time` and `message_headers` name columns that take the value
    of a message as it is, and what Kafka keeps beside it.
    `version_from` is what tells which version of the topic a message is of: `header NAME`, `field NAME` or `registry`.

    `archive` is where events of the topic are that Kafka no longer has: a path or a URL, with files or a Delta table.
    It is loaded as history before the first message is read. `archive_offset` are its columns that have the partition
    and the offset of each row, and reading goes on behind the last one of each partition; without them it goes on at
    `start`, which is then an instant.
    """

    topic: str
    brokers: str | None = None
    cluster: str = "main"
    format: Literal["json", "avro", "protobuf", "json-schema", "csv", "raw"] = "json"
    registry: str | None = None
    envelope: Literal["debezium"] | None = None
    fields: tuple[str, ...] = ()
    delimiter: str = ","
    start: Literal["earliest", "latest"] | datetime | tuple[tuple[int, int], ...] = "earliest"
    gaps: Literal["stop", "skip"] = "stop"
    dead_topic: str | None = None
    message_value: str | None = None
    message_key: str | None = None
    message_time: str | None = None
    message_headers: str | None = None
    version_from: str | None = None
    archive: str | None = None
    archive_format: Literal["json", "csv", "tsv", "parquet", "arrow", "avro", "delta"] | None = None
    archive_offset: tuple[str, ...] = ()

    @property
    def connector(self) -> str:
        """`kafka`."""
        return "kafka"

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of the topics; none if they are told by a pattern."""
        names = () if self.pattern is not None else self.topic.split(",")
        return tuple(name.strip() for name in names)

    @property
    def pattern(self) -> str | None:
        """The regular expression that the names of the topics match, if they are told by one."""
        return self.topic if self.topic.startswith("^") else None

    def overlaps(self, other: Kafka) -> bool:
        """Tells whether both may read the same topic of the same cluster."""
        if (self.brokers, self.cluster) != (other.brokers, other.cluster):
            return False
        if self.pattern is not None and other.pattern is not None:
            return True
        for one, two in ((self, other), (other, self)):
            if one.pattern is not None:
                return any(re.search(one.pattern, name) for name in two.topics)
        return not {*self.topics}.isdisjoint(other.topics)

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that don't come from what a message's value says."""
        named = (self.message_value, self.message_key, self.message_time, self.message_headers)
        return tuple(name for name in named if name is not None)
