"""The schema of a topic in its log: how it begins, and what may change.

The log's own schema has every column that the topic ever had. What a declaration may change of it:

    a column is added         nullable, or with a DEFAULT, which is what earlier rows have
    a column goes             it stays in the files, unread; added again, its values are back
    a column is renamed       the new one has the old name as an ALIAS
    a type is promoted        to one that has all of its values (`shape.promotes`)
    NOT NULL goes
    the version goes up       anything else: earlier rows are read through upcasts

Anything else would change what rows that are already there mean, and is refused.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, Schema

from headwater.errors import TopicChanged
from headwater.log.datafile import columns_of, measured_columns
from headwater.log.entry import Action
from headwater.log.shape import Past, Shape, promotes
from headwater.model import Column, Topic, spell_type

TIME_SETTING = "headwater.time"
SHAPES_SETTING = "headwater.shapes"


@dataclass(frozen=True)
class Recorded:
    """What the log says of its own columns: all that there ever were, which are not read, and how rows were written.

    `defaults` are those with which columns were added, which earlier rows have for ever; `aliases` are the names that
    columns had, whether or not the declaration still says so.
    """

    identity: str
    columns: pa.Schema
    shapes: tuple[Shape, ...]
    defaults: tuple[tuple[str, str], ...] = ()
    aliases: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unread: frozenset[str] = field(default=frozenset())

    @property
    def shape(self) -> Shape:
        """How rows are written now."""
        return self.shapes[-1]

    def past(self, commit: int) -> Past | None:
        """How rows of a commit are read; None if they are as they are written now."""
        if commit >= self.shape.first:
            return None
        return Past([shape for shape in self.shapes if shape.first <= commit][-1], self.defaults, self.aliases)

    @classmethod
    def from_action(cls, action: dict[str, Any]) -> Recorded:
        """From a `metaData` action."""
        return cls._from_settings(action["id"], Schema.from_json(action["schemaString"]), action["configuration"])

    @classmethod
    def from_table(cls, table: DeltaTable) -> Recorded:
        """From a table that was read through its checkpoint."""
        found = table.metadata()
        return cls._from_settings(str(found.id), table.schema(), found.configuration)

    @classmethod
    def _from_settings(cls, identity: str, columns: Schema, settings: dict[str, str]) -> Recorded:
        kept = json.loads(settings.get(SHAPES_SETTING, "{}"))
        shapes = tuple(Shape(*one) for one in kept.get("shapes", ())) or (Shape(0, 1, settings.get(TIME_SETTING, "")),)
        defaults = tuple((name, text) for name, text in kept.get("defaults", {}).items())
        aliases = tuple((name, tuple(former)) for name, former in kept.get("aliases", {}).items())
        return cls(identity, pa.schema(columns), shapes, defaults, aliases, frozenset(kept.get("unread", ())))

    def as_action(self, topic: Topic, at: int) -> Action:
        """The `metaData` action that says so."""
        times = dict.fromkeys(shape.time for shape in self.shapes if shape.time in self.columns.names)
        measured = dict.fromkeys([*times, *measured_columns(topic)])
        settings = {
            "delta.dataSkippingStatsColumns": ",".join(f"`{name}`" for name in measured),
            "delta.enableExpiredLogCleanup": "false",
            TIME_SETTING: self.shape.time,
        }
        if self != Recorded(self.identity, self.columns, (Shape(0, 1, self.shape.time),)):
            settings[SHAPES_SETTING] = json.dumps(
                {
                    "shapes": [[shape.first, shape.version, shape.time] for shape in self.shapes],
                    "defaults": dict(self.defaults),
                    "aliases": dict(self.aliases),
                    "unread": sorted(self.unread),
                }
            )
        return {
            "metaData": {
                "id": self.identity,
                "name": topic.name,
                "description": topic.comment,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": Schema.from_arrow(self.columns).to_json(),
                "partitionColumns": [],
                "createdTime": at,
                "configuration": settings,
            }
        }


def creation(topic: Topic, at: int) -> list[Action]:
    """The actions of entry 0: the protocol, and the metadata of an empty table."""
    features = ["timestampNtz"] if _has_local_time(topic.schema) else []
    protocol: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 2}
    if features:
        protocol = {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": features,
            "writerFeatures": features,
        }
    begun = Recorded(str(uuid.uuid4()), columns_of(topic), (Shape(0, topic.version, topic.time or ""),))
    return [{"protocol": protocol}, begun.as_action(topic, at)]


def evolved(topic: Topic, recorded: Recorded, number: int) -> Recorded | None:
    """What the log has to say of its columns from entry `number` on; None if the declaration is what it says already.

    `TopicChanged` if the declaration doesn't fit what rows already are.
    """
    _refuse_version(topic, recorded)
    change = _Change(topic, recorded)
    problems = list(change.problems())
    if problems:
        raise _changed(topic, recorded, problems)
    shape = Shape(number, topic.version, topic.time or "")
    reshapes = topic.version > recorded.shape.version or change.reshapes
    new = Recorded(
        recorded.identity,
        change.columns(),
        (*recorded.shapes, shape) if reshapes else recorded.shapes,
        tuple(sorted((change.defaults() | dict(recorded.defaults)).items())),
        tuple(sorted((change.aliases() | dict(recorded.aliases)).items())),
        frozenset(recorded.columns.names) - frozenset(columns_of(topic).names),
    )
    return None if new == recorded else new


class _Change:
    """A declaration beside what the log has."""

    def __init__(self, topic: Topic, recorded: Recorded) -> None:
        self._topic = topic
        self._recorded = recorded
        self._before = recorded.columns
        self._now = columns_of(topic)
        self._upcast = topic.version > recorded.shape.version

    @property
    def reshapes(self) -> bool:
        """Whether rows that are already there must be read otherwise than they were written."""
        own = any(self._now.field(name).type != self._before.field(name).type for name in self._kept())
        return own or any(column.default is not None or self._former(column) for column in self._added())

    def problems(self) -> Iterator[str]:
        """Why rows that are already there can't be read by the declaration."""
        yield from self._problems_of_own()
        if self._upcast:
            return
        for name in self._kept():
            yield from self._problems_of(name, self._before.field(name), self._now.field(name))
        for column in self._added():
            former, now = self._former(column), self._now.field(column.name)
            if former is not None:
                yield from self._problems_of(former, self._before.field(former), now)
            elif not now.nullable and column.default is None:
                yield f'column "{column.name}" is added, must have a value, and has no DEFAULT for the rows before it'

    def columns(self) -> pa.Schema:
        """Every column that the log has now, new ones at the end. One that is no longer read is missing in new rows."""
        names = self._now.names
        known = [self._now.field(at.name) if at.name in names else at.with_nullable(True) for at in self._before]
        return pa.schema([*known, *(part for part in self._now if part.name not in self._before.names)])

    def defaults(self) -> dict[str, str]:
        """The defaults of columns that are new."""
        return {column.name: column.default for column in self._added() if column.default is not None}

    def aliases(self) -> dict[str, tuple[str, ...]]:
        """The names that columns had that are new by theirs."""
        known = dict(self._recorded.aliases)
        renamed = {column.name: former for column in self._added() if (former := self._former(column)) is not None}
        return {name: (former, *known.get(former, ())) for name, former in renamed.items() if name != former}

    def _problems_of_own(self) -> Iterator[str]:
        before, now = ({part for part in schema if part.name.startswith("_")} for schema in (self._before, self._now))
        if {part.name for part in before} != {part.name for part in now}:
            yield "a stream can't become a table, nor a table a stream"
        was, time = self._recorded.shape.time, self._topic.time or ""
        column = self._topic.column(time)
        if was != time and not (was and time and (self._upcast or (column and was in column.aliases))):
            yield f"the event time was {was or 'none'} and is {time or 'none'}"

    def _problems_of(self, name: str, before: pa.Field, now: pa.Field) -> Iterator[str]:
        if not promotes(before.type, now.type):
            yield f'column "{name}" was {spell_type(before.type)}, which is not promoted to {spell_type(now.type)}'
        if before.nullable and not now.nullable:
            yield f'column "{name}" may be NULL in rows that are there, and must have a value'

    def _kept(self) -> list[str]:
        """The names of columns that are still those that they were."""
        unread = self._recorded.unread
        names = [column.name for column in self._topic.columns]
        return [name for name in names if name in self._before.names and not (name in unread and self._filled(name))]

    def _added(self) -> list[Column]:
        kept = set(self._kept())
        return [column for column in self._topic.columns if column.name not in kept]

    def _filled(self, name: str) -> bool:
        """Whether a column that comes back has a value in rows that were written without it: a default, or an alias."""
        column = self._topic.column(name)
        assert column is not None, "it is declared"
        aliased = any(alias in self._before.names for alias in column.aliases)
        return aliased or column.default is not None or not column.nullable

    def _former(self, column: Column) -> str | None:
        return next((name for name in (*column.aliases, column.name) if name in self._before.names), None)


def refuse_older(topic: Topic, recorded: Recorded) -> None:
    """Refuse a declaration from before a change by which newer rows can't be read: what it names has another name."""
    former = {name for _, names in recorded.aliases for name in names} & recorded.unread
    renamed = next((column.name for column in topic.columns if column.name in former and not column.aliases), None)
    if renamed is not None:
        raise TopicChanged(
            f'the declaration of "{topic.name}" is older than its log',
            detail=f'Column "{renamed}" was renamed since.',
            hint="Start this process again with the newer declaration.",
            origin=topic.origin,
            topic=topic.name,
        )
    if topic.version < recorded.shape.version:
        _refuse_version(topic, recorded)


def _refuse_version(topic: Topic, recorded: Recorded) -> None:
    if topic.version < recorded.shape.version:
        raise TopicChanged(
            f'the declaration of "{topic.name}" is older than its log',
            detail=f"It is version {topic.version}, and the log has rows of version {recorded.shape.version}. "
            "Nothing was appended.",
            hint="Go on with the newer declaration, or declare a version after it that goes back.",
            origin=topic.origin,
            topic=topic.name,
        )
    known = {upcast.from_version for upcast in topic.upcasts}
    missing = [version for version in range(recorded.shapes[0].version, topic.version) if version not in known]
    if missing:
        raise TopicChanged(
            f'"{topic.name}" has rows of version {recorded.shapes[0].version}, and no way from there to '
            f"version {topic.version}",
            detail="Nothing was appended.",
            hint=f'Declare an upcast: @hw.upcast("{topic.name}", from_version={missing[0]}, columns={{…}}).',
            origin=topic.origin,
            topic=topic.name,
        )


def _changed(topic: Topic, recorded: Recorded, problems: list[str]) -> TopicChanged:
    first = "; ".join(problems)
    read = pa.schema([part for part in recorded.columns if part.name not in recorded.unread])
    return TopicChanged(
        f'the declaration of "{topic.name}" no longer fits its log',
        detail=f"{first[0].upper()}{first[1:]}. The log has ({_spell(read)}), event time "
        f"{recorded.shape.time or 'none'}; the declaration has ({_spell(columns_of(topic))}), event time "
        f"{topic.time or 'none'}. Nothing was appended.",
        hint="A column may be added (nullable, or with a DEFAULT), left out, renamed (ALIAS) or promoted. For anything "
        "else declare the next version with an upcast, or a stream of another name.",
        origin=topic.origin,
        topic=topic.name,
    )


def _spell(schema: pa.Schema) -> str:
    shown = (field for field in schema if not field.name.startswith("_"))
    return ", ".join(f"{field.name} {spell_type(field.type)}{'' if field.nullable else ' NOT NULL'}" for field in shown)


def _has_local_time(schema: pa.Schema) -> bool:
    return any("timestamp[us]" in str(field.type) for field in schema)
