"""From changes to messages: the envelope of each, its key, and what stands beside it.

A *message* is what a target takes: a key, a value, and headers that identify the change and the trace that it belongs
to. Both follow from the change alone, so that a change that is sent again is the same message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.model import Envelope
from headwater.outlets.encode import Encoder
from headwater.outlets.protocol import Delivery
from headwater.outlets.rows import latest, side
from headwater.plan import PlannedOutlet

_OPERATIONS = {"insert": "c", "update": "u", "delete": "d"}


@dataclass(frozen=True, slots=True)
class Message:
    """A change as a target takes it. A value that is None says that the key is gone: a tombstone."""

    change_id: str
    key: bytes | None
    value: bytes | None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Told:
    """The changes of a delivery, and what is known of all of them."""

    project: str
    view: str
    changes: pa.Table
    ids: list[str]
    version: int

    def same(self, name: str) -> pa.Array:
        """A column that has one value: that of the batch."""
        return self.constant(self.changes[name].combine_chunks().slice(0, 1))

    def constant(self, value: Any) -> pa.Array:
        """One value, as often as there are changes."""
        known = value if isinstance(value, pa.Array) else pa.array([value])
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(self.ids), np.int32)), known)


class Messages:
    """Writes the messages of an outlet of a project."""

    def __init__(self, project: str, planned: PlannedOutlet, encoder: Encoder, keys: Encoder | None = None) -> None:
        """`keys` writes the keys, if it isn't the same encoder."""
        self._project = project
        self._planned = planned
        self._encoder = encoder
        self._key_encoder = keys or encoder
        self._envelope = planned.outlet.envelope
        self.content_type = encoder.content_type
        self.together = encoder.together

    def of(self, delivery: Delivery) -> Iterator[Message]:
        """The messages of a delivery, in the order of its changes."""
        changes, ids = delivery.changes, [delivery.change_id(index) for index in range(delivery.changes.num_rows)]
        if self._envelope == "row":  # `withdrawn` tells of those that are gone
            stays = pc.not_equal(changes["op"], "delete")
            changes, ids = changes.filter(stays), pa.array(ids, pa.string()).filter(stays.combine_chunks()).to_pylist()
        if not ids:
            return
        told = _Told(self._project, self._planned.view.name, changes, ids, delivery.place.version)
        values, keys = self._encoder.encode(_ENVELOPES[self._envelope](told)), self._keys(told)
        operations = changes["op"].to_pylist()
        trace = _hash(f"{self._name}/{ids[0].rpartition('.')[0]}", 16)
        for change_id, operation, key, value in zip(ids, operations, keys, values, strict=True):
            name = f"{self._name}/{change_id}"
            headers = {
                "headwater-id": name,
                "headwater-op": operation,
                "traceparent": f"00-{trace}-{_hash(name, 8)}-01",
            }
            yield Message(change_id, key, value, headers)
            if self._envelope == "debezium" and operation == "delete" and key is not None:
                # as Debezium does, so that a compacted topic forgets the key
                yield Message(change_id, key, None, headers)

    @property
    def _name(self) -> str:
        return f"{self._project}/{self._planned.view.name}"

    def _keys(self, told: _Told) -> list[bytes | None]:
        names = self._planned.key
        if not names:
            return [None] * len(told.ids)
        rows = {field.name: field for field in told.changes.schema.field("after").type}
        columns = [latest(told.changes, rows[name]) for name in names]
        return self._key_encoder.encode(pa.StructArray.from_arrays(columns, names=list(names)))


def _change(told: _Told) -> pa.StructArray:
    changes = told.changes
    columns = {
        "id": pa.array(told.ids, pa.string()),
        "op": changes["op"].combine_chunks(),
        "before": side(changes, "before"),
        "after": side(changes, "after"),
        "view": told.constant(told.view),
        "timing": changes["timing"].combine_chunks(),
        "version": told.constant(told.version),
    } | {name: told.same(name) for name in ("batch", "commit", "at", "watermark")}
    return pa.StructArray.from_arrays(list(columns.values()), names=list(columns))


def _debezium(told: _Told) -> pa.StructArray:
    changes = told.changes
    at = told.constant(int(changes["at"][0].as_py().timestamp() * 1000))
    source = {
        "connector": told.constant("headwater"),
        "name": told.constant(told.project),
        "table": told.constant(told.view),
        "ts_ms": at,
        "version": told.constant(told.version),
        "batch": told.same("batch"),
        "commit": told.same("commit"),
        "id": pa.array(told.ids, pa.string()),
        "timing": changes["timing"].combine_chunks(),
    }
    letters, words = pa.array(_OPERATIONS.values()), pa.array(_OPERATIONS)
    columns = {
        "before": side(changes, "before"),
        "after": side(changes, "after"),
        "op": letters.take(pc.index_in(changes["op"].combine_chunks(), words)),
        "ts_ms": at,
        "source": pa.StructArray.from_arrays(list(source.values()), names=list(source)),
    }
    return pa.StructArray.from_arrays(list(columns.values()), names=list(columns))


def _row(told: _Told) -> pa.StructArray:
    return side(told.changes, "after")


_ENVELOPES: dict[Envelope, Callable[[_Told], pa.StructArray]] = {
    "change": _change,
    "row": _row,
    "upsert": _row,
    "debezium": _debezium,
}


def _hash(text: str, size: int) -> str:
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()
