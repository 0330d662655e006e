"""The intakes of a project: what fetches the events of its topics, and how each of them is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from headwater import model
from headwater.config import Settings
from headwater.engine.java import find_runtime
from headwater.errors import ArgumentRefused, HeadwaterError
from headwater.installed import extra
from headwater.intake.messages import Codec
from headwater.intake.opening import Surroundings, open_codec, open_intake, open_kafka
from headwater.intake.protocol import Taken
from headwater.intake.run import Intake
from headwater.log.producer import Move
from headwater.operate.backlog import Backlog
from headwater.operate.intake import drain, taking_in
from headwater.operate.status import TopicStatus, topic_status
from headwater.operate.wish import Wishes
from headwater.project.declarations import Declarations
from headwater.project.logs import Logs
from headwater.schemas.registry import SchemaRegistry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.intake.postgres.kept import Held, SlotStatus
    from headwater.intake.postgres.slot import Slot

Waits = Callable[[str, HeadwaterError | None], None]
"""Told what a topic's intake waits for, and (None) when it goes on."""


class Intakes:
    """Opens the intakes of topics, and knows what those that run here wait for or have stopped at."""

    def __init__(
        self,
        declarations: Declarations,
        logs: Logs,
        wishes: Wishes,
        folder: Path,
        settings: Settings,
    ) -> None:
        self._declarations = declarations
        self._logs = logs
        self._wishes = wishes
        self._folder = folder
        self._settings = settings
        self._guard = threading.Lock()
        self._schemas: SchemaRegistry | None = None
        self._waiting: dict[str, HeadwaterError | None] = {}
        self._stopped: dict[str, HeadwaterError] = {}
        self._held: Held | None = None

    @property
    def schemas(self) -> SchemaRegistry:
        """The project's own schema registry, kept in its log."""
        log = self._logs.schemas()
        with self._guard:
            self._schemas = self._schemas or SchemaRegistry(log)
            return self._schemas

    def codec(self, topic: model.Topic) -> Codec | None:
        """The codec of a topic's messages, if they have a schema; see `open_codec`."""
        return open_codec(topic, self._settings.kafka, self.schemas)

    def open(self, *topics: str, waits: Waits = lambda _, __: None) -> list[Intake]:
        """The intakes of topics, by default of all that declare one, to be run by the caller.

        `waits` is told by a run what it waits for, and (None) when it goes on.
        """

        def note(topic: str, error: HeadwaterError | None) -> None:
            self._waiting[topic] = error
            waits(topic, error)

        declared = self._declarations.declared.topics
        named = topics or [topic.name for topic in declared if topic.intake is not None]
        return [self._open(self._declarations.topic(name), note) for name in named]

    def take_in(self, topics: Sequence[str], bulk_above: int | None, spark: Callable[[], SparkSession]) -> list[Taken]:
        """Fetch what there is, a backlog larger than `bulk_above` by tasks of Spark; see `Project.take_in`."""
        opened = self.open(*topics)
        chosen = [one for one in opened if not self._wishes.paused("intake", one.log.topic.name)]
        names = [one.log.topic.name for one in chosen]
        bulk = {} if bulk_above is None else {name: self._take_backlog(name, bulk_above, spark) for name in names}
        return [_together(bulk.get(taken.stream), taken) for taken in drain(chosen)]

    def running(
        self, waits: Waits, failed: Callable[[HeadwaterError], None]
    ) -> AbstractContextManager[Callable[[], bool]]:
        """Meanwhile let every intake run; what is given tells whether one still does."""
        self._stopped.clear()

        def stopped(topic: str, error: HeadwaterError) -> None:
            self._stopped[topic] = error
            failed(error)

        return taking_in(self.open(waits=waits), self._wishes, stopped)

    def slots(self) -> list[SlotStatus]:
        """The slots of PostgreSQL that the project's tables are taken in by, as their databases have them."""
        slots = self._slots()
        if not slots:
            return []
        from headwater.intake.postgres.kept import status_of

        return [status_of(slot) for slot in slots]

    def drop_slot(self, name: str) -> Sequence[str]:
        """Drop a slot with its publication; returns what was dropped."""
        slots = self._slots()
        for slot in slots:
            if slot.name == name:
                from headwater.intake.postgres.kept import drop

                return drop(slot)
        known = ", ".join(slot.name for slot in slots) or "none"
        raise ArgumentRefused(
            f'no table of the project is taken in by a slot "{name}"',
            detail=f"Its slots are {known}.",
            hint="Name one of them: a slot is dropped before its tables are declared no more.",
        )

    def _slots(self) -> list[Slot]:
        """The slots, each once."""
        topics = [topic for topic in self._declarations.declared.topics if _has_slot(topic)]
        slots = [self._slot(topic) for topic in topics]
        return list({(slot.address, slot.name): slot for slot in slots}.values())

    def _slot(self, topic: model.Topic) -> Slot:
        with extra("cdc", "a slot of PostgreSQL", topic=topic.name):
            from headwater.intake.postgres.slot import slot_of
        topics, state = self._declarations.declared.topics, self._folder / ".headwater"
        return slot_of(topic, topics, self._settings.name, state, find_runtime)

    def _held_for(self, topic: model.Topic) -> int | None:
        """The bytes that a database holds back for a topic; None if it has none, or can't tell."""
        postgres = topic.intake
        if not isinstance(postgres, model.Postgres) or not postgres.has_slot:
            return None
        if self._held is None:
            try:
                with extra("cdc", "a slot of PostgreSQL", topic=topic.name):
                    from headwater.intake.postgres.kept import Held
            except HeadwaterError:
                return None
            self._held = Held()
        return self._held.of(postgres, lambda: self._slot(topic))

    def status(self, topic: str) -> TopicStatus:
        """The status of a topic, and of its intake if it has one."""
        log, dead = self._logs.of(topic), self._logs.dead(topic)
        paused = self._wishes.paused("intake", topic)
        waits, stopped = self._waiting.get(topic), self._stopped.get(topic)
        return replace(topic_status(log, dead, waits, stopped, paused), held=self._held_for(log.topic))

    def _open(self, topic: model.Topic, waits: Waits) -> Intake:
        log, dead = self._logs.of(topic.name), self._logs.dead(topic.name)
        return open_intake(log, dead, self._surroundings(topic), committed=self._logs.committed, waits=waits)

    def read_again(self, topic: model.Topic, moves: Sequence[Move], arrived_at: datetime) -> tuple[pa.Table, pa.Array]:
        """The rows that an intake from Kafka has moved over, and of each the source."""
        if not isinstance(topic.intake, model.Kafka):
            raise ArgumentRefused(
                f'the source of "{topic.name}" can\'t be read again',
                detail="Only Kafka gives the same events for the same positions.",
                hint="Put it back from a backup (--from URL), or declare it lost (--declare-lost).",
                topic=topic.name,
            )
        with extra("kafka", f'the intake of "{topic.name}"', topic=topic.name):
            from headwater.intake.kafka.again import read_again
        options = self._settings.kafka.get(topic.intake.cluster, {})
        return read_again(topic, options, self._group(topic), self.schemas, moves, arrived_at)

    def _take_backlog(self, name: str, above: int, spark: Callable[[], SparkSession]) -> Taken | None:
        """Take in by tasks of Spark; None if the backlog is not that large, isn't Kafka's, or needs one process."""
        topic = self._declarations.topic(name)
        kafka = topic.intake
        if not isinstance(kafka, model.Kafka) or kafka.dead_topic is not None:
            return None
        schemas, surroundings = self._logs.schemas().storage, self._surroundings(topic)
        backlog = Backlog(
            self._logs.of(name),
            self._logs.dead(name),
            open_kafka(topic, surroundings),
            surroundings.clusters.get(kafka.cluster, {}),
            surroundings.group,
            (schemas.url, schemas.options),
            self._logs.committed,
        )
        return backlog.take(above, spark)

    def _surroundings(self, topic: model.Topic) -> Surroundings:
        return Surroundings(
            self._settings.name,
            self._folder,
            self._folder / ".headwater",
            self._group(topic),
            self._settings.kafka,
            self._settings.storage,
            self.schemas,
            self._logs.taken_in,
            tuple(self._declarations.declared.topics),
            find_runtime,
        )

    def _group(self, topic: model.Topic) -> str:
        """The name in Kafka of those who take in a topic: the project, and the topic too if others read the same."""
        mine, group = topic.intake, f"headwater.{self._settings.name}"
        others = (another.intake for another in self._declarations.declared.topics if another.name != topic.name)
        is_shared = isinstance(mine, model.Kafka) and any(
            isinstance(other, model.Kafka) and mine.overlaps(other) for other in others
        )
        return f"{group}.{topic.name}" if is_shared else group


def _has_slot(topic: model.Topic) -> bool:
    return isinstance(topic.intake, model.Postgres) and topic.intake.has_slot


def _together(bulk: Taken | None, rest: Taken) -> Taken:
    """The sum of what was taken in by tasks of Spark, if anything was, and then by this process."""
    if bulk is None:
        return rest
    return replace(rest, rows=bulk.rows + rest.rows, dead=bulk.dead + rest.dead, path=bulk.path)
