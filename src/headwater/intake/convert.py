"""Values into declared types, whole arrays at a time: the one set of rules that every format obeys.

A *rule* turns an array of one Arrow type into another and raises when any value doesn't fit; nothing is rounded, cut
off or wrapped. A rule is tried on the whole array. Only when it raises is the array cut into pieces, and the pieces
into pieces, until each value that doesn't fit stands alone: it becomes NULL and is marked *bad*.

*Text* is a value from a format that has no types (a field of a CSV file, the digits of a JSON number): unlike a string
that somebody gave as a string, it may stand for a number or a boolean.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from headwater.model import INSTANT

Rule = Callable[[pa.Array], pa.Array]
Some = TypeVar("Some", bound=Sequence[Any])

DOESNT_FIT = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, OverflowError, TypeError)
"""What a rule may raise to say that some value doesn't fit."""

_PIECES = 8
_NAIVE = pa.timestamp("us")
_WHOLE = pa.decimal128(38, 0)
_ZONED = r"[T ].*(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"


@dataclass(frozen=True)
class Converted:
    """`values` in the declared type; `bad` is true where a value didn't fit (and is NULL now), None if all did."""

    values: pa.Array
    bad: pa.Array | None = None


def convert(array: pa.Array | pa.ChunkedArray, kind: pa.DataType, *, text: bool = False) -> Converted:
    """The array in the declared type, with the values marked that don't fit.

    >>> found = convert(pa.array(["12.50", "12.345"]), pa.decimal128(12, 2))
    >>> [str(value) for value in found.values], found.bad.to_pylist()
    (['12.50', 'None'], [False, True])
    """
    plain = _plain(array)
    if plain.type == kind and not pa.types.is_nested(kind):
        return Converted(plain) if _always_valid(kind) else attempt(plain, _validate, kind)
    if pa.types.is_null(plain.type):
        return Converted(pa.nulls(len(plain), kind))
    if pa.types.is_nested(kind):
        return _convert_nested(plain, kind, text)
    rule = _rule(plain.type, kind, text)
    return attempt(plain, rule, kind) if rule else _all_bad(plain, kind)


def attempt(values: Some, rule: Callable[[Some], pa.Array | Converted], kind: pa.DataType) -> Converted:
    """The rule on all values; on failure on ever smaller pieces of them, until what doesn't fit stands alone."""
    parts: list[Converted] = []
    _gather(values, rule, kind, parts)
    return concatenate(parts)


def _gather(
    values: Some, rule: Callable[[Some], pa.Array | Converted], kind: pa.DataType, parts: list[Converted]
) -> None:
    try:
        found = rule(values)
        parts.append(found if isinstance(found, Converted) else Converted(found))
        return
    except DOESNT_FIT:
        if len(values) == 1:
            parts.append(Converted(pa.nulls(1, kind), pa.array([True])))
            return
    step = -(-len(values) // _PIECES)
    for at in range(0, len(values), step):
        _gather(values[at : at + step], rule, kind, parts)  # type: ignore[arg-type]  # a slice is of the same class


def concatenate(parts: Sequence[Converted]) -> Converted:
    """Several converted arrays as one."""
    if len(parts) == 1:
        return parts[0]
    values = pa.concat_arrays([part.values for part in parts])
    if all(part.bad is None for part in parts):
        return Converted(values)
    mask: list[bool] = []
    for part in parts:
        mask += [False] * len(part.values) if part.bad is None else part.bad.to_pylist()
    return Converted(values, pa.array(mask, pa.bool_()))


def bad_mask(part: Converted) -> pa.Array:
    """The mask of bad values, whether or not there are any."""
    return part.bad if part.bad is not None else pa.repeat(False, len(part.values))


def either(first: pa.Array | None, second: pa.Array | None) -> pa.Array | None:
    """The union of two masks, where None is a mask without a true value."""
    if first is None or second is None:
        return second if first is None else first
    return pc.or_(first, second)


def only_where(mask: pa.Array) -> pa.Array | None:
    """The mask, or None if nothing in it is true."""
    return mask if pc.any(mask).as_py() else None


def _all_bad(array: pa.Array, kind: pa.DataType) -> Converted:
    return Converted(pa.nulls(len(array), kind), only_where(array.is_valid()))


def _plain(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One contiguous array without dictionary, extension or view, and with 32-bit offsets."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _plain(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(array))
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return array.cast(pa.string())
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return array.cast(pa.binary())
    return array


def _always_valid(kind: pa.DataType) -> bool:
    return not (pa.types.is_string(kind) or pa.types.is_decimal(kind))


def _validate(array: pa.Array) -> pa.Array:
    """Memory that another library filled may hold strings that aren't UTF-8 and decimals with too many digits."""
    array.validate(full=True)
    return array


# Scalars


@lru_cache(maxsize=1024)
def _rule(source: pa.DataType, kind: pa.DataType, text: bool) -> Rule | None:
    """The rule from one type to another, or None if no value of the one can stand for a value of the other."""
    stringy, is_kind = pa.types.is_string(source), pa.types
    if is_kind.is_boolean(kind):
        return _cast(kind) if text and stringy else None
    if is_kind.is_integer(kind):
        return _integer_rule(source, kind, text and stringy)
    if is_kind.is_floating(kind):
        return _float_rule(source, kind, text and stringy)
    if is_kind.is_decimal(kind):
        return _decimal_rule(source, kind)
    if is_kind.is_binary(kind):
        return _from_base64 if stringy else None
    if is_kind.is_date(kind):
        return _date_rule(source, kind)
    if is_kind.is_timestamp(kind):
        return _instant_rule(source) if kind == INSTANT else _local_rule(source, kind)
    return None


def _cast(kind: pa.DataType) -> Rule:
    return lambda array: array.cast(kind)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _integer_rule(source: pa.DataType, kind: pa.DataType, text: bool) -> Rule | None:
    if text:  # by way of a decimal: Arrow's own reading of text takes hexadecimal and refuses 1.0
        return lambda array: array.cast(_WHOLE).cast(kind)
    return _cast(kind) if _is_number(source) else None


def _float_rule(source: pa.DataType, kind: pa.DataType, text: bool) -> Rule | None:
    if text:
        return lambda array: _narrow(_text_to_double(array), kind)
    if pa.types.is_integer(source):
        return lambda array: _narrow(array.cast(pa.float64(), safe=False), kind)
    if pa.types.is_decimal(source):
        return lambda array: _narrow(array.cast(pa.string()).cast(pa.float64()), kind)
    return (lambda array: _narrow(array, kind)) if pa.types.is_floating(source) else None


def _text_to_double(array: pa.Array) -> pa.Array:
    doubles = array.cast(pa.float64())
    overflown = pc.and_(pc.is_inf(doubles), pc.invert(pc.match_substring(array, "inf", ignore_case=True)))
    if pc.any(overflown).as_py():
        raise ValueError("a number is too large")
    return doubles


def _narrow(array: pa.Array, kind: pa.DataType) -> pa.Array:
    narrowed = array.cast(kind)
    if kind != pa.float64() and pc.any(pc.and_(pc.is_inf(narrowed), pc.is_finite(array))).as_py():
        raise ValueError("a number is too large")
    return narrowed


def _decimal_rule(source: pa.DataType, kind: pa.DataType) -> Rule | None:
    if pa.types.is_integer(source) or pa.types.is_floating(source):
        # a float stands for its shortest spelling, as in JSON: 0.1 is one tenth
        return lambda array: array.cast(pa.string()).cast(kind)
    return _cast(kind) if pa.types.is_decimal(source) or pa.types.is_string(source) else None


def _from_base64(array: pa.Array) -> pa.Array:
    """One call per value: Arrow has no kernel for base64."""
    found = (None if text is None else binascii.a2b_base64(text, strict_mode=True) for text in array.to_pylist())
    return pa.array(list(found), pa.binary())


def _date_rule(source: pa.DataType, kind: pa.DataType) -> Rule | None:
    if pa.types.is_timestamp(source) and source.tz is None:
        return lambda array: _midnights(array, kind)
    return _cast(kind) if pa.types.is_date(source) or pa.types.is_string(source) else None


def _midnights(array: pa.Array, kind: pa.DataType) -> pa.Array:
    days = array.cast(kind)
    if not days.cast(array.type).equals(array):
        raise ValueError("an instant is not a date")
    return days


def _instant_rule(source: pa.DataType) -> Rule | None:
    if pa.types.is_string(source):
        return _text_to_instant
    if pa.types.is_timestamp(source) or pa.types.is_date(source):
        return _cast(INSTANT)  # one without a zone is UTC
    return None


def _text_to_instant(array: pa.Array) -> pa.Array:
    try:
        return array.cast(INSTANT)
    except pa.ArrowInvalid:
        zoned = pc.match_substring_regex(array, _ZONED)
    nothing = pa.scalar(None, pa.string())
    local = pc.if_else(zoned, nothing, array).cast(_NAIVE).cast(INSTANT)
    return pc.coalesce(pc.if_else(zoned, array, nothing).cast(INSTANT), local)


def _local_rule(source: pa.DataType, kind: pa.DataType) -> Rule | None:
    without_zone = pa.types.is_timestamp(source) and source.tz is None
    return _cast(kind) if without_zone or pa.types.is_date(source) or pa.types.is_string(source) else None


# Nested values: the children are converted as arrays of their own; one bad child makes its parent bad


def _convert_nested(array: pa.Array, kind: pa.DataType, text: bool) -> Converted:
    source = array.type
    if pa.types.is_struct(kind) and pa.types.is_struct(source):
        return _convert_struct(array, kind, text)
    if pa.types.is_map(kind) and pa.types.is_map(source):
        return _convert_map(array, kind, text)
    if pa.types.is_list(kind) and not pa.types.is_map(source) and hasattr(array, "flatten") and source.num_fields == 1:
        listed = array if pa.types.is_list(source) else array.cast(pa.list_(source.value_type))
        return assemble_list(listed.is_valid(), pc.list_value_length(listed),
                             convert(listed.flatten(), kind.value_type, text=text), kind)  # fmt: skip
    return _all_bad(array, kind)


def _convert_struct(array: pa.Array, kind: pa.DataType, text: bool) -> Converted:
    given = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
    children = []
    for field in kind:
        child = given.get(field.name)
        nothing = Converted(pa.nulls(len(array), field.type))
        children.append(nothing if child is None else convert(child, field.type, text=text))
    return assemble_struct(array.is_valid(), children, kind)


def _convert_map(array: pa.Array, kind: pa.DataType, text: bool) -> Converted:
    entries = map_as_list(array)
    keys, items = entries.flatten().flatten()
    found = convert(keys, kind.key_type, text=text), convert(items, kind.item_type, text=text)
    return assemble_map(array.is_valid(), pc.list_value_length(entries), *found, kind)


def map_as_list(array: pa.Array) -> pa.Array:
    """The maps as lists of their entries; Arrow's kernels for lists don't take maps."""
    return array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))


def assemble_struct(valid: pa.Array, children: Sequence[Converted], kind: pa.DataType) -> Converted:
    """A struct from its fields; a field that may not be NULL and is makes the struct bad."""
    bad = None
    for field, child in zip(kind, children, strict=True):
        bad = either(bad, child.bad)
        if not field.nullable and child.values.null_count:
            bad = either(bad, child.values.is_null())
    bad = None if bad is None else only_where(pc.and_(bad, valid))
    values = pa.StructArray.from_arrays([child.values for child in children], fields=list(kind), mask=pc.invert(valid))
    return _without_bad(values, bad, kind)


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
    bad = _parents(either(either(keys.bad, only_where(keys.values.is_null())), items.bad), offsets)
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
    """Which parents have a bad child."""
    if bad is None or not pc.any(bad).as_py():
        return None
    counts = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(bad.cast(pa.int64()))]).take(offsets)
    return pc.greater(counts.slice(1), counts.slice(0, len(counts) - 1))


def _children(bad: pa.Array, offsets: pa.Array) -> pa.Array:
    """Which children have a bad parent."""
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
