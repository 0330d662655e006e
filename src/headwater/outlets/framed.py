"""Messages in Confluent's wire format: the number of a schema in a registry, and what was written with it.

The schema follows from the columns that are written. It is registered under `<topic>-value` or `<topic>-key` before the
first message that needs it is sent; if the registry refuses it, nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow as pa

from headwater.schemas.wire import head_of
from headwater.schemas.written import Language

Write = Callable[[pa.StructArray], list[bytes | None]]
"""From rows to what is written of each, without the frame; None where there is no row."""


class Registers(Protocol):
    """Where schemas are registered."""

    def register(self, subject: str, language: Language, text: str) -> int:
        """The number of a schema, which becomes the next version of the subject unless it is one."""

    def latest(self, subject: str) -> str | None:
        """The newest version of a subject; None if it has none."""


class Format(Protocol):
    """A language of schemas, and how rows are written by one."""

    language: Language

    def schema(self, name: str, kind: pa.StructType, latest: str | None) -> str:
        """The schema of rows with these columns; it goes on from the `latest` one that there is."""

    def writer(self, schema: str, kind: pa.StructType) -> Write:
        """The function that writes them."""


class FramedEncoder:
    """Writes the keys or the values of one topic; `name` is what its schema calls a row."""

    content_type = "application/octet-stream"

    def __init__(self, form: Format, registers: Registers, subject: str, name: str) -> None:
        self._form = form
        self._registers = registers
        self._subject = subject
        self._name = name
        self._known: dict[pa.DataType, tuple[bytes, Write]] = {}

    def encode(self, rows: pa.StructArray) -> list[bytes | None]:
        """Each row behind the number of its schema."""
        kind = plain(rows.type)
        if kind not in self._known:
            self._known[kind] = self._registered(kind)
        head, write = self._known[kind]
        return [None if one is None else head + one for one in write(rows)]

    def together(self, values: Sequence[bytes]) -> bytes:
        """One behind the other."""
        return b"".join(values)

    def _registered(self, kind: pa.StructType) -> tuple[bytes, Write]:
        schema = self._form.schema(self._name, kind, self._registers.latest(self._subject))
        number = self._registers.register(self._subject, self._form.language, schema)
        return head_of(number), self._form.writer(schema, kind)


def plain(kind: pa.DataType) -> pa.DataType:
    """The type of what an array holds, however it is kept in memory."""
    if pa.types.is_dictionary(kind):
        return plain(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(part.name, plain(part.type)) for part in kind])
    if pa.types.is_list(kind):
        return pa.list_(plain(kind.value_type))
    return pa.map_(plain(kind.key_type), plain(kind.item_type)) if pa.types.is_map(kind) else kind
