"""Running intakes: several at a time, each in a thread of its own, and one that fails stops alone."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from headwater.errors import ArgumentRefused, HeadwaterError, SettingsRefused
from headwater.log import TopicLog
from headwater.operate.halt import Halt, side_by_side

if TYPE_CHECKING:
    from headwater.intake.kafka import KafkaIntake, Taken

T = TypeVar("T")
_logger = logging.getLogger("headwater.run")


def open_intake(
    log: TopicLog,
    dead: TopicLog,
    clusters: Mapping[str, Mapping[str, str]],
    group: str,
    committed: Callable[[TopicLog, int], None],
) -> KafkaIntake:
    """The intake that a topic declares; `clusters` are sections of headwater.toml, `group` is what Kafka calls us."""
    declared = log.topic.intake
    if declared is None:
        raise ArgumentRefused(
            f'"{log.topic.name}" declares no intake',
            detail="Its events are appended by calls.",
            hint="Say connector = 'kafka' and topic = '…' in its WITH.",
            topic=log.topic.name,
        )
    try:
        from headwater.intake.kafka import KafkaIntake
    except ModuleNotFoundError as cause:
        raise SettingsRefused(
            f'the intake of "{log.topic.name}" needs the package {cause.name}',
            detail="It is not installed: Kafka is an extra.",
            hint="Run `pip install 'headwater[kafka]'`.",
            topic=log.topic.name,
        ) from cause
    return KafkaIntake(log, dead, options=clusters.get(declared.cluster, {}), group=group, committed=committed)


def drain(intakes: Sequence[KafkaIntake]) -> list[Taken]:
    """Let each take in what is there now; if some fail, the first error is raised when the others have ended."""
    done = side_by_side([_attempting(one.drain) for one in intakes], len(intakes) or 1, Halt())
    for found in done:
        if isinstance(found, HeadwaterError):
            raise found
    return [found for found in done if not isinstance(found, HeadwaterError)]


def run_intakes(intakes: Sequence[KafkaIntake], halt: Halt) -> list[HeadwaterError]:
    """Let each take in whatever comes until the halt is wanted; returns the errors of those that stopped before."""
    done = side_by_side([_attempting(partial(one.run, halt)) for one in intakes], len(intakes) or 1, halt)
    return [found for found in done if isinstance(found, HeadwaterError)]


class Taking:
    """Runs intakes in threads of their own for as long as the block lasts; one that fails for good is logged."""

    def __init__(self, intakes: Sequence[KafkaIntake]) -> None:
        self._halt = Halt()
        self._threads = [
            threading.Thread(target=self._take_in, args=(one,), name="headwater-intake") for one in intakes
        ]

    def __enter__(self) -> Taking:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._halt.now()
        for thread in self._threads:
            thread.join()

    def _take_in(self, intake: KafkaIntake) -> None:
        try:
            intake.run(self._halt)
        except HeadwaterError as failed:
            _logger.error("an intake has stopped: %s", failed)


def _attempting(task: Callable[[], T]) -> Callable[[], T | HeadwaterError]:
    def attempt() -> T | HeadwaterError:
        try:
            return task()
        except HeadwaterError as failed:
            return failed

    return attempt
