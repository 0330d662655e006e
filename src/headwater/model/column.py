"""A column: a name, a type, whether it may be NULL, and what it is in rows that were written without it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pyarrow as pa

from headwater.errors import Origin
from headwater.model.decimals import spell_decimal
from headwater.model.types import spell_type

RESERVED_PREFIX = "_"
"""Names with this prefix belong to the log (`_commit`, `_watermark`, …); a declaration can't use them."""
HIDDEN_KEY = f"{RESERVED_PREFIX}key_"
"""The prefix of key columns that a view groups by and doesn't show: a store keeps them, and no reader sees them."""


@dataclass(frozen=True)
class Column:
    """One column of a topic or of a view's output.

    `default` is the value of rows that were written without the column, as text; `aliases` are names that it had
    before.
    """

    name: str
    type: pa.DataType
    nullable: bool = True
    comment: str | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)
    default: str | None = None
    aliases: tuple[str, ...] = ()

    @property
    def field(self) -> pa.Field:
        """The column as an Arrow field."""
        return pa.field(self.name, self.type, self.nullable)

    @property
    def is_hidden(self) -> bool:
        """Tells whether it is part of a view's key alone: kept, and not shown."""
        return self.name.startswith(HIDDEN_KEY)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name under which a value of the column may come, its own first."""
        return (self.name, *self.aliases)

    def __str__(self) -> str:
        return f"{self.name} {spell_type(self.type)}{'' if self.nullable else ' NOT NULL'}"


def default_of(text: str | None, kind: pa.DataType) -> pa.Scalar:
    """A default as a value of its column's type, NULL if there is none; ValueError says that it doesn't fit.

    Instants are in ISO 8601, in UTC unless they say otherwise; arrays, maps and structs are in JSON.

    >>> default_of("12.5", pa.decimal128(12, 2)), default_of("[]", pa.list_(pa.string()))
    (<pyarrow.Decimal128Scalar: Decimal('12.50')>, <pyarrow.ListScalar: []>)
    """
    if text is None:
        return pa.scalar(None, kind)
    try:
        if pa.types.is_nested(kind):
            return pa.scalar(_in_json(text, kind), kind)
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            return pa.scalar(_zoned(text)).cast(kind)
        if pa.types.is_decimal(kind):
            return _exact(text, kind)
        return pa.scalar(text).cast(kind)
    except (pa.ArrowException, TypeError, AttributeError) as problem:
        raise ValueError(f"{text!r} doesn't fit {spell_type(kind)}") from problem


def _exact(text: str, kind: pa.DataType) -> pa.Scalar:
    spelled = spell_decimal(text.strip(), kind)
    if spelled is None:
        raise TypeError(text)
    return pa.scalar(spelled).cast(kind)


def _in_json(text: str, kind: pa.DataType) -> object:
    value = json.loads(text)
    return list(value.items()) if pa.types.is_map(kind) else value


def _zoned(text: str) -> str:
    time = text[10:]
    return text if "Z" in time or "+" in time or "-" in time else f"{text if time else f'{text} 00:00:00'}Z"


def schema_of(columns: tuple[Column, ...]) -> pa.Schema:
    """The Arrow schema of these columns, in their order."""
    return pa.schema([column.field for column in columns])
