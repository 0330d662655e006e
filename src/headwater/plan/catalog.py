"""The catalog: what a name in FROM stands for.

A stream or a table is scanned as it is declared. A view without a store and a view that keeps nothing between rows are
*inlined*: whoever reads them takes their stages in. So is a view over all of time by another one: its rows change
without end, and both stand at one cut of what they read. Any other view has a *derived topic*, which is scanned.
"""

from __future__ import annotations

import hashlib
import json

import pyarrow as pa

from headwater import model
from headwater.operators import Ancestor, Field, Role, Scan
from headwater.plan.context import Relation
from headwater.plan.state import time_of
from headwater.plan.uses import whole_source

_HIDDEN = (
    ("_commit", pa.int64(), None),
    ("_row", pa.int32(), None),
    ("_id", pa.string(), None),
    ("_source", pa.string(), None),
    ("_arrived_at", model.INSTANT, Role.ARRIVAL_TIME),
    ("_watermark", model.INSTANT, None),
)
"""The log's own columns of a topic: they can be named, and `*` leaves them out."""


def scan_topic(topic: model.Topic) -> Relation:
    """The relation of a declared stream or table."""
    watermarked = topic.time is not None and topic.watermark is not None
    columns = tuple(_declared(topic, column, watermarked) for column in topic.columns)
    within = topic.within if isinstance(topic, model.Stream) else None
    unique = _unique(topic) if within is None else ()
    scan = Scan(
        (*columns, *_hidden(topic.name, varies=bool(unique))),
        topic.name,
        "table" if isinstance(topic, model.Table) else "stream",
        topic.time,
        watermarked,
        unique,
        topic.primary_key if isinstance(topic, model.Table) else _identity(topic),
        plan=_upcasts(topic),
        within=within,
        origin=topic.origin,
    )
    return Relation(scan)


def _upcasts(topic: model.Topic) -> str:
    """The text that tells rows of a version, and how earlier ones come to it, from others; empty without any."""
    if not topic.upcasts:
        return ""
    steps = [
        (upcast.from_version, list(map(str, upcast.columns)), whole_source(upcast.body.source, upcast.body.function))
        for upcast in topic.upcasts
    ]
    return hashlib.sha256(json.dumps([topic.version, steps]).encode()).hexdigest()[:16]


def _declared(topic: model.Topic, column: model.Column, watermarked: bool) -> Field:
    is_time = watermarked and topic.time is not None and column.name.lower() == topic.time.lower()
    role = Role.EVENT_TIME if is_time else None
    nullable = column.nullable and not is_time
    return Field(column.name, column.type, nullable, frozenset({Ancestor(topic.name, column.name)}), role)


def _identity(topic: model.Topic) -> tuple[str, ...]:
    """The columns that tell the events of a stream apart: copies of an event have its id, and its time, if any."""
    if not isinstance(topic, model.Stream) or topic.unique in ((), model.CONTENT):
        return ()
    return tuple(dict.fromkeys((*topic.unique, *([topic.time] if topic.time else []))))


def _unique(topic: model.Topic) -> tuple[str, ...]:
    if not isinstance(topic, model.Stream):
        return ()
    return tuple(column.name for column in topic.columns) if topic.unique == model.CONTENT else topic.unique


def _hidden(relation: str, varies: bool) -> tuple[Field, ...]:
    return tuple(
        Field(
            name, kind, name == "_id", frozenset({Ancestor(relation, name)}), role, None, True, varies and name != "_id"
        )
        for name, kind, role in _HIDDEN
    )


def read_view(view: model.View, lowered: Relation, plan: str, *, inlined: bool) -> Relation:
    """The relation of a lowered view for those that read it; `inlined` if they take its stages in whatever it keeps.

    The log's own columns of a derived topic depend on when its rows were written: none of them can be named.
    """
    root, complete = lowered.stage, lowered.complete
    if not view.materialized or root.is_stateless or inlined:
        return Relation(root, complete)
    time = time_of(root)
    name = time.name if time else None
    return Relation(Scan(root.visible, view.name, "view", name, origin=view.origin, plan=plan), complete)
