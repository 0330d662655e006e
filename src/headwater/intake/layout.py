"""A topic as intake knows it before the first row comes: its columns, what a row must have, what is added.

A decoded row has the topic's columns in their order, then `_op` if the topic is a table (`upsert` or `delete`), then
`_id` if the topic says what makes an event unique.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa

from headwater.intake.unknown import Known, known_to
from headwater.model import CONTENT, Stream, Table, Topic, default_of

OPERATION = "_op"
IDENTITY = "_id"
UPSERT, DELETE = "upsert", "delete"


@dataclass(frozen=True)
class Layout:
    """The compiled form of a topic. Numbers are indices of `names`, which end with the aliases of columns.

    `aliases` and `defaults` are by the indices of their columns. `always` must have a value in every row: the key, the
    unique columns, the event time. `required` (the NOT NULL columns besides those) need none in a row that deletes.
    `known` are the names that an event may have; others make it a dead letter if `refuses_unknown`, and are kept in the
    column `kept_in` if there is one.
    """

    topic: str
    names: tuple[str, ...]
    kinds: tuple[pa.DataType, ...]
    schema: pa.Schema
    payload: int
    always: tuple[int, ...]
    required: tuple[int, ...]
    time: int | None
    unique: tuple[int, ...]
    by_content: bool
    is_table: bool
    max_ahead: timedelta | None
    aliases: Mapping[int, tuple[int, ...]]
    defaults: Mapping[int, pa.Scalar]
    known: Known
    refuses_unknown: bool
    kept_in: int | None

    @property
    def operation(self) -> int:
        """The index of `_op` in a table's rows."""
        return self.payload

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that a row can't do without."""
        return tuple(self.names[at] for at in sorted({*self.always, *self.required}) if at not in self.defaults)

    def names_of(self, name: str) -> tuple[str, ...]:
        """Every name under which a column is looked for, its own first."""
        at = self.names.index(name)
        return (name, *(self.names[alias] for alias in self.aliases.get(at, ())))


def layout_of(topic: Topic) -> Layout:
    """The layout of a stream or a table."""
    columns = topic.columns
    is_table = isinstance(topic, Table)
    by_content = isinstance(topic, Stream) and topic.unique == CONTENT
    unique = topic.unique if isinstance(topic, Stream) and not by_content else ()
    keys = topic.primary_key if isinstance(topic, Table) else unique
    always = {_index(topic, name) for name in keys}
    if topic.time is not None:
        always.add(_index(topic, topic.time))
    required = tuple(at for at, column in enumerate(columns) if not column.nullable and at not in always)
    operation = (OPERATION,) if is_table else ()
    aliases = [(at, name) for at, column in enumerate(columns) for name in column.aliases]
    first = len(columns) + len(operation)
    names = (*(column.name for column in columns), *operation, *(name for _, name in aliases))
    kinds = (
        *(column.type for column in columns),
        *(pa.string() for _ in operation),
        *(columns[at].type for at, _ in aliases),
    )
    return Layout(
        topic=topic.name,
        names=names,
        kinds=kinds,
        schema=_schema(topic, is_table, bool(unique) or by_content),
        payload=len(columns),
        always=tuple(sorted(always)),
        required=required,
        time=None if topic.time is None else _index(topic, topic.time),
        unique=tuple(_index(topic, name) for name in unique),
        by_content=by_content,
        is_table=is_table,
        max_ahead=topic.max_ahead,
        aliases={
            at: tuple(first + index for index, (other, _) in enumerate(aliases) if other == at) for at, _ in aliases
        },
        defaults={
            at: default_of(column.default, column.type)
            for at, column in enumerate(columns)
            if column.default is not None
        },
        known=known_to(topic, zip(names, kinds, strict=True)),
        refuses_unknown=topic.unknown_fields == "dead",
        kept_in=None if topic.keeps_in is None else _index(topic, topic.keeps_in),
    )


def _schema(topic: Topic, is_table: bool, identified: bool) -> pa.Schema:
    """The columns of decoded rows."""
    operation = [pa.field(OPERATION, pa.string(), nullable=False)] if is_table else []
    identity = [pa.field(IDENTITY, pa.string())] if identified else []
    return pa.schema([*topic.schema, *operation, *identity])


def _index(topic: Topic, name: str) -> int:
    return next(at for at, column in enumerate(topic.columns) if column.name.lower() == name.lower())
