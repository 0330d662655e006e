"""Versions of streams and tables: whether those that are declared earlier come to today's."""

from __future__ import annotations

from collections.abc import Iterator

from headwater import model
from headwater.errors import Finding
from headwater.findings import OptionRefused, UnknownName


def judge_upcasts(project: model.Project) -> Iterator[Finding]:
    """The findings about upcasts by themselves: of nothing, or of a version that isn't earlier."""
    for upcast in project.upcasts:
        topic = project.find(upcast.topic)
        if not isinstance(topic, model.Topic):
            yield UnknownName(
                f'an upcast is of "{upcast.topic}", which is no stream or table',
                hint="Name one that is declared.",
                origin=upcast.origin,
                name=upcast.topic,
            )
        elif upcast.from_version >= topic.version:
            yield OptionRefused(
                f'an upcast of "{topic.name}" is from version {upcast.from_version}, which is not earlier',
                detail=f'"{topic.name}" is of version {topic.version}.',
                hint=f"Say version = {upcast.from_version + 1} in its declaration, or leave the upcast out.",
                origin=upcast.origin,
                topic=topic.name,
            )


def judge_versions(topic: model.Topic) -> Iterator[Finding]:
    """The upcasts that are missing from the first version that is declared to today's."""
    versions = [upcast.from_version for upcast in topic.upcasts]
    for version in range(min(versions, default=topic.version), topic.version):
        if version not in versions:
            yield OptionRefused(
                f'"{topic.name}" has no upcast from version {version}',
                detail=f"Rows of version {versions[0]} don't come to version {topic.version} without it.",
                hint=f'Declare it: @hw.upcast("{topic.name}", from_version={version}, columns={{…}}).',
                origin=topic.origin,
                topic=topic.name,
            )
