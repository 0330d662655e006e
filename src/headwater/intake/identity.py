"""The identity of an event: `_id`, from the columns that the stream declares as unique.

One column gives its text. Several give their texts joined by `|`, with `|` and `\\` inside them escaped, so that
different values never give the same id. All of them (`unique = '*'`) give 128 bits of BLAKE2b over the join of every
column: the one place where each row costs a call in Python, since Arrow has no cryptographic hash.

The text of a value depends on the value and its declared type alone, so an id is the same whatever the format, the
chunking or the encoding that the event came in.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import pyarrow as pa
import pyarrow.compute as pc

from headwater.intake.convert import map_as_list
from headwater.intake.layout import Layout

_ABSENT = "\\0"
"""The spelling of a NULL among several columns; an escaped text can't contain it."""


def identities(layout: Layout, columns: Sequence[pa.Array]) -> pa.Array | None:
    """The ids of these rows; None if the topic's rows are identified by their position."""
    if layout.by_content:
        return _digests(joined(columns[: layout.payload]))
    if len(layout.unique) == 1:
        return text_of(columns[layout.unique[0]])
    return joined([columns[at] for at in layout.unique]) if layout.unique else None


def joined(columns: Sequence[pa.Array]) -> pa.Array:
    """The columns' texts as one text per row; different rows give different texts.

    >>> joined([pa.array(["a|b", "a"]), pa.array(["c", None])]).to_pylist()
    ['a\\\\|b|c', 'a|\\\\0']
    """
    return pc.binary_join_element_wise(*[_escaped(column) for column in columns], "|")


def _escaped(column: pa.Array) -> pa.Array:
    text = text_of(column)
    if pa.types.is_string(column.type) or pa.types.is_nested(column.type):
        text = pc.replace_substring(pc.replace_substring(text, "\\", "\\\\"), "|", "\\|")
    return text.fill_null(_ABSENT) if text.null_count else text


def text_of(column: pa.Array) -> pa.Array:
    """The column as text, one spelling per value."""
    kind = column.type
    if pa.types.is_string(kind):
        return column
    if pa.types.is_binary(kind):
        return pa.array([None if value is None else value.hex() for value in column.to_pylist()], pa.string())
    if pa.types.is_map(kind):
        return _map_text(column)
    if pa.types.is_list(kind):
        return _list_text(column)
    if pa.types.is_struct(kind):
        inside = joined(column.flatten())
        return pc.if_else(column.is_valid(), inside, pa.scalar(None, pa.string()))
    return column.cast(pa.string())


def _list_text(column: pa.Array) -> pa.Array:
    """The elements, each closed by `|`: so that no element and one empty element differ."""
    closed = pc.binary_join_element_wise(_escaped(column.flatten()), "", "|")
    ends = pc.cumulative_sum(pc.list_value_length(column).fill_null(0)).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    text = pc.binary_join(pa.ListArray.from_arrays(offsets, closed), "")
    return pc.if_else(column.is_valid(), text, pa.scalar(None, pa.string()))


def _map_text(column: pa.Array) -> pa.Array:
    """The entries in the order of their keys' texts: a map has no order of its own."""
    listed = map_as_list(column)
    entries = iter(joined(listed.flatten().flatten()).to_pylist())
    sizes = pc.list_value_length(listed).to_pylist()
    texts = [None if size is None else sorted(next(entries) for _ in range(size)) for size in sizes]
    return _list_text(pa.array(texts, pa.list_(pa.string())))


def _digests(texts: pa.Array) -> pa.Array:
    return pa.array([blake2b(text.encode(), digest_size=16).hexdigest() for text in texts.to_pylist()], pa.string())
