"""ARRAY, MAP, STRUCT and VARIANT as JSON text.

A map with STRING keys is an object, any other a list of pairs. What JSON lacks is text: decimals with all their digits,
instants as in columns of their own, BINARY and the parts of a VARIANT in base64, NaN and the infinities by name.

Values are made ready for JSON column by column: a nested array is taken apart, its leaves are spelled with Arrow, and
it is put together again; only the last step to text goes value by value.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from headwater.json_text import finite
from headwater.model import Variant
from headwater.store import instants
from headwater.store.unfit import Unfit

Rows = list[Any]


def encode(array: pa.Array, kind: pa.DataType) -> Rows:
    """Each value as JSON."""
    values = _plain(array, kind)
    return [None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values]


def decode(values: Rows, kind: pa.DataType) -> pa.Array:
    """The values that `encode` made this JSON of."""
    try:
        return _typed([None if value is None else json.loads(value) for value in values], kind)
    except (pa.ArrowException, TypeError, ValueError, KeyError, AttributeError, RecursionError) as cause:
        raise Unfit(kind) from cause


def _plain(array: pa.Array, kind: pa.DataType) -> Rows:
    """The values as JSON has them."""
    if isinstance(kind, Variant):
        return _plain(array.storage if isinstance(array, pa.ExtensionArray) else array, kind.storage_type)
    if pa.types.is_struct(kind):
        columns = [_plain(child, field.type) for child, field in zip(_fields(array), kind, strict=True)]
        names = [field.name for field in kind]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] or [{} for _ in array]
        return [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]
    if pa.types.is_map(kind):
        pairs = list(zip(_plain(array.keys, kind.key_type), _plain(array.items, kind.item_type), strict=True))
        return [None if part is None else _mapping(part, kind) for part in _cut(array, pairs)]
    if pa.types.is_list(kind):
        return _cut(array, _plain(array.values, kind.value_type))
    return _plain_leaf(array, kind)


def _fields(array: pa.StructArray) -> Rows:
    """The children of a struct, as long as the struct is even when it is a slice."""
    return [array.field(position) for position in range(array.type.num_fields)]


def _cut(array: pa.ListArray | pa.MapArray, values: Rows) -> Rows:
    """The children of each list, out of the children of all."""
    offsets, valid = array.offsets.to_pylist(), array.is_valid().to_pylist()
    parts = zip(offsets, offsets[1:], valid, strict=False)
    return [values[first:last] if there else None for first, last, there in parts]


def _mapping(pairs: Rows, kind: pa.DataType) -> Any:
    return dict(pairs) if pa.types.is_string(kind.key_type) else [list(pair) for pair in pairs]


def _plain_leaf(array: pa.Array, kind: pa.DataType) -> Rows:
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
        return instants.encode(array)
    if pa.types.is_duration(kind):
        return array.cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]
    spell = _SPELLINGS.get(kind, str if pa.types.is_decimal(kind) else None)
    values: Rows = array.to_pylist()
    return values if spell is None else [None if value is None else spell(value) for value in values]


_SPELLINGS: dict[pa.DataType, Callable[[Any], Any]] = {
    pa.float32(): finite,
    pa.float64(): finite,
    pa.binary(): lambda value: base64.b64encode(value).decode(),
    pa.month_day_nano_interval(): list,
}


def _typed(values: Rows, kind: pa.DataType) -> pa.Array:
    """The values of the type that JSON was made of."""
    if isinstance(kind, Variant):
        return pa.ExtensionArray.from_storage(kind, _typed(values, kind.storage_type))
    mask = pa.array([value is None for value in values], pa.bool_())
    if pa.types.is_struct(kind):
        columns = [_typed([None if row is None else row[f.name] for row in values], f.type) for f in kind]
        return pa.StructArray.from_arrays(columns, fields=list(kind), mask=mask) if columns else pa.array(values, kind)
    if pa.types.is_map(kind):
        pairs = [pair for row in values if row is not None for pair in (row.items() if isinstance(row, dict) else row)]
        keys = _typed([key for key, _ in pairs], kind.key_type)
        items = _typed([item for _, item in pairs], kind.item_type)
        return pa.MapArray.from_arrays(_offsets(values), keys, items, type=kind, mask=mask)
    if pa.types.is_list(kind):
        items = _typed([item for row in values if row is not None for item in row], kind.value_type)
        return pa.ListArray.from_arrays(_offsets(values), items, type=kind, mask=mask)
    return _typed_leaf(values, kind)


def _offsets(values: Rows) -> pa.Array:
    ends = [0]
    for value in values:
        ends.append(ends[-1] + len(value or ()))
    return pa.array(ends, pa.int32())


def _typed_leaf(values: Rows, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
        return instants.decode(values, kind)
    if pa.types.is_duration(kind):
        return pa.array(values, pa.int64()).cast(kind)
    if pa.types.is_decimal(kind):
        return pa.array(values, pa.string()).cast(kind)
    if pa.types.is_floating(kind):
        return pa.array([None if value is None else float(value) for value in values], pa.float64()).cast(
            kind, safe=False
        )
    if pa.types.is_binary(kind):
        return pa.array([None if value is None else base64.b64decode(value) for value in values], kind)
    if pa.types.is_interval(kind):
        return pa.array([None if value is None else tuple(value) for value in values], kind)
    return pa.array(values, kind)
