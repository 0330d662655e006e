"""The columns of a target as bytes, for a store to remember: the exact types, down to the fields of nested ones."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pyarrow as pa

from headwater.model import Column, Variant

_COMMENT = b"comment"
_EXTENSION = b"ARROW:extension:name"


def spell_columns(columns: tuple[Column, ...]) -> bytes:
    """The columns as an Arrow schema."""
    fields = [
        column.field.with_metadata({_COMMENT: column.comment.encode()}) if column.comment else column.field
        for column in columns
    ]
    return bytes(pa.schema(fields).serialize())


def read_columns(data: bytes) -> tuple[Column, ...]:
    """The columns that `spell_columns` was given."""
    return _read(bytes(data))


@lru_cache(maxsize=1024)
def _read(data: bytes) -> tuple[Column, ...]:
    return tuple(_column(field) for field in pa.ipc.read_schema(pa.py_buffer(data)))


def _column(field: Any) -> Column:
    metadata = field.metadata or {}
    kind = Variant() if metadata.get(_EXTENSION) == b"headwater.variant" else field.type
    comment = metadata.get(_COMMENT)
    return Column(field.name, kind, field.nullable, comment.decode() if comment else None)
