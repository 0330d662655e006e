"""Writing messages: an encoder turns the rows of a struct array into bytes, whole columns at a time.

JSON is the format that needs nothing else; those with a schema are in `outlets.framed`. Instants are in ISO 8601, exact
decimals are numbers with all their digits, bytes are base64, and what isn't a number (NaN, Infinity) is its name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from headwater.json_text import finite, spell, texts_of


class Encoder(Protocol):
    """Writes messages in one format. What it gives depends on its arguments alone: equal rows are equal bytes."""

    content_type: str
    """The name of the format in HTTP."""

    def encode(self, rows: pa.StructArray) -> list[bytes | None]:
        """Each row as one message; None where there is no row. Called for the keys and the values of a delivery."""

    def together(self, values: Sequence[bytes]) -> bytes:
        """Several values as one text."""


class JsonEncoder:
    """Writes JSON objects.

    >>> JsonEncoder().encode(pa.array([{"card": "a", "ratio": float("nan")}, None]))
    [b'{"card":"a","ratio":"NaN"}', None]
    """

    content_type = "application/json"

    def encode(self, rows: pa.StructArray) -> list[bytes | None]:
        """The columns by name, in their order."""
        texts: list[bytes | None] = _texts(rows).cast(pa.large_binary()).to_pylist()
        return texts

    def together(self, values: Sequence[bytes]) -> bytes:
        """An array of them."""
        return b"[" + b",".join(values) + b"]"


def _texts(values: pa.Array) -> pa.Array:
    """Each value as JSON, NULL where there is none."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _texts(values.dictionary).take(values.indices)
    if pa.types.is_struct(kind):
        return _objects(values)
    if pa.types.is_timestamp(kind):
        return pc.replace_substring(texts_of(values).cast(pa.large_string()), " ", "T", max_replacements=1)
    if pa.types.is_nested(kind) or (pa.types.is_floating(kind) and not pc.all(pc.is_finite(values)).as_py()):
        texts = (None if value is None else _spelled(value) for value in values.to_pylist(maps_as_pydicts="strict"))
        return pa.array(texts, pa.large_string())
    return texts_of(values).cast(pa.large_string())


def _objects(rows: pa.StructArray) -> pa.Array:
    names = [json.dumps(field.name, ensure_ascii=False) for field in rows.type]
    members = [
        pc.binary_join_element_wise(_text(f"{name}:"), _texts(_field(rows, index)).fill_null("null"), _text(""))
        for index, name in enumerate(names)
    ]
    inner = pc.binary_join_element_wise(*members, _text(",")) if members else pa.array([""] * len(rows))
    whole = pc.binary_join_element_wise(_text("{"), inner, _text("}"), _text(""))
    return pc.if_else(pc.is_valid(rows), whole, pa.scalar(None, pa.large_string()))


def _field(rows: pa.StructArray, index: int) -> pa.Array:
    """A column of rows; that of a row that isn't there is never looked at."""
    return pc.struct_field(rows, [index]) if not pa.types.is_dictionary(rows.type[index].type) else rows.field(index)


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _spelled(value: Any) -> str:
    text = spell(value)
    return spell(_finite(value)) if "NaN" in text or "Infinity" in text else text


def _finite(value: Any) -> Any:
    match value:
        case float():
            return finite(value)
        case Mapping():
            return {name: _finite(field) for name, field in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case _:
            return value
