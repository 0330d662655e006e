"""The schema of a topic in its log: how it begins, and what may change.

A nullable column may be added. Anything else would change what rows that are already there mean, and is refused.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, Schema

from headwater.errors import TopicChanged
from headwater.log.datafile import columns_of, measured_columns
from headwater.log.entry import Action
from headwater.model import Topic, spell_type

TIME_SETTING = "headwater.time"


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
    return [{"protocol": protocol}, metadata(topic, str(uuid.uuid4()), at)]


def metadata(topic: Topic, identity: str, at: int) -> Action:
    """The `metaData` action that declares a topic's columns; `identity` stays the same for ever."""
    return {
        "metaData": {
            "id": identity,
            "name": topic.name,
            "description": topic.comment,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": Schema.from_arrow(columns_of(topic)).to_json(),
            "partitionColumns": [],
            "createdTime": at,
            "configuration": {
                "delta.dataSkippingStatsColumns": ",".join(f"`{name}`" for name in measured_columns(topic)),
                "delta.enableExpiredLogCleanup": "false",
                TIME_SETTING: topic.time or "",
            },
        }
    }


@dataclass(frozen=True)
class Recorded:
    """What the log says of its own columns."""

    identity: str
    columns: pa.Schema
    time: str

    @classmethod
    def from_action(cls, action: dict[str, Any]) -> Recorded:
        """From a `metaData` action."""
        columns = pa.schema(Schema.from_json(action["schemaString"]))
        return cls(action["id"], columns, action["configuration"].get(TIME_SETTING, ""))

    @classmethod
    def from_table(cls, table: DeltaTable) -> Recorded:
        """From a table that was read through its checkpoint."""
        found = table.metadata()
        return cls(str(found.id), pa.schema(table.schema()), found.configuration.get(TIME_SETTING, ""))


def added_columns(topic: Topic, recorded: Recorded) -> list[str]:
    """The names of columns that the declaration adds to what the log has; refuses every other difference."""
    before = recorded.columns
    now = columns_of(topic)
    kept = [field for field in now if field.name in before.names]
    added = [field for field in now if field.name not in before.names]
    same = len(kept) == len(before) and all(_same(field, before.field(field.name)) for field in kept)
    if same and all(field.nullable for field in added) and recorded.time == (topic.time or ""):
        return [field.name for field in added]
    raise TopicChanged(
        f'the declaration of "{topic.name}" no longer fits its log',
        detail=f"The log has ({_spell(before)}), event time {recorded.time or 'none'}; the declaration has "
        f"({_spell(now)}), event time {topic.time or 'none'}. Nothing was appended.",
        hint="A nullable column may be added. For anything else declare a stream of another name.",
        origin=topic.origin,
        topic=topic.name,
    )


def _same(now: pa.Field, before: pa.Field) -> bool:
    return bool(now.type == before.type and now.nullable == before.nullable)


def _spell(schema: pa.Schema) -> str:
    shown = (field for field in schema if not field.name.startswith("_"))
    return ", ".join(f"{field.name} {spell_type(field.type)}{'' if field.nullable else ' NOT NULL'}" for field in shown)


def _has_local_time(schema: pa.Schema) -> bool:
    return any("timestamp[us]" in str(field.type) for field in schema)
