"""The intakes of a project: what fetches the events of its topics, and how each of them is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from headwater import model
from headwater.config import Settings
from headwater.errors import HeadwaterError
from headwater.intake.place import Surroundings, open_intake, open_kafka
from headwater.intake.protocol import Taken
from headwater.intake.run import Intake
from headwater.intake.schema.registry import SchemaRegistry
from headwater.operate.backlog import Backlog
from headwater.operate.intake import drain, taking_in
from headwater.operate.status import TopicStatus, topic_status
from headwater.operate.wish import Wishes
from headwater.project.declarations import Declarations
from headwater.project.logs import Logs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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

    @property
    def schemas(self) -> SchemaRegistry:
        """The project's own schema registry, kept in its log."""
        log = self._logs.schemas()
        with self._guard:
            self._schemas = self._schemas or SchemaRegistry(log)
            return self._schemas

    def open(self, topics: Sequence[str], waits: Waits) -> list[Intake]:
        """The intakes of topics, of all that declare one if none is named."""

        def note(topic: str, error: HeadwaterError | None) -> None:
            self._waiting[topic] = error
            waits(topic, error)

        declared = self._declarations.declared.topics
        named = topics or [topic.name for topic in declared if topic.intake is not None]
        return [self._open(self._declarations.topic(name), note) for name in named]

    def take_in(self, topics: Sequence[str], bulk_above: int | None, spark: Callable[[], SparkSession]) -> list[Taken]:
        """Fetch what there is, a backlog larger than `bulk_above` by tasks of Spark; see `Project.take_in`."""
        opened = self.open(topics, lambda _, __: None)
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

        return taking_in(self.open((), waits), self._wishes, stopped)

    def status(self, topic: str) -> TopicStatus:
        """How a topic is, and its intake if it has one."""
        log, dead = self._logs.of(topic), self._logs.dead(topic)
        paused = self._wishes.paused("intake", topic)
        return topic_status(log, dead, self._waiting.get(topic), self._stopped.get(topic), paused)

    def _open(self, topic: model.Topic, waits: Waits) -> Intake:
        log, dead = self._logs.of(topic.name), self._logs.dead(topic.name)
        return open_intake(log, dead, self._surroundings(topic), committed=self._logs.committed, waits=waits)

    def _take_backlog(self, name: str, above: int, spark: Callable[[], SparkSession]) -> Taken | None:
        """What tasks of Spark took in; None if the backlog is not that large, isn't Kafka's, or needs one process."""
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
        )

    def _group(self, topic: model.Topic) -> str:
        """What Kafka calls those who take in a topic: the project, and the topic too if others read the same."""
        mine, group = topic.intake, f"headwater.{self._settings.name}"
        others = (found.intake for found in self._declarations.declared.topics if found.name != topic.name)
        is_shared = isinstance(mine, model.Kafka) and any(
            isinstance(other, model.Kafka) and mine.overlaps(other) for other in others
        )
        return f"{group}.{topic.name}" if is_shared else group


def _together(bulk: Taken | None, rest: Taken) -> Taken:
    """What was taken in by tasks of Spark, if anything was, and then by this process."""
    if bulk is None:
        return rest
    return replace(rest, rows=bulk.rows + rest.rows, dead=bulk.dead + rest.dead, path=bulk.path)
