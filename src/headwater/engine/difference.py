"""The difference of two states of the same rows, by their key: rows to write, and keys that are gone.

Rows are compared as text, column by column, so that NULLs are equal and every type that can be a key can be compared.
Instants are spelled as numbers: as dates they take a hundred times as long.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

_NULL, _NEXT = "\x00", "\x01"


def difference(before: pa.Table, after: pa.Table, key: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """The rows of `after` that are new or other than they were, and the keys of `before` that are no more.

    >>> one, two = pa.table({"k": [1, 2, None], "n": [5, 6, 7]}), pa.table({"k": [2, None, 3], "n": [6, 8, 9]})
    >>> upserts, deletes = difference(one, two, ["k"])
    >>> upserts.to_pylist(), deletes.to_pylist()
    ([{'k': None, 'n': 8}, {'k': 3, 'n': 9}], [{'k': 1}])
    """
    changed = pc.invert(pc.is_in(texts_of(after), texts_of(before)))
    keys, kept = before.select(list(key)), after.select(list(key))
    gone = pc.invert(pc.is_in(texts_of(keys), texts_of(kept)))
    return after.filter(changed), keys.filter(gone)


def texts_of(rows: pa.Table) -> pa.Array:
    """Each row as a text that no other row has."""
    if rows.num_rows == 0:
        return pa.array([], pa.large_string())
    columns = [_text(rows[name].combine_chunks()) for name in rows.column_names]
    return pc.binary_join_element_wise(*columns, pa.scalar(_NEXT, pa.large_string()))


def _text(values: pa.Array) -> pa.Array:
    if pa.types.is_nested(values.type) or pa.types.is_binary(values.type) or pa.types.is_time(values.type):
        spelled = [None if value is None else json.dumps(value, default=repr) for value in values.to_pylist()]
        values = pa.array(spelled, pa.large_string())
    elif pa.types.is_floating(values.type):
        bits = values.view(pa.int64() if pa.types.is_float64(values.type) else pa.int32())
        values = pc.if_else(pc.is_null(values), pa.scalar(None, bits.type), bits)
    elif pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    return pc.fill_null(values.cast(pa.large_string()), _NULL)
