"""Plausible values for any declared type, whole columns at a time, from a seeded source of randomness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.intake.converted import Converted
from headwater.intake.nested import assemble_list, assemble_map, assemble_struct

Random = np.random.Generator

_WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "juniper", "knoll", "larch")
_DAY = 86_400_000_000


@dataclass(frozen=True)
class Moment:
    """The means of filling a column: randomness, and the event times (microseconds since 1970) of its rows."""

    random: Random
    at: np.ndarray[Any, np.dtype[np.int64]]

    def __len__(self) -> int:
        return len(self.at)

    def repeated(self, counts: np.ndarray[Any, Any]) -> Moment:
        """The moment for so many values per row."""
        return Moment(self.random, np.repeat(self.at, counts))


def fill(kind: pa.DataType, moment: Moment) -> pa.Array:
    """Values of the type: words, small counts, log-normal amounts, instants shortly before the event."""
    random, count = moment.random, len(moment)
    if pa.types.is_string(kind):
        return pa.array(_WORDS).take(pa.array(random.integers(0, len(_WORDS), count)))
    if pa.types.is_boolean(kind):
        return pa.array(random.random(count) < 0.5)
    if pa.types.is_integer(kind):
        return pa.array(random.geometric(0.05, count).clip(max=100)).cast(kind)
    if pa.types.is_floating(kind):
        return pa.array(np.round(random.lognormal(3, 1, count), 3)).cast(kind)
    if pa.types.is_decimal(kind):
        return decimals(_amounts(kind, random, count), kind)
    if pa.types.is_binary(kind):
        return pa.array([random.bytes(8) for _ in range(count)], kind)
    if pa.types.is_date(kind):
        return pa.array((moment.at // _DAY).astype(np.int32)).cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(moment.at - random.integers(0, _DAY, count)).cast(kind)
    return _nested(kind, moment)


def _amounts(kind: pa.DataType, random: Random, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Amounts in units of the last decimal place, within what the type and 64 bits can hold."""
    most = 10 ** min(kind.precision, 15) - 1
    scaled = random.lognormal(3.5, 1, count) * 10.0 ** min(kind.scale, 12)
    units: np.ndarray[Any, np.dtype[np.int64]] = np.floor(np.clip(scaled, 0, most)).astype(np.int64)
    return units


def decimals(units: np.ndarray[Any, np.dtype[np.int64]], kind: pa.DataType) -> pa.Array:
    """Decimals from their values in units of the last decimal place: the 128-bit integers that Arrow keeps."""
    wide = np.empty((len(units), 2), dtype=np.int64)
    wide[:, 0], wide[:, 1] = units, units >> 63
    return pa.Array.from_buffers(kind, len(units), [None, pa.py_buffer(wide.tobytes())])


def _nested(kind: pa.DataType, moment: Moment) -> pa.Array:
    valid = pa.repeat(True, len(moment))
    if pa.types.is_struct(kind):
        return assemble_struct(valid, [Converted(fill(field.type, moment)) for field in kind], kind).values
    counts = moment.random.integers(0, 2 if pa.types.is_map(kind) else 4, len(moment))
    inside, lengths = moment.repeated(counts), pa.array(counts, pa.int32())
    if pa.types.is_map(kind):  # of one entry at most: its key can't come twice
        keys, items = Converted(fill(kind.key_type, inside)), Converted(fill(kind.item_type, inside))
        return assemble_map(valid, lengths, keys, items, kind).values
    return assemble_list(valid, lengths, Converted(fill(kind.value_type, inside)), kind).values


def numbered(name: str, numbers: np.ndarray[Any, np.dtype[np.int64]], kind: pa.DataType) -> pa.Array:
    """A value of its own for each number: `order_id-00000042` for a string, the number itself where one fits."""
    plain = pa.array(numbers)
    if pa.types.is_string(kind):
        digits = pc.utf8_lpad(plain.cast(pa.string()), 8, "0")
        return pc.binary_join_element_wise(pa.scalar(name), digits, "-")
    if pa.types.is_decimal(kind):
        return decimals(numbers, kind)
    if pa.types.is_binary(kind):
        return plain.cast(pa.string()).cast(kind)
    if pa.types.is_timestamp(kind):
        return plain.cast(kind)
    if pa.types.is_date(kind):
        return pa.array(numbers.astype(np.int32)).cast(kind)
    return plain.cast(kind, safe=False)
