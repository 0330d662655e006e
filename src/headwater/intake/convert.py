"""Values into declared types, whole arrays at a time: the one set of rules that every format obeys.

A *rule* turns an array of one Arrow type into another and raises when any value doesn't fit; nothing is rounded, cut
off or wrapped. A rule is tried on the whole array. Only when it raises is the array cut into pieces, and the pieces
into pieces, until each value that doesn't fit stands alone: it becomes NULL and is marked *bad*.

*Text* is a value from a format that has no types (a field of a CSV file, the digits of a JSON number): unlike a string
that somebody gave as a string, it may stand for a number or a boolean.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from headwater.intake.converted import Converted, attempt, either, only_where
from headwater.intake.nested import assemble_list, assemble_map, assemble_struct
from headwater.model import INSTANT, is_number, rescale, spell_decimals
from headwater.model.decimals import spell_decimal

Rule = Callable[[pa.Array], pa.Array | Converted]
_NAIVE = pa.timestamp("us")
_WHOLE = pa.decimal128(38, 0)
_YEARS = (-719_162, 2_932_897)
"""The days from 1970 to the first of the years that are taken, and to the first behind them."""
_DAY = 86_400_000_000
_ZONED = r"[T ].*(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"


def convert(array: pa.Array | pa.ChunkedArray, kind: pa.DataType, *, text: bool = False) -> Converted:
    """The array in the declared type, with the values marked that don't fit.

    >>> amounts = convert(pa.array(["12.50", "12.345"]), pa.decimal128(12, 2))
    >>> [str(value) for value in amounts.values], amounts.bad.to_pylist()
    (['12.50', 'None'], [False, True])
    """
    made = _convert(_plain(array), kind, text)
    return _in_years(made) if pa.types.is_date(kind) or pa.types.is_timestamp(kind) else made


def _in_years(made: Converted) -> Converted:
    """Dates and instants of the years 1 to 9999, as Spark and Python have them; others don't fit."""
    kind = made.values.type
    counts = made.values.view(pa.int32() if pa.types.is_date(kind) else pa.int64())
    least, most = (day if pa.types.is_date(kind) else day * _DAY for day in _YEARS)
    ends = pc.min_max(counts).as_py()
    if ends["min"] is None or (ends["min"] >= least and ends["max"] < most):
        return made
    outside = pc.or_(pc.less(counts, least), pc.greater_equal(counts, most)).fill_null(False)
    return Converted(pc.if_else(outside, pa.scalar(None, kind), made.values), either(made.bad, outside))


def _convert(plain: pa.Array, kind: pa.DataType, text: bool) -> Converted:
    if plain.type == kind and not pa.types.is_nested(kind):
        return Converted(plain) if _always_valid(kind) else attempt(plain, _validate, kind)
    if pa.types.is_null(plain.type):
        return Converted(pa.nulls(len(plain), kind))
    if pa.types.is_nested(kind):
        return _convert_nested(plain, kind, text)
    rule = _rule(plain.type, kind, text)
    return attempt(plain, rule, kind) if rule else _all_bad(plain, kind)


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


def _integer_rule(source: pa.DataType, kind: pa.DataType, text: bool) -> Rule | None:
    if text:  # by way of a decimal: Arrow's own reading of text takes hexadecimal and refuses 1.0
        return lambda array: _whole(_decimals(array, _WHOLE), kind)
    if pa.types.is_decimal(source):
        return lambda array: rescale(array, _WHOLE).cast(kind)
    return _cast(kind) if is_number(source) else None


def _float_rule(source: pa.DataType, kind: pa.DataType, text: bool) -> Rule | None:
    if text:
        return lambda array: _narrow(_text_to_double(array), kind)
    if pa.types.is_integer(source):
        return lambda array: _narrow(array.cast(pa.float64(), safe=False), kind)
    if pa.types.is_decimal(source):
        return lambda array: _narrow(array.cast(pa.string()).cast(pa.float64()), kind)
    if pa.types.is_string(source):
        return lambda array: _named(array).cast(kind)
    return (lambda array: _narrow(array, kind)) if pa.types.is_floating(source) else None


def _named(array: pa.Array) -> pa.Array:
    """The values that are no numbers, by the names that JSON without such values has for it, and that outlets write."""
    if pc.any(pc.invert(pc.is_in(array.drop_null(), pa.array(["NaN", "Infinity", "-Infinity"])))).as_py():
        raise ValueError("a string is no number")
    return array


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
        return lambda array: _decimals(array.cast(pa.string()), kind)
    if pa.types.is_decimal(source):
        return lambda array: rescale(array, kind)
    return (lambda array: _decimals(array, kind)) if pa.types.is_string(source) else None


def _decimals(texts: pa.Array, kind: pa.DataType) -> Converted:
    """Texts as decimals. Where one is no number, all are looked at one by one: that is faster than to look for it."""
    spelled = spell_decimals(texts, kind)
    try:
        values = spelled.cast(kind)
    except pa.ArrowInvalid:
        known = (None if text is None else spell_decimal(text, kind) for text in texts.to_pylist())
        values = pa.array(list(known), pa.string()).cast(kind)
    bad = values.null_count > texts.null_count
    return Converted(values, pc.and_(values.is_null(), texts.is_valid()) if bad else None)


def _whole(converted: Converted, kind: pa.DataType) -> Converted:
    return Converted(converted.values.cast(kind), converted.bad)


def _from_base64(array: pa.Array) -> pa.Array:
    """One call per value: Arrow has no kernel for base64."""
    decoded = (None if text is None else binascii.a2b_base64(text, strict_mode=True) for text in array.to_pylist())
    return pa.array(list(decoded), pa.binary())


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


# Nested values: the children are converted as arrays of their own


_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def _convert_nested(array: pa.Array, kind: pa.DataType, text: bool) -> Converted:
    source = array.type
    if pa.types.is_struct(kind) and pa.types.is_struct(source):
        return _convert_struct(array, kind, text)
    if pa.types.is_map(kind) and pa.types.is_map(source):
        return _convert_map(array, kind, text)
    if pa.types.is_list(kind) and any(is_list(source) for is_list in _LISTS):
        listed = array if pa.types.is_list(source) else array.cast(pa.list_(source.value_type))
        return assemble_list(listed.is_valid(), pc.list_value_length(listed),
                             convert(listed.flatten(), kind.value_type, text=text), kind)  # fmt: skip
    return _all_bad(array, kind)


def _convert_struct(array: pa.Array, kind: pa.DataType, text: bool) -> Converted:
    fields = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
    children = []
    for field in kind:
        child = fields.get(field.name)
        nothing = Converted(pa.nulls(len(array), field.type))
        children.append(nothing if child is None else convert(child, field.type, text=text))
    return assemble_struct(array.is_valid(), children, kind)


def _convert_map(array: pa.Array, kind: pa.DataType, text: bool) -> Converted:
    entries = map_as_list(array)
    keys, items = entries.flatten().flatten()
    parts = convert(keys, kind.key_type, text=text), convert(items, kind.item_type, text=text)
    return assemble_map(array.is_valid(), pc.list_value_length(entries), *parts, kind)


def map_as_list(array: pa.Array) -> pa.Array:
    """The maps as lists of their entries; Arrow's kernels for lists don't take maps."""
    return array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
