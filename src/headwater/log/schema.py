"""The schema of a topic in its log: how it begins, and what the log notes of how rows were written.

What a declaration may change of it is in `log.evolution`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, Schema

from headwater.log.datafile import columns_of, measured_columns
from headwater.log.entry import Action
from headwater.log.shape import Past, Shape
from headwater.model import Topic

TIME_SETTING = "headwater.time"
SHAPES_SETTING = "headwater.shapes"
PENDING = 2**62
"""The number of a change that no entry has noted yet: every row is from before it."""


@dataclass(frozen=True)
class Recorded:
    """The log's own columns: all that there ever were, which are not read, and how rows were written.

    `aliases` are the names that columns had, whether or not the declaration still says so. `written` are the columns
    that rows had, each time from an entry on.
    """

    identity: str
    columns: pa.Schema
    shapes: tuple[Shape, ...]
    written: tuple[tuple[int, frozenset[str]], ...]
    aliases: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unread: frozenset[str] = field(default=frozenset())

    @property
    def shape(self) -> Shape:
        """The shape in which rows are written now."""
        return self.shapes[-1]

    @property
    def is_plain(self) -> bool:
        """Tells whether every row was written with the same columns, in the same shape."""
        return len(self.shapes) == len(self.written) == 1

    def written_at(self, commit: int) -> frozenset[str]:
        """The columns that the rows of a commit were written with."""
        return next(names for first, names in reversed(self.written) if first <= commit)

    def written_in(self, version: int) -> Iterator[frozenset[str]]:
        """The columns that rows of a version were written with, each time that others came."""
        start = next((shape.first for shape in self.shapes if shape.version == version), PENDING)
        ends = (*(first for first, _ in self.written[1:]), PENDING)
        return (names for (_, names), end in zip(self.written, ends, strict=True) if end > start)

    def past(self, commit: int, topic: Topic) -> Past | None:
        """The shape of a commit's rows and how they are read; None if they are as they are written now."""
        shape = next(shape for shape in reversed(self.shapes) if shape.first <= commit)
        defaults = self._defaults(commit, topic, upcast=shape.version != topic.version)
        return None if shape is self.shape and not defaults else Past(shape, defaults, self.aliases)

    def _defaults(self, commit: int, topic: Topic, *, upcast: bool) -> tuple[tuple[str, str], ...]:
        """The defaults that the rows of a commit have: of columns that they were written without, by any name.

        Rows that go through upcasts have those of all columns that the last one doesn't return.
        """
        written, aliases = self.written_at(commit), dict(self.aliases)
        return tuple(
            (column.name, column.default)
            for column in topic.columns
            if column.default is not None
            and (upcast or written.isdisjoint((column.name, *aliases.get(column.name, ()))))
        )

    @classmethod
    def from_action(cls, action: dict[str, Any]) -> Recorded:
        """From a `metaData` action."""
        return cls._from_settings(action["id"], Schema.from_json(action["schemaString"]), action["configuration"])

    @classmethod
    def from_table(cls, table: DeltaTable) -> Recorded:
        """From a table that was read through its checkpoint."""
        metadata = table.metadata()
        return cls._from_settings(str(metadata.id), table.schema(), metadata.configuration)

    @classmethod
    def _from_settings(cls, identity: str, columns: Schema, settings: dict[str, str]) -> Recorded:
        kept = json.loads(settings.get(SHAPES_SETTING, "{}"))
        shapes = tuple(Shape(*one) for one in kept.get("shapes", ())) or (Shape(0, 1, settings.get(TIME_SETTING, "")),)
        aliases = tuple((name, tuple(former)) for name, former in kept.get("aliases", {}).items())
        unread, known = frozenset(kept.get("unread", ())), pa.schema(columns)
        written = tuple((first, frozenset(names)) for first, names in kept.get("written", ()))
        written = written or _written_before(known, shapes, unread, frozenset(kept.get("defaults", ())))
        return cls(identity, known, shapes, written, aliases, unread)

    def as_action(self, topic: Topic, at: int) -> Action:
        """The `metaData` action that says so."""
        times = dict.fromkeys(shape.time for shape in self.shapes if shape.time in self.columns.names)
        measured = dict.fromkeys([*times, *measured_columns(topic)])
        settings = {
            "delta.dataSkippingStatsColumns": ",".join(f"`{name}`" for name in measured),
            "delta.enableExpiredLogCleanup": "false",
            TIME_SETTING: self.shape.time,
        }
        if self != _begun(self.identity, self.columns, Shape(0, 1, self.shape.time)):
            settings[SHAPES_SETTING] = json.dumps(
                {
                    "shapes": [[shape.first, shape.version, shape.time] for shape in self.shapes],
                    "written": [[first, sorted(names)] for first, names in self.written],
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
    begun = _begun(str(uuid.uuid4()), columns_of(topic), Shape(0, topic.version, topic.time or ""))
    return [{"protocol": protocol}, begun.as_action(topic, at)]


def _begun(identity: str, columns: pa.Schema, shape: Shape) -> Recorded:
    """The columns of a log that has not changed since it began."""
    return Recorded(identity, columns, (shape,), ((shape.first, payload_of(columns)),))


def payload_of(columns: pa.Schema) -> frozenset[str]:
    """The names of columns that are not the log's own."""
    return frozenset(name for name in columns.names if not name.startswith("_"))


def _written_before(
    columns: pa.Schema, shapes: tuple[Shape, ...], unread: frozenset[str], added: frozenset[str]
) -> tuple[tuple[int, frozenset[str]], ...]:
    """The columns that rows had in a log from before it noted them: it noted those that were added with a default."""
    names = payload_of(columns)
    return (*((shape.first, names - added) for shape in shapes[:-1]), (shapes[-1].first, names - unread))


def _has_local_time(schema: pa.Schema) -> bool:
    return any("timestamp[us]" in str(field.type) for field in schema)
