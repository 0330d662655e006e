"""Running intakes: several at a time, each in a thread of its own, and one that fails stops alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from headwater.errors import ArgumentRefused, HeadwaterError, SettingsRefused
from headwater.intake.schema.written import Schemas
from headwater.log import TopicLog
from headwater.model import Topic
from headwater.operate.halt import Halt, side_by_side
from headwater.operate.wish import POLL, Wishes

if TYPE_CHECKING:
    from headwater.intake.kafka import KafkaIntake, Taken
    from headwater.intake.messages import Codec

T = TypeVar("T")


def open_intake(
    log: TopicLog,
    dead: TopicLog,
    clusters: Mapping[str, Mapping[str, str]],
    group: str,
    folder: Path,
    schemas: Schemas,
    committed: Callable[[TopicLog, int], None],
    waits: Callable[[str, HeadwaterError | None], None],
) -> KafkaIntake:
    """The intake that a topic declares; `clusters` are sections of headwater.toml, `group` is what Kafka calls us.

    `folder` is where processes of this machine tell each other apart; `schemas` are those of the project, for topics
    that name no registry.
    """
    declared = log.topic.intake
    if declared is None:
        raise ArgumentRefused(
            f'"{log.topic.name}" declares no intake',
            detail="Its events are appended by calls.",
            hint="Say connector = 'kafka' and topic = '…' in its WITH.",
            topic=log.topic.name,
        )
    with _installed(log.topic):
        from headwater.intake.kafka import KafkaIntake
    options = clusters.get(declared.cluster, {})
    return KafkaIntake(
        log, dead, options=options, group=group, folder=folder, schemas=schemas, committed=committed, waits=waits
    )


def open_codec(topic: Topic, clusters: Mapping[str, Mapping[str, str]], schemas: Schemas) -> Codec | None:
    """What reads the messages of a topic; None if it has none, or if they are plain JSON."""
    if topic.intake is None:
        return None
    with _installed(topic):
        from headwater.intake.kafka.codec import codec_of
    return codec_of(topic, clusters.get(topic.intake.cluster, {}), schemas)


@contextmanager
def _installed(topic: Topic) -> Iterator[None]:
    """Say which extra is missing where an import fails."""
    try:
        yield
    except ModuleNotFoundError as cause:
        raise SettingsRefused(
            f'the intake of "{topic.name}" needs the package {cause.name}',
            detail="It is not installed: Kafka is an extra.",
            hint="Run `pip install 'headwater[kafka]'`.",
            topic=topic.name,
        ) from cause


def drain(intakes: Sequence[KafkaIntake]) -> list[Taken]:
    """Let each take in what is there now; if some fail, the first error is raised when the others have ended."""
    done = side_by_side([_attempting(one.drain) for one in intakes], len(intakes) or 1, Halt())
    for found in done:
        if isinstance(found, HeadwaterError):
            raise found
    return [found for found in done if not isinstance(found, HeadwaterError)]


def run_intakes(intakes: Sequence[KafkaIntake], halt: Halt, wishes: Wishes) -> list[HeadwaterError]:
    """Let each take in whatever comes until the halt is wanted; returns the errors of those that stopped before."""
    done = side_by_side([_attempting(partial(_take, one, halt, wishes)) for one in intakes], len(intakes) or 1, halt)
    return [found for found in done if isinstance(found, HeadwaterError)]


def _take(intake: KafkaIntake, halt: Halt, wishes: Wishes) -> None:
    """Take in whatever comes until the halt is wanted, but for the time that the intake is paused."""
    name = intake.log.topic.name
    while not halt.is_wanted:
        if wishes.paused("intake", name):
            halt.wait(POLL)
            continue
        part = halt.part()
        with wishes.obeyed("intake", name, part):
            intake.run(part)
        if not part.is_wanted:
            return


@contextmanager
def taking_in(
    intakes: Sequence[KafkaIntake], wishes: Wishes, failed: Callable[[str, HeadwaterError], object]
) -> Iterator[Callable[[], bool]]:
    """Let each take in whatever comes, meanwhile, in a thread of its own; `failed` is told of one that stops.

    What is given tells whether any still does.
    """
    halt = Halt()

    def take(intake: KafkaIntake) -> None:
        try:
            _take(intake, halt, wishes)
        except HeadwaterError as error:
            failed(intake.log.topic.name, error)

    threads = [threading.Thread(target=take, args=(one,), name="headwater-intake", daemon=True) for one in intakes]
    for thread in threads:
        thread.start()
    try:
        yield lambda: any(thread.is_alive() for thread in threads)
    finally:
        halt.now()
        for thread in threads:
            thread.join()


def _attempting(task: Callable[[], T]) -> Callable[[], T | HeadwaterError]:
    def attempt() -> T | HeadwaterError:
        try:
            return task()
        except HeadwaterError as failed:
            return failed

    return attempt
