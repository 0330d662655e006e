"""A version's declaration in the metadata of its table: what other tools need of it, and the exact columns for us."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from deltalake import Schema

from headwater.log.entry import Action
from headwater.model import Column, Emit
from headwater.store.columns import read_columns, spell_columns
from headwater.store.delta.table import State
from headwater.store.delta.values import kept_schema
from headwater.store.protocol import Target

_COLUMNS, _KEY, _EMIT, _FINGERPRINT = (f"headwater.{name}" for name in ("columns", "key", "emit", "fingerprint"))


def declare(target: Target, fingerprint: str, at: int) -> list[Action]:
    """The actions that declare a version's table."""
    configuration = {
        "delta.enableChangeDataFeed": "true",
        "delta.enableExpiredLogCleanup": "false",
        _COLUMNS: base64.b64encode(spell_columns(target.columns)).decode(),
        _KEY: json.dumps(target.key),
        _EMIT: target.emit.value,
        _FINGERPRINT: fingerprint,
    }
    metadata = _metadata(target, target.columns, str(uuid.uuid4()), configuration, at)
    return [_protocol(target, ["changeDataFeed"]), metadata]


def declare_shown(target: Target, root: State, at: int) -> list[Action]:
    """The actions that give the table of a view's own name the columns of a version; it keeps its identity."""
    identity = root.metadata.get("id") or str(uuid.uuid4())
    known = [name for name in root.protocol.get("writerFeatures", ()) if name != "timestampNtz"]
    protocol = _protocol(target, known, local="timestampNtz" in root.protocol.get("readerFeatures", ()))
    actions = [] if root.protocol == protocol["protocol"] else [protocol]
    return [*actions, _metadata(target, target.shown, identity, {"delta.enableExpiredLogCleanup": "false"}, at)]


def _protocol(target: Target, features: list[str], *, local: bool = False) -> Action:
    """The protocol of readers and writers. Timestamps without a zone need a reader that has heard of them."""
    local = local or any("timestamp[us]" in str(field.type) for field in kept_schema(target.columns))
    if not local:
        plain: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}
        return {"protocol": plain if features else {"minReaderVersion": 1, "minWriterVersion": 2}}
    both = ["timestampNtz"]
    versions = {"minReaderVersion": 3, "minWriterVersion": 7}
    return {"protocol": versions | {"readerFeatures": both, "writerFeatures": [*features, *both]}}


def _metadata(
    target: Target, columns: Sequence[Column], identity: str, configuration: Mapping[str, str], at: int
) -> Action:
    return {
        "metaData": {
            "id": identity,
            "name": target.view,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": _schema(columns),
            "partitionColumns": [],
            "createdTime": at,
            "configuration": dict(configuration),
        }
    }


def _schema(columns: Sequence[Column]) -> str:
    comments = {column.name: column.comment for column in columns if column.comment}
    fields = [
        field.with_metadata({"comment": comments[field.name]}) if field.name in comments else field
        for field in kept_schema(columns)
    ]
    return str(Schema.from_arrow(pa.schema(fields)).to_json())


def declaration_of(view: str, version: int, state: State) -> tuple[Target, str]:
    """The target and the fingerprint of a version's table."""
    told = state.metadata["configuration"]
    columns = read_columns(base64.b64decode(told[_COLUMNS]))
    return Target(view, version, columns, tuple(json.loads(told[_KEY])), Emit(told[_EMIT])), told[_FINGERPRINT]


def is_as_declared(target: Target, state: State) -> bool:
    """Tells whether the table still has the columns that it was given."""
    same: bool = json.loads(state.metadata["schemaString"]) == json.loads(_schema(target.columns))
    return same
