"""Arrow from outside: streams and files of record batches, of which nothing is believed before it is checked.

A batch is memory as its sender has laid it out: offsets that Arrow follows without a look, lengths that it allocates.
So first the *headers* of all messages are held against a *budget* (how many bytes they become once they are
decompressed, how many rows and values they say they have); then types that would let a few bytes stand for many are
refused; then every batch is validated in full, each offset and each character; and what dictionaries and views would
grow to when they are written out is counted before they are.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import TooLarge, UnreadableEvent
from headwater.intake.arrow_header import BATCH, SCHEMA, header_of

FAILS = (
    pa.ArrowException, OSError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError,
    NotImplementedError, RecursionError, MemoryError, struct.error,
)  # fmt: skip
"""The errors that Arrow raises on bytes that aren't what they say they are."""
_OPTIONS = pa.ipc.IpcReadOptions(ensure_native_endian=False, use_threads=False)
_DEEPEST = 32
_WHOLE_COLUMNS = (
    pa.types.is_dictionary, pa.types.is_run_end_encoded, pa.types.is_string_view, pa.types.is_binary_view,
)  # fmt: skip
"""Types that are taken of columns, not inside of lists, structs and maps."""
_LONG = (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary)


@dataclass(frozen=True)
class Budget:
    """The most that a stream, or one batch of a file, may become."""

    bytes: int = 256 * 1024 * 1024
    rows: int = 1_000_000
    values: int = 32 * 1024 * 1024
    columns: int = 2_000
    messages: int = 10_000


BODY = Budget()
"""The most that the body of a request may become."""
BATCH_OF_FILE = Budget(bytes=2**31, rows=2**26, values=2**28, columns=10_000, messages=2**62)
"""The most that one batch of a file may become; a file has any number of them."""


def read_stream(body: bytes, budget: Budget = BODY) -> pa.Table:
    """The table that a stream holds; `TooLarge` if it is more than the budget, `UnreadableEvent` if it is none."""
    try:
        check_headers(pa.BufferReader(body), budget, together=True)
        reader = pa.ipc.open_stream(pa.BufferReader(body), options=_OPTIONS)
        check_schema(reader.schema, budget)
        table = checked(reader.read_all(), budget)
    except FAILS as cause:
        reason = str(cause).partition("\n")[0].rstrip(".")[:500] or type(cause).__name__
        raise UnreadableEvent("the body is no Arrow stream", detail=f"{reason}. Nothing was appended.") from cause
    return table


def check_headers(source: Any, budget: Budget, *, together: bool = False) -> None:
    """Hold the headers of a stream against a budget, each message by itself or all `together`."""
    messages = rows = values = size = 0
    while (message := _next(source)) is not None:
        header = header_of(message)
        if header.kind == SCHEMA and (not header.little_endian or messages):
            raise ValueError("the stream has two schemas" if messages else "the numbers are big-endian")
        messages += 1
        rows, values, size = (
            (before if together else 0) + more
            for before, more in ((rows, header.rows if header.kind == BATCH else 0), (values, header.values),
                                 (size, header.bytes))
        )  # fmt: skip
        _within(messages, budget.messages, "messages")
        _within(rows, budget.rows, "rows")
        _within(values, budget.values, "values")
        _within(size, budget.bytes, "bytes")
    if together and source.tell() < source.size():
        raise ValueError("there are bytes behind its end")


def _next(source: Any) -> pa.ipc.Message | None:
    try:
        return pa.ipc.read_message(source)
    except EOFError:
        return None


def _within(count: int, most: int, what: str) -> None:
    if count > most:
        raise TooLarge(
            f"the data is more than {most:,} {what}",
            detail="That is how much it would be decompressed and written out. Nothing was appended.",
            hint="Send it in several parts.",
        )


def check_schema(schema: pa.Schema, budget: Budget) -> None:
    """Refuse more columns than the budget has, and types that aren't taken; ValueError says which."""
    _within(len(schema), budget.columns, "columns")
    for field in schema:
        _check_type(field.type, f'column "{field.name[:100]}"', 0)


def _check_type(kind: pa.DataType, what: str, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError(f"{what} is nested more than {_DEEPEST} levels deep")
    str(kind)  # raises if a name in it, of a field or of a zone, isn't UTF-8
    if isinstance(kind, pa.BaseExtensionType):
        _check_type(kind.storage_type, what, depth + 1)
        return
    if pa.types.is_union(kind) or pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        raise ValueError(f"{what} is a {str(kind)[:100]}, which is not taken")
    if depth and any(is_whole(kind) for is_whole in _WHOLE_COLUMNS):
        raise ValueError(f"{what} is a {str(kind)[:100]}, which is taken of whole columns only")
    if pa.types.is_decimal(kind) and not 0 <= kind.scale <= kind.precision:
        raise ValueError(f"{what} is a {kind}, which nobody has")
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        _check_type(kind.value_type, what, depth + 1)
    for at in range(kind.num_fields) if pa.types.is_nested(kind) else ():
        inner = kind.field(at)
        _check_type(inner.type, f"{what}, {inner.name[:100]}", depth + 1)


def checked(table: pa.Table, budget: Budget) -> pa.Table:
    """The table, validated, if it is within the budget once dictionaries and views are written out."""
    for column in table.columns:
        for chunk in column.chunks:
            _validate(chunk)
    _within(sum(_size(chunk) for column in table.columns for chunk in column.chunks), budget.bytes, "bytes")
    for at, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type) or pa.types.is_binary_view(field.type):
            chunks = [_without_absent_views(chunk) for chunk in table.column(at).chunks]
            table = table.set_column(at, field, pa.chunked_array(chunks, field.type))
    return table


def _validate(array: pa.Array) -> None:
    """Validate a column in full, but for what is wrong with a single value of it: that costs the value's row alone."""
    if pa.types.is_string(array.type):
        array = array.view(pa.binary())
    elif pa.types.is_large_string(array.type):
        array = array.view(pa.large_binary())
    array.validate(full=not pa.types.is_decimal(array.type))


def _without_absent_views(array: pa.Array) -> pa.Array:
    """The same with empty views where a value is NULL: Arrow doesn't validate those, and follows them when it casts."""
    validity, views, *held = array.buffers()
    if validity is None:
        return array
    kept = np.frombuffer(views, np.int64).reshape(-1, 2).copy()
    kept[array.offset : array.offset + len(array)][array.is_null().to_numpy(zero_copy_only=False)] = 0
    return pa.Array.from_buffers(array.type, len(array), [validity, pa.py_buffer(kept), *held], offset=array.offset)


def _size(array: pa.Array) -> int:
    """The bytes that an array takes in plain."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _sum(_lengths(array.dictionary).take(array.indices))
    if pa.types.is_run_end_encoded(kind):
        ends = array.run_ends.to_numpy().tolist()
        lengths = _lengths(array.values).fill_null(0).to_pylist()
        return sum(size * (end - begin) for size, begin, end in zip(lengths, [0, *ends], ends, strict=False))
    if pa.types.is_nested(kind):
        return sum(_size(_child(array, at)) for at in range(kind.num_fields))
    return _sum(_lengths(array)) if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind) else array.nbytes


def _child(array: pa.Array, at: int) -> pa.Array:
    if pa.types.is_struct(array.type):
        return array.field(at)
    if pa.types.is_map(array.type):
        return pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
    return array.values


def _lengths(array: pa.Array) -> pa.Array:
    """The bytes that each value takes in plain; a nested one as many as all of them, which is too many."""
    kind = array.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return _lengths_of_views(array)
    if any(is_long(kind) for is_long in _LONG):
        return pc.binary_length(array)
    return pa.repeat(pa.scalar(array.nbytes if pa.types.is_nested(kind) else 16, pa.int64()), len(array))


def _lengths_of_views(array: pa.Array) -> pa.Array:
    """Arrow has no kernel for it. A view is four numbers, and the first is the length."""
    views = np.frombuffer(array.buffers()[1] or b"", np.int32)[::4]
    return pc.if_else(array.is_valid(), pa.array(views[array.offset : array.offset + len(array)]), 0)


def _sum(lengths: pa.Array) -> int:
    return pc.sum(lengths.cast(pa.int64())).as_py() or 0
