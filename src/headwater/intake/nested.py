"""Nested values put together from their children: one bad child makes its parent bad."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from headwater.intake.converted import Converted, either, only_where


def assemble_struct(valid: pa.Array, children: Sequence[Converted], kind: pa.DataType) -> Converted:
    """A struct from its fields; a field that may not be NULL and is makes the struct bad."""
    bad = None
    for field, child in zip(kind, children, strict=True):
        bad = either(bad, child.bad)
        if not field.nullable and child.values.null_count:
            bad = either(bad, child.values.is_null())
    bad = None if bad is None else only_where(pc.and_(bad, valid))
    parts = [_filled(field, child.values) for field, child in zip(kind, children, strict=True)]
    values = pa.StructArray.from_arrays(parts, fields=list(kind), mask=pc.invert(valid))
    return _without_bad(values, bad, kind)


def _filled(field: pa.Field, values: pa.Array) -> pa.Array:
    """The values of a field; below a struct that is NULL there is one that nobody reads, and Parquet asks for it."""
    if field.nullable or not values.null_count:
        return values
    return pc.if_else(values.is_null(), pa.scalar(_nothing(field.type), field.type), values)


def _nothing(kind: pa.DataType) -> object:
    """Some value of a type."""
    if pa.types.is_struct(kind):
        return {field.name: None if field.nullable else _nothing(field.type) for field in kind}
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return []
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return "" if pa.types.is_string(kind) else b""
    return False if pa.types.is_boolean(kind) else Decimal(0) if pa.types.is_decimal(kind) else 0


def assemble_list(valid: pa.Array, lengths: pa.Array, items: Converted, kind: pa.DataType) -> Converted:
    """A list from the flat values of all lists and the length of each."""
    offsets = _offsets(lengths)
    values = pa.ListArray.from_arrays(offsets, items.values, type=kind, mask=pc.invert(valid))
    bad = items.bad
    if not kind.value_field.nullable and items.values.null_count:
        bad = either(bad, items.values.is_null())
    return _without_bad(values, _parents(bad, offsets), kind)


def assemble_map(valid: pa.Array, lengths: pa.Array, keys: Converted, items: Converted, kind: pa.DataType) -> Converted:
    """A map from the flat keys and values of all maps and the size of each; a key can't be NULL or come twice."""
    offsets = _offsets(lengths)
    missing = only_where(items.values.is_null()) if not kind.item_field.nullable else None
    bad = _parents(either(either(keys.bad, only_where(keys.values.is_null())), either(items.bad, missing)), offsets)
    bad = either(bad, _with_double_keys(keys.values, offsets))
    if bad is not None:
        kept = pc.invert(_children(bad, offsets))
        keys, items = Converted(keys.values.filter(kept)), Converted(items.values.filter(kept))
        offsets, valid = _offsets(pc.if_else(bad, 0, lengths)), pc.and_not(valid, bad)
    values = pa.MapArray.from_arrays(offsets, keys.values, items.values, type=kind)
    return Converted(pc.if_else(valid, values, pa.scalar(None, kind)) if valid.false_count else values, bad)


def _without_bad(values: pa.Array, bad: pa.Array | None, kind: pa.DataType) -> Converted:
    return Converted(values if bad is None else pc.if_else(bad, pa.scalar(None, kind), values), bad)


def _offsets(lengths: pa.Array) -> pa.Array:
    ends = pc.cumulative_sum(lengths.fill_null(0)).cast(pa.int32())
    return pa.concat_arrays([pa.array([0], pa.int32()), ends])


def _parents(bad: pa.Array | None, offsets: pa.Array) -> pa.Array | None:
    """A mask of the parents that have a bad child."""
    if bad is None or not pc.any(bad).as_py():
        return None
    counts = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(bad.cast(pa.int64()))]).take(offsets)
    return pc.greater(counts.slice(1), counts.slice(0, len(counts) - 1))


def _children(bad: pa.Array, offsets: pa.Array) -> pa.Array:
    """A mask of the children that have a bad parent."""
    owners = pc.list_parent_indices(pa.ListArray.from_arrays(offsets, pa.nulls(offsets[-1].as_py(), pa.null())))
    return bad.take(owners)


def _with_double_keys(keys: pa.Array, offsets: pa.Array) -> pa.Array | None:
    if pa.types.is_nested(keys.type) or not len(keys):
        return None
    owners = pc.list_parent_indices(pa.ListArray.from_arrays(offsets, pa.nulls(len(keys), pa.null())))
    counted = pa.table({"owner": owners, "key": keys}).group_by(["owner", "key"]).aggregate([([], "count_all")])
    if counted.num_rows == len(keys):
        return None
    doubled = counted.filter(pc.greater(counted["count_all"], 1))["owner"]
    return pc.is_in(pa.array(range(len(offsets) - 1), owners.type), value_set=doubled.combine_chunks())
