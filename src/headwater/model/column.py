"""A column: a name, a type, whether it may be NULL."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from headwater.errors import Origin
from headwater.model.types import spell_type

RESERVED_PREFIX = "_"
"""Names with this prefix belong to the log (`_commit`, `_watermark`, …); a declaration can't use them."""


@dataclass(frozen=True)
class Column:
    """One column of a topic or of a view's output."""

    name: str
    type: pa.DataType
    nullable: bool = True
    comment: str | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def field(self) -> pa.Field:
        """The column as an Arrow field."""
        return pa.field(self.name, self.type, self.nullable)

    def __str__(self) -> str:
        return f"{self.name} {spell_type(self.type)}{'' if self.nullable else ' NOT NULL'}"


def schema_of(columns: tuple[Column, ...]) -> pa.Schema:
    """The Arrow schema of these columns, in their order."""
    return pa.schema([column.field for column in columns])
