"""Python values into declared types: a list of values of one column becomes one Arrow array.

The values are sorted by their Python class; each class becomes an Arrow array of the type that holds it without loss,
and `convert` takes it from there, so that a Python value obeys the rules that Arrow, JSON and CSV obey.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any

import pyarrow as pa

from headwater.intake.convert import convert
from headwater.intake.converted import DOESNT_FIT, Converted, attempt, bad_mask, either, only_where
from headwater.intake.nested import assemble_list, assemble_map, assemble_struct
from headwater.json_text import Number
from headwater.model import INSTANT, is_number, spell_type


class _Twice:
    """Unlike any key that a text can spell."""

    def __str__(self) -> str:
        return "(named twice)"


TWICE: Any = _Twice()
"""The key under which an object read from JSON keeps the names that it gave twice."""


def column_of(values: Sequence[Any], kind: pa.DataType) -> Converted:
    """The values in the declared type, with those marked that don't fit.

    >>> column = column_of([1, 2.0, "3", None], pa.int32())
    >>> column.values.to_pylist(), column.bad.to_pylist()
    ([1, 2, None, None], [False, False, True, False])
    """
    classes = set(map(type, values))
    classes.discard(type(None))
    if classes <= _native(kind):
        try:
            return Converted(pa.array(values, kind))
        except (*DOESNT_FIT, UnicodeEncodeError):
            pass
    sorts = {cls: _sort_of(cls) for cls in classes}
    if len(classes) == 1:
        (sort,) = sorts.values()
        return _of_one_sort(values, sort, kind) if sort is not datetime else _mixed(values, kind)
    return _mixed(values, kind)


@lru_cache(maxsize=1024)
def _native(kind: pa.DataType) -> frozenset[type]:
    """The classes that `pa.array` reads as we do. The rest it may round, reinterpret or encode."""
    if pa.types.is_integer(kind):
        return frozenset({int})
    exact = {pa.string(): str, pa.binary(): bytes, pa.bool_(): bool, pa.float64(): float, pa.date32(): date}
    return frozenset({exact[kind]}) if kind in exact else frozenset({datetime} if kind == INSTANT else ())


_SORTS: tuple[type, ...] = (
    bool, int, float, Decimal, Number, str, bytes, bytearray, memoryview, datetime, date, Mapping, list, tuple,
)  # fmt: skip


class _NumpyScalar:
    """Stands for the classes of NumPy's scalars."""


class _NumpyArray:
    """Stands for NumPy's array."""


@cache
def _sort_of(cls: type) -> type:
    """The class whose rules a value obeys: the class itself, or the known class that it extends."""
    if cls.__name__ in ("NoneType", "NaTType", "NAType"):
        return type(None)
    if cls.__module__ == "numpy" and not issubclass(cls, float | str | bytes):
        return _NumpyArray if cls.__name__ == "ndarray" else _NumpyScalar
    if dataclasses.is_dataclass(cls):
        return Mapping
    return next((sort for sort in _SORTS if issubclass(cls, sort)), object)


def _mixed(values: Sequence[Any], kind: pa.DataType) -> Converted:
    """Each sort of value by itself, put together again in the order in which they came."""
    by_sort: dict[Any, list[int]] = {}
    for index, value in enumerate(values):
        cls: type = type(value)
        sort = _sort_of(cls)
        key = (sort, value.tzinfo is None, cls) if sort is datetime else (sort,)
        by_sort.setdefault(key, []).append(index)
    parts = [_of_one_sort([values[at] for at in indices], key[0], kind) for key, indices in by_sort.items()]
    order = [0] * len(values)
    for now, index in enumerate(index for indices in by_sort.values() for index in indices):
        order[index] = now
    joined = pa.concat_arrays([part.values for part in parts]).take(pa.array(order, pa.int64()))
    bad = pa.concat_arrays([bad_mask(part) for part in parts]).take(pa.array(order, pa.int64()))
    return Converted(joined, only_where(bad))


def _of_one_sort(values: Sequence[Any], sort: type, kind: pa.DataType) -> Converted:
    if sort is type(None):
        return Converted(pa.nulls(len(values), kind))
    if sort is _NumpyScalar:
        return column_of([None if value is None else value.item() for value in values], kind)
    if sort is _NumpyArray:
        return column_of([None if value is None else value.tolist() for value in values], kind)
    if pa.types.is_nested(kind):
        return _nested(values, sort, kind)
    reader = _READERS.get(sort)
    if reader is None or (sort is Number and not is_number(kind)):
        return _refuse(values, kind)
    return attempt(values, lambda some: reader(some, kind), kind)


def _refuse(values: Sequence[Any], kind: pa.DataType) -> Converted:
    return Converted(pa.nulls(len(values), kind), pa.array([value is not None for value in values], pa.bool_()))


# Readers: values of one class into the declared type


def _as(holder: pa.DataType) -> Callable[[Sequence[Any], pa.DataType], Converted]:
    return lambda values, kind: convert(pa.array(values, holder), kind)


def _as_text(values: Sequence[Any], kind: pa.DataType) -> Converted:
    if not is_number(kind):
        return _refuse(values, kind)
    return convert(pa.array([None if value is None else str(value) for value in values], pa.string()), kind, text=True)


def _integers(values: Sequence[Any], kind: pa.DataType) -> Converted:
    try:
        return convert(pa.array(values, pa.int64()), kind)
    except OverflowError:
        return _as_text(values, kind)


def _instants(values: Sequence[Any], kind: pa.DataType) -> Converted:
    first = next(value for value in values if value is not None)
    unit = "us" if type(first) is datetime else "ns"  # a pandas Timestamp counts nanoseconds
    return convert(pa.array(values, pa.timestamp(unit, "UTC" if first.tzinfo is not None else None)), kind)


def _buffers(values: Sequence[Any], kind: pa.DataType) -> Converted:
    return convert(pa.array([None if value is None else bytes(value) for value in values], pa.binary()), kind)


_READERS: dict[type, Callable[[Sequence[Any], pa.DataType], Converted]] = {
    bool: _as(pa.bool_()),
    int: _integers,
    float: _as(pa.float64()),
    Decimal: _as_text,
    Number: _as_text,
    str: _as(pa.string()),
    bytes: _buffers,
    bytearray: _buffers,
    memoryview: _buffers,
    datetime: _instants,
    date: _as(pa.date32()),
}


# Nested values


def _nested(values: Sequence[Any], sort: type, kind: pa.DataType) -> Converted:
    if pa.types.is_struct(kind) and sort is Mapping:
        return _structs(values, kind)
    if pa.types.is_map(kind) and sort in (Mapping, list, tuple):
        return _maps(values, kind)
    if pa.types.is_list(kind) and sort in (list, tuple):
        flat = [item for value in values if value is not None for item in value]
        return assemble_list(_valid(values), _lengths(values), column_of(flat, kind.value_type), kind)
    return _refuse(values, kind)


def _valid(values: Sequence[Any]) -> pa.Array:
    return pa.array([value is not None for value in values], pa.bool_())


def _lengths(values: Sequence[Any]) -> pa.Array:
    return pa.array([0 if value is None else len(value) for value in values], pa.int32())


def _structs(values: Sequence[Any], kind: pa.DataType) -> Converted:
    rows = [{} if value is None else as_mapping(value) for value in values]
    children = [column_of([row.get(field.name) for row in rows], field.type) for field in kind]
    names = {field.name for field in kind}
    twice = [not names.isdisjoint(row.get(TWICE, ())) for row in rows]
    return _refused_also(assemble_struct(_valid(values), children, kind), twice)


def _maps(values: Sequence[Any], kind: pa.DataType) -> Converted:
    pairs = [None if value is None else _pairs(value) for value in values]
    flat = [pair for entries in pairs if entries is not None for pair in entries]
    keys = column_of([_key(pair[0], kind.key_type) for pair in flat], kind.key_type)
    items = column_of([pair[1] for pair in flat], kind.item_type)
    refused = [entries is None and value is not None for entries, value in zip(pairs, values, strict=True)]
    return _refused_also(assemble_map(_valid(pairs), _lengths(pairs), keys, items, kind), refused)


def _refused_also(converted: Converted, refused: Sequence[bool]) -> Converted:
    if not any(refused):
        return converted
    return Converted(converted.values, either(converted.bad, pa.array(refused, pa.bool_())))


def _pairs(value: Any) -> list[tuple[Any, Any]] | None:
    """The entries of a map, given as a mapping or as pairs; None if it is neither or names a key twice."""
    if isinstance(value, Mapping) or dataclasses.is_dataclass(value):
        mapping = as_mapping(value)
        return None if TWICE in mapping else list(mapping.items())
    return list(value) if all(isinstance(pair, Sequence) and len(pair) == 2 for pair in value) else None


def _key(key: Any, kind: pa.DataType) -> Any:
    """JSON spells every key as a string; for a numeric or boolean key type it stands for the value."""
    if type(key) is not str:
        return key
    if pa.types.is_boolean(kind):
        return {"true": True, "false": False}.get(key, key)
    return Number(key) if is_number(kind) else key


def as_mapping(row: Any) -> Mapping[str, Any]:
    """A row as a mapping of columns to values: itself, or the fields of a dataclass instance."""
    if isinstance(row, Mapping):
        return row
    return {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}


# Reasons


def describe_misfit(name: str, value: Any, kind: pa.DataType, shown: Callable[[Any], str]) -> str:
    """A sentence that names the innermost value that doesn't fit, by its path."""
    path, culprit, expected = _culprit(name, value, kind)
    if isinstance(culprit, Mapping) and culprit.get(TWICE):
        return f'"{path}" names "{next(iter(culprit[TWICE]))}" twice'
    if culprit is None:
        return f'column "{path}" has no value and must have one: {spell_type(expected)} NOT NULL is declared'
    return f'column "{path}" is {shown(culprit)}, which doesn\'t fit {spell_type(expected)}'


def _culprit(path: str, value: Any, kind: pa.DataType) -> tuple[str, Any, pa.DataType]:
    for inner, child, field in _children(path, value, kind):
        if child is None and not field.nullable:
            return inner, child, field.type
        if column_of([child], field.type).bad is not None:
            return _culprit(inner, child, field.type)
    return path, value, kind


def _children(path: str, value: Any, kind: pa.DataType) -> Iterable[tuple[str, Any, pa.Field]]:
    if pa.types.is_struct(kind) and isinstance(value, Mapping):
        return [(f"{path}.{field.name}", value.get(field.name), field) for field in kind]
    if pa.types.is_list(kind) and isinstance(value, list | tuple):
        return [(f"{path}[{at}]", item, kind.value_field) for at, item in enumerate(value)]
    if pa.types.is_map(kind) and isinstance(value, Mapping):
        return [(f"{path}[{key!r}]", item, kind.item_field) for key, item in value.items() if key != TWICE]
    return []
