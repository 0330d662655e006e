"""Rules for arrays, maps and structs, for lambdas over them, and for texts and variants that hold them."""

from __future__ import annotations

from headwater.plan.spark_type import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    VARIANT,
    VOID,
    SparkType,
    array,
    map_of,
    parse_type,
    struct,
)  # fmt: skip
from headwater.plan.typing.call import Call, Refused, Underivable, name_of
from headwater.plan.typing.coercion import (
    can_cast,
    common,
    holds_map,
    is_orderable,
    wider,
    wider_without_strings,
)  # fmt: skip

# Arrays, maps, structs


def array_of(call: Call) -> SparkType | None:
    """array(a, b, …)."""
    element = common(call.types)
    return None if element is None else array(element)


def array_search(call: Call) -> SparkType | None:
    """array_contains: NULL can't be looked for."""
    return None if VOID in call.types or not is_orderable(call.types[1]) else BOOLEAN


def array_position(call: Call) -> SparkType | None:
    """The place of an element."""
    return BIGINT if is_orderable(call.types[1]) else None


def array_insert(call: Call) -> SparkType | None:
    """An array with an element put at a place."""
    return call.kinds[0] if call.types[1].name in ("int", "smallint", "tinyint", "unknown") else None


def array_join(call: Call) -> SparkType | None:
    """The elements as one text."""
    return STRING if all(kind in (STRING, VOID, UNKNOWN) for kind in call.types[1:]) else None


def array_extreme(call: Call) -> SparkType | None:
    """The largest or smallest element."""
    return call.kinds[0].element if is_orderable(call.kinds[0]) else None


def sort_array(call: Call) -> SparkType | None:
    """The array in order."""
    return call.kinds[0] if is_orderable(call.kinds[0]) else None


def arrays_zip(call: Call) -> SparkType | None:
    """An array of structs that are named after the columns the elements come from."""
    names = (name_of(node) or str(position) for position, node in enumerate(call.arguments))
    return array(struct(*zip(names, (kind.element for kind in call.kinds), strict=True)))


def element_at(call: Call) -> SparkType | None:
    """element_at(array, place), element_at(map, key)."""
    holder, place = call.types[:2]
    if holder.name == "map":
        return holder.value if _finds_key(holder, place) else None
    return holder.element if place.name in ("int", "smallint", "tinyint", "unknown") else None


def _finds_key(holder: SparkType, key: SparkType) -> bool:
    return wider_without_strings(holder.key, key) is not None and key != VOID


def map_contains_key(call: Call) -> SparkType | None:
    """Tells whether a map has a key."""
    return BOOLEAN if _finds_key(*call.types) else None


def map_of_pairs(call: Call) -> SparkType | None:
    """map(key, value, …)."""
    if len(call.types) % 2:
        raise Refused("It takes keys and values in turn.")
    key, value = common(call.types[0::2]), common(call.types[1::2])
    return None if key is None or value is None or holds_map(key) else map_of(key, value)


def map_concat(call: Call) -> SparkType | None:
    """Several maps as one."""
    if not call.types:
        return map_of(STRING, STRING)
    kind = common(call.types)
    return kind if kind is not None and kind.name == "map" else None


def map_from_entries(call: Call) -> SparkType | None:
    """A map of an array of pairs."""
    entry = call.types[0].element
    if entry.name != "struct" or len(entry.parts) != 2 or holds_map(entry.parts[0]):
        return None
    return map_of(*entry.parts)


def struct_of(call: Call) -> SparkType | None:
    """struct(a, b AS c, …): fields are named after their columns, others by their place."""
    names = (name_of(node) or f"col{position}" for position, node in enumerate(call.arguments, start=1))
    return struct(*zip(names, call.types, strict=True))


def named_struct(call: Call) -> SparkType | None:
    """named_struct('name', value, …)."""
    names = [call.text(position) for position in range(0, len(call.types), 2)]
    if len(call.types) % 2 or any(name is None for name in names):
        raise Refused("It takes names and values in turn.", "Write the names as literals.")
    return struct(*zip((name or "" for name in names), call.types[1::2], strict=True))


def sequence(call: Call) -> SparkType | None:
    """An array of numbers or times from one to another."""
    kind = wider(*call.types[:2])
    if kind is None or not (kind.is_integral or kind in (DATE, TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN)):
        return None
    step = call.types[2] if len(call.types) == 3 else None
    if step is not None and kind.is_integral:
        kind = wider(kind, step)
        kind = kind if kind is not None and kind.is_integral else None
    elif step is not None and not (step.is_ansi_interval or step.name in ("interval", "void", "unknown")):
        return None
    return None if kind is None else array(kind)


# Lambdas


def _is_condition(kind: SparkType) -> bool:
    return kind in (BOOLEAN, VOID, UNKNOWN)


def transform(call: Call) -> SparkType | None:
    """transform(array, x -> …) or (x, place) -> …."""
    return array(call.body(1, call.kinds[0].element, INT))


def filtered(call: Call) -> SparkType | None:
    """filter(array, x -> condition)."""
    return call.kinds[0] if _is_condition(call.body(1, call.kinds[0].element, INT)) else None


def array_predicate(call: Call) -> SparkType | None:
    """exists, forall."""
    return BOOLEAN if _is_condition(call.body(1, call.kinds[0].element)) else None


def array_sort(call: Call) -> SparkType | None:
    """array_sort(array, (a, b) -> negative, zero or positive)."""
    element = call.kinds[0].element
    if len(call.arguments) == 1:
        return call.kinds[0] if is_orderable(element) else None
    return call.kinds[0] if call.body(1, element, element) in (INT, VOID, UNKNOWN) else None


def aggregate(call: Call) -> SparkType | None:
    """aggregate(array, start, (found, x) -> …, found -> …): the fold keeps the type of its start."""
    start = call.types[1]
    merged = call.body(2, start, call.kinds[0].element)
    if merged not in (start, UNKNOWN) and start != UNKNOWN:
        raise Refused(
            f"It starts with {start} and goes on with {merged}.", f"Cast the start, like CAST(… AS {merged})."
        )
    return call.body(3, start) if len(call.arguments) == 4 else start


def zip_with(call: Call) -> SparkType | None:
    """zip_with(array, array, (a, b) -> …)."""
    return array(call.body(2, call.kinds[0].element, call.kinds[1].element))


def map_filter(call: Call) -> SparkType | None:
    """map_filter(map, (key, value) -> condition)."""
    return call.kinds[0] if _is_condition(call.body(1, *call.kinds[0].parts)) else None


def transform_keys(call: Call) -> SparkType | None:
    """transform_keys(map, (key, value) -> key)."""
    key = call.body(1, *call.kinds[0].parts)
    return None if holds_map(key) else map_of(key, call.kinds[0].value)


def transform_values(call: Call) -> SparkType | None:
    """transform_values(map, (key, value) -> value)."""
    return map_of(call.kinds[0].key, call.body(1, *call.kinds[0].parts))


def map_zip_with(call: Call) -> SparkType | None:
    """map_zip_with(map, map, (key, left, right) -> value)."""
    left, right = call.kinds[:2]
    key = wider_without_strings(left.key, right.key)
    return None if key is None else map_of(key, call.body(2, key, left.value, right.value))


# Structure in text


def from_schema(call: Call) -> SparkType | None:
    """from_json, from_csv, from_xml: the type that the schema spells."""
    spelled = call.text(1)
    if spelled is None:
        raise Underivable("Its schema isn't written out.", "Write the schema as a literal, like 'a INT, b STRING'.")
    try:
        return parse_type(spelled)
    except ValueError:
        raise Underivable(
            f"Its schema '{spelled}' can't be read.", "Write the schema as columns, like 'a INT, b STRING'."
        ) from None


def variant_get(call: Call) -> SparkType | None:
    """variant_get(variant, path, type)."""
    if len(call.arguments) < 3:
        return VARIANT
    spelled = call.text(2)
    if spelled is None:
        raise Underivable("The type that it gives isn't written out.", "Write the type as a literal, like 'INT'.")
    try:
        return parse_type(spelled)
    except ValueError:
        return None


def variant_with(call: Call) -> SparkType | None:
    """A variant with a value put into it."""
    return VARIANT if call.types[2].name in ("variant", "void") or can_cast(call.types[2], VARIANT) else None


def to_variant_object(call: Call) -> SparkType | None:
    """A variant of a nested value."""
    return VARIANT if call.types[0].name in ("array", "map", "struct", "unknown") else None
