"""Fields that Arrow's JSON reader has learned that no column declares, so that it can tell which lines have them.

Arrow's reader can be told to ignore such fields, to refuse them, or to find out their types by itself; the last would
let anyone make it build a column for every name that a block spells. So it refuses them. Where it does, it looks at a
*sample* of the lines, and from then on reads the fields that it found there as columns of their own, at once with the
rest. What it can't learn that way (too many names, or one name with values of several types) it ignores, and the lines
must be looked at one by one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from headwater.intake.lines import join
from headwater.intake.unknown import Known, fields_of, known_of

_SAMPLE = 64
_MOST_NAMES = 256
_LESSONS = 8
"""The number of times that it learns before it gives up."""
_REFUSED = "unexpected field"
_COLUMN = re.compile(r"Column\(/(.*?)\) changed from")
Masks = Mapping[str, pa.Array]
"""A mask of the rows that have a value for an unknown field, by its path."""


@dataclass(frozen=True)
class Block:
    """Lines as a table in the types that were asked for, and which of them have unknown fields; None: can't tell."""

    table: pa.Table
    strange: Masks | None


class LearningReader:
    """Reads lines of JSON into columns of some types."""

    def __init__(self, wires: pa.Schema) -> None:
        self._wires = wires
        self._learned: pa.Schema | None = wires
        self._lessons = 0

    def read(self, texts: pa.Array) -> Block | None:
        """The lines; None if Arrow's reader refuses them, or finds more or fewer objects than lines."""
        buffer = join(texts)
        while (learned := self._learned) is not None:
            try:
                table = _read(buffer, learned, "error")
                return self._apart(table) if table.num_rows == len(texts) else None
            except pa.ArrowNotImplementedError:
                return None
            except pa.ArrowInvalid as refused:
                if _REFUSED in str(refused):
                    self._learn(texts, learned)
                elif self._is_of_unknown(str(refused)):
                    self._learned = None
                else:
                    return None
        try:
            table = _read(buffer, self._wires, "ignore")
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        return Block(table, None) if table.num_rows == len(texts) else None

    def _learn(self, texts: pa.Array, before: pa.Schema) -> None:
        """Learn the types of fields from some of the lines that have them, or give up."""
        self._lessons += 1
        self._learned = None
        sample = _strange_lines(texts, known_of((part.name, part.type) for part in before))
        if sample is None or self._lessons > _LESSONS:
            return
        try:
            inferred = _read(join(pa.array(sample)), before, "infer").schema
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return
        learned = pa.schema([(part.name, _readable(part.type, _type_in(before, part.name))) for part in inferred])
        self._learned = None if learned == before else learned

    def _is_of_unknown(self, message: str) -> bool:
        """Tells whether a value is of another type than the one learned, in a field that isn't asked for."""
        column = _COLUMN.search(message)
        kind: Any = pa.struct(list(self._wires))
        for name in column[1].split("/") if column else ():
            while pa.types.is_list(kind):
                kind = kind.value_type
            if name == "[]":
                continue
            at = kind.get_field_index(name) if pa.types.is_struct(kind) else -1
            if at < 0:
                return True
            kind = kind.field(at).type
        return False

    def _apart(self, table: pa.Table) -> Block:
        """The table in the columns that are asked for, and the rows that have others."""
        if table.schema.equals(self._wires):
            return Block(table, {})
        whole = pa.StructArray.from_arrays(
            [column.combine_chunks() for column in table.columns], fields=list(table.schema)
        )
        wanted, strange = _without_strange(whole, pa.struct(list(self._wires)), "")
        held = {path: mask for path, mask in strange.items() if mask.true_count}
        return Block(pa.Table.from_arrays(wanted.flatten(), schema=self._wires), held)


def count_strange(block: Block, texts: pa.Array, known: Known) -> Counter[str]:
    """The number of a block's lines with each unknown field; looked at one by one if they must be."""
    if block.strange is not None:
        return Counter({path: mask.true_count for path, mask in block.strange.items()})
    counts: Counter[str] = Counter()
    for text in texts.to_pylist():
        counts.update({path for path, _ in fields_of(json.loads(text), known)})
    return counts


def _read(buffer: pa.Buffer, schema: pa.Schema, unexpected: Literal["error", "ignore", "infer"]) -> pa.Table:
    return pj.read_json(
        pa.BufferReader(buffer),
        parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected),
        read_options=pj.ReadOptions(use_threads=False, block_size=buffer.size + 1),
    )


def _strange_lines(texts: pa.Array, known: Known) -> list[str] | None:
    """Some of the lines that have unknown fields; None if there are none, or they have too many names."""
    sample: list[str] = []
    names: set[str] = set()
    for text in texts.to_pylist():
        try:
            paths = {path for path, _ in fields_of(json.loads(text), known, nulls=True)}
        except (ValueError, RecursionError):
            continue
        if paths:
            sample.append(text)
            names |= paths
        if len(sample) == _SAMPLE or len(names) > _MOST_NAMES:
            break
    return sample if sample and len(names) <= _MOST_NAMES else None


def _type_in(schema: pa.Schema, name: str) -> pa.DataType | None:
    at = schema.get_field_index(name)
    return None if at < 0 else schema.field(at).type


def _readable(inferred: pa.DataType, known: pa.DataType | None) -> pa.DataType:
    """The type that a field is read in: the known one where there is one, else one that takes the most values."""
    if pa.types.is_struct(inferred):
        fields = {part.name: part.type for part in known} if known is not None and pa.types.is_struct(known) else {}
        return pa.struct([(part.name, _readable(part.type, fields.get(part.name))) for part in inferred])
    if pa.types.is_list(inferred):
        inner = known.value_type if known is not None and pa.types.is_list(known) else None
        return pa.list_(_readable(inferred.value_type, inner))
    if known is not None:
        return known
    if pa.types.is_integer(inferred):
        return pa.float64()
    return pa.string() if pa.types.is_timestamp(inferred) or pa.types.is_null(inferred) else inferred


def _without_strange(column: pa.Array, wanted: pa.DataType, path: str) -> tuple[pa.Array, dict[str, pa.Array]]:
    """A column in the type that is wanted, and where its values have fields that the type lacks."""
    if column.type == wanted:
        return column, {}
    strange: dict[str, pa.Array] = {}
    if pa.types.is_list(wanted):
        values, inside = _without_strange(column.values, wanted.value_type, path)
        parents = pc.list_parent_indices(column)
        for name, mask in inside.items():
            rows = parents.filter(mask.slice(0, len(parents)))
            strange[name] = pc.is_in(pa.array(range(len(column)), parents.type), value_set=rows)
        return pa.ListArray.from_arrays(column.offsets, values, type=wanted, mask=_nulls(column)), strange
    parts = dict(zip((part.name for part in column.type), column.flatten(), strict=True))
    children = []
    for part in wanted:
        child, inside = _without_strange(parts.pop(part.name), part.type, f"{path}{part.name}.")
        children.append(child)
        strange |= inside
    strange |= {f"{path}{name}": child.is_valid() for name, child in parts.items()}
    return pa.StructArray.from_arrays(children, fields=list(wanted), mask=_nulls(column)), strange


def _nulls(column: pa.Array) -> pa.Array | None:
    return column.is_null() if column.null_count else None
