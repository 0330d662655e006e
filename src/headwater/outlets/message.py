"""From changes to messages: the envelope of each, its key, and what stands beside it.

A *message* is what a target takes: a key, a value, and headers that identify the change and the trace that it belongs
to. Both follow from the change alone, so that a change that is sent again is the same message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.model import Envelope
from headwater.outlets.encode import Encoder
from headwater.outlets.protocol import Delivery
from headwater.plan import PlannedOutlet

_OPERATIONS = {"insert": "c", "update": "u", "delete": "d"}
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Message:
    """A change as a target takes it. A value that is None says that the key is gone: a tombstone."""

    change_id: str
    key: bytes | None
    value: bytes | None
    headers: Mapping[str, str] = field(default_factory=dict)


class Messages:
    """Writes the messages of an outlet of a project."""

    def __init__(self, project: str, planned: PlannedOutlet, encoder: Encoder) -> None:
        self._project = project
        self._planned = planned
        self._encoder = encoder
        self._wrap = _ENVELOPES[planned.outlet.envelope]
        self.content_type = encoder.content_type
        self.together = encoder.together

    def of(self, delivery: Delivery) -> Iterator[Message]:
        """The messages of a delivery, in the order of its changes."""
        for index, change in enumerate(delivery.changes.to_pylist(maps_as_pydicts="strict")):
            if self._planned.outlet.envelope == "row" and change["op"] == "delete":
                continue  # `withdrawn` tells of it
            told = change | {"id": delivery.change_id(index), "version": delivery.place.version}
            yield from self._messages(told)

    def _messages(self, change: Row) -> Iterator[Message]:
        key, headers = self._key(change), self._headers(change)
        wrapped = self._wrap(self._project, self._planned.view.name, change)
        value = None if wrapped is None else self._encoder.value(wrapped)
        yield Message(change["id"], key, value, headers)
        if self._planned.outlet.envelope == "debezium" and change["op"] == "delete" and key is not None:
            # as Debezium does, so that a compacted topic forgets the key
            yield Message(change["id"], key, None, headers)

    def _key(self, change: Row) -> bytes | None:
        row = change["before"] if change["after"] is None else change["after"]
        columns = {name: row.get(name) for name in self._planned.key}
        return self._encoder.key(columns) if columns else None

    def _headers(self, change: Row) -> dict[str, str]:
        name = f"{self._project}/{self._planned.view.name}/{change['id']}"
        batch = name.rpartition(".")[0]
        trace, span = hashlib.sha256(batch.encode()).hexdigest()[:32], hashlib.sha256(name.encode()).hexdigest()[:16]
        return {"headwater-id": name, "headwater-op": change["op"], "traceparent": f"00-{trace}-{span}-01"}


def _change(_: str, view: str, change: Row) -> dict[str, Any]:
    first = {"id": change["id"], "op": change["op"], "before": change["before"], "after": change["after"]}
    names = ("timing", "version", "batch", "commit", "at", "watermark")
    return first | {"view": view} | {name: change[name] for name in names}


def _debezium(project: str, view: str, change: Row) -> dict[str, Any]:
    at = int(change["at"].timestamp() * 1000)
    source = {"connector": "headwater", "name": project, "table": view, "ts_ms": at, "version": change["version"]}
    source |= {"batch": change["batch"], "commit": change["commit"], "id": change["id"], "timing": change["timing"]}
    sides = {"before": change["before"], "after": change["after"]}
    return sides | {"op": _OPERATIONS[change["op"]], "ts_ms": at, "source": source}


def _after(_: str, __: str, change: Row) -> Any:
    return change["after"]


_ENVELOPES: dict[Envelope, Callable[[str, str, Row], dict[str, Any] | None]] = {
    "change": _change,
    "row": _after,
    "upsert": _after,
    "debezium": _debezium,
}
