"""Unknown fields: what an event has and no column declares.

They are counted by their names, whatever else becomes of them; a field of a STRUCT by its path (`address.zip`). A NULL
is no value, and is not counted. A topic says (`unknown_fields`) whether they are left out, make the event a dead
letter, or are kept in a column, by their names and as JSON text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.json_text import row_as_json
from headwater.model import Kafka, Topic


@dataclass(frozen=True)
class Known:
    """The names that an object may have, and what is known below them; None for a map, which may have any."""

    names: frozenset[str] | None
    inside: Mapping[str, Known]

    @property
    def is_flat(self) -> bool:
        """Tells whether nothing below its names can be unknown."""
        return not self.inside


def known_of(columns: Iterable[tuple[str, pa.DataType]], more: Iterable[str] = ()) -> Known:
    """The known fields of objects with these columns; `more` are names that mean something else."""
    pairs = list(columns)
    inside = {name: below for name, kind in pairs if (below := _below(kind)) is not None}
    return Known(frozenset([*(name for name, _ in pairs), *more]), inside)


def known_to(topic: Topic, columns: Iterable[tuple[str, pa.DataType]]) -> Known:
    """The known fields of the events of a topic: its columns, and the field that tells the version of an event."""
    version = topic.intake.version_from if isinstance(topic.intake, Kafka) else None
    return known_of(columns, [version.removeprefix("field ")] if version and version.startswith("field ") else [])


def _below(kind: pa.DataType) -> Known | None:
    if pa.types.is_struct(kind):
        return known_of((part.name, part.type) for part in kind)
    if pa.types.is_list(kind):
        return _below(kind.value_type)
    if pa.types.is_map(kind) and (below := _below(kind.item_type)) is not None:
        return Known(None, {"": below})
    return None


@dataclass(frozen=True)
class Unknown:
    """The unknown fields of some events: how many have each, and, where it matters, which ones an event has.

    `named` is by the index of an event among those that came with it.
    """

    counts: Counter[str] = field(default_factory=Counter)
    named: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def add(self, other: Unknown) -> None:
        """Add the fields of other events."""
        self.counts.update(other.counts)
        self.named.update(other.named)


def fields_of(value: Any, known: Known, path: str = "", *, nulls: bool = False) -> Iterator[tuple[str, Any]]:
    """The unknown fields of a value, by their paths; with `nulls` those that have none as well.

    >>> known = known_of([("id", pa.int64()), ("at", pa.struct([("city", pa.string())]))])
    >>> list(fields_of({"id": 1, "size": 2, "at": {"city": "Ulm", "zip": "89073"}}, known))
    [('size', 2), ('at.zip', '89073')]
    """
    if isinstance(value, list | tuple):
        for item in value:
            yield from fields_of(item, known, path, nulls=nulls)
    elif isinstance(value, Mapping) and known.names is None:
        for item in value.values():
            yield from fields_of(item, known.inside[""], path, nulls=nulls)
    elif isinstance(value, Mapping):
        assert known.names is not None
        for name, item in value.items():
            if (item is None and not nulls) or not isinstance(name, str):
                continue
            if name not in known.names:
                yield f"{path}{name}", item
            elif name in known.inside:
                yield from fields_of(item, known.inside[name], f"{path}{name}.", nulls=nulls)


def have_none(rows: Sequence[Mapping[str, Any]], known: Known) -> bool:
    """Tells whether rows have no unknown field for certain, told at once for all of them."""
    assert known.names is not None
    return known.is_flat and set().union(*rows) <= known.names


def fields_of_rows(rows: Iterable[tuple[int, Mapping[str, Any]]], known: Known, *, named: bool) -> Unknown:
    """The unknown fields of rows, each with its index."""
    unknown = Unknown()
    for index, row in rows:
        names = tuple(dict.fromkeys(name for name, _ in fields_of(row, known)))
        unknown.counts.update(names)
        if named and names:
            unknown.named[index] = names
    return unknown


def kept_fields(row: Mapping[str, Any], known: Known, own: Any) -> Any:
    """The value of the column that keeps unknown fields: each as JSON text; several values of one as an array.

    `own` is what the row has for that column itself, which stays.
    """
    values: dict[str, list[Any]] = {}
    for name, value in fields_of(row, known):
        values.setdefault(name, []).append(value)
    if not values or not (own is None or isinstance(own, Mapping)):
        return own
    texts = {name: row_as_json(held[0] if len(held) == 1 else held).decode() for name, held in values.items()}
    return {**texts, **(own or {})}


def masks_of_table(table: pa.Table, known: Known) -> dict[str, pa.Array]:
    """Masks of the rows of a table with a value for each unknown field, of the fields that any of them has."""
    assert known.names is not None
    masks: dict[str, pa.Array] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name not in known.names:
            _add(masks, {name: column.is_valid().combine_chunks()})
        elif name in known.inside:
            _add(masks, _masks(column.combine_chunks(), known.inside[name], f"{name}."))
    return {name: mask for name, mask in masks.items() if mask.true_count}


def _masks(column: pa.Array, known: Known, path: str) -> dict[str, pa.Array]:
    """The same for the values of a column, by the fields that its type has."""
    masks: dict[str, pa.Array] = {}
    if pa.types.is_struct(column.type) and known.names is not None:
        for part, child in zip(column.type, column.flatten(), strict=True):
            if part.name not in known.names:
                _add(masks, {f"{path}{part.name}": child.is_valid()})
            elif part.name in known.inside:
                _add(masks, _masks(child, known.inside[part.name], f"{path}{part.name}."))
    elif pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        parents = pc.list_parent_indices(column)
        for name, mask in _masks(column.flatten(), known, path).items():
            rows = pa.array(range(len(column)), parents.type)
            masks[name] = pc.is_in(rows, value_set=parents.filter(mask))
    return masks


def _add(masks: dict[str, pa.Array], others: Mapping[str, pa.Array]) -> None:
    """Add masks; two columns of one name are one field."""
    for name, mask in others.items():
        masks[name] = pc.or_(masks[name], mask) if name in masks else mask


def names_by_row(masks: Mapping[str, pa.Array]) -> dict[int, tuple[str, ...]]:
    """The indices of rows that have unknown fields, and which."""
    named: dict[int, tuple[str, ...]] = {}
    for name, mask in masks.items():
        for row in pc.indices_nonzero(mask).to_pylist():
            named[row] = (*named.get(row, ()), name)
    return named
