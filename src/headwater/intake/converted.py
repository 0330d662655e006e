"""Values that are taken into a declared type: an array of it, and a mark on each that doesn't fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

Some = TypeVar("Some", bound=Sequence[Any])

DOESNT_FIT = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, OverflowError, TypeError)
"""The errors by which a rule says that some value doesn't fit."""

_PIECES = 8


@dataclass(frozen=True)
class Converted:
    """`values` in the declared type; `bad` is true where a value didn't fit (and is NULL now), None if all did."""

    values: pa.Array
    bad: pa.Array | None = None


def attempt(values: Some, rule: Callable[[Some], pa.Array | Converted], kind: pa.DataType) -> Converted:
    """The rule on all values; on failure on ever smaller pieces of them, until what doesn't fit stands alone."""
    parts: list[Converted] = []
    _gather(values, rule, kind, parts)
    return concatenate(parts)


def _gather(
    values: Some, rule: Callable[[Some], pa.Array | Converted], kind: pa.DataType, parts: list[Converted]
) -> None:
    try:
        made = rule(values)
        parts.append(made if isinstance(made, Converted) else Converted(made))
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
