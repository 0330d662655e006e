"""Verification: what a store holds against what the log says, row for row.

Everything is compared exactly but floating-point values, whose last digits may depend on the order of additions: they
are compared to nine significant digits. Values that derive from a sketch are compared within its bound
(`operators.tolerance`): the rows are told apart by the other columns first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from typing import Any

import pyarrow as pa

from headwater.engine.digits import rounded
from headwater.operators.tolerance import Tolerances


@dataclass(frozen=True)
class Verified:
    """The outcome: how many rows were compared, up to which commits, and every row that differs.

    `missing` rows follow from the log and are not in the store; `extra` rows are in the store and do not follow.
    `miscounted` are the fates of which the ledger says another number (the first) than the log (the second), and
    `remainder` is what the ledger leaves unexplained.
    """

    view: str
    version: int
    commits: Mapping[str, int]
    rows: int
    missing: list[dict[str, Any]]
    extra: list[dict[str, Any]]
    miscounted: Mapping[str, tuple[int, int]]
    remainder: int

    @property
    def identical(self) -> bool:
        """Tells whether nothing differs, and every row is accounted for."""
        return not (self.missing or self.extra or self.miscounted or self.remainder)


_NONE: Tolerances = {}
Values = dict[str, Any]


def differences(
    held: pa.Table, expected: pa.Table, approximate: Tolerances = _NONE
) -> tuple[list[Values], list[Values]]:
    """The rows that are missing and those that are extra, as many times as they differ.

    >>> differences(pa.table({"n": [1, 2, 2]}), pa.table({"n": [2, 3]}))
    ([{'n': 3}], [{'n': 1}, {'n': 2}])
    """
    if not approximate:
        mine, theirs = _counted(held), _counted(expected)
        return list(_rows(theirs - mine)), list(_rows(mine - theirs))
    missing, extra = [], []
    here, there = _grouped(held, approximate), _grouped(expected, approximate)
    for same in {**here, **there}:
        pairs = zip_longest(_in_order(here.get(same, [])), _in_order(there.get(same, [])))
        apart = [(one, other) for one, other in pairs if not _is_close(one, other, approximate)]
        extra += [one for one, _ in apart if one is not None]
        missing += [other for _, other in apart if other is not None]
    return missing, extra


def _grouped(table: pa.Table, approximate: Tolerances) -> dict[_Row, list[Values]]:
    """The rows by what is exact in them."""
    by_exact: dict[_Row, list[Values]] = {}
    for row in table.to_pylist():
        exact = _Row({name: value for name, value in row.items() if name not in approximate})
        by_exact.setdefault(exact, []).append(row)
    return by_exact


def _in_order(rows: list[Values]) -> list[Values]:
    """Rows that are equal in what is exact, in an order in which those of two executions stand side by side."""
    return sorted(rows, key=repr)


def _is_close(one: Values | None, other: Values | None, approximate: Tolerances) -> bool:
    if one is None or other is None:
        return False
    return all(
        _is_within(one[name], other[name], tolerance.share) for name, tolerance in approximate.items() if name in one
    )


def _is_within(one: Any, other: Any, share: float | None) -> bool:
    """Tells whether two values are as near as they have to be; NULL is near nothing but NULL."""
    if one is None or other is None or share is None or not isinstance(one, int | float | Decimal):
        return (one is None) == (other is None)
    return bool(abs(one - other) <= share * max(abs(one), abs(other)) + 1)


def _counted(table: pa.Table) -> Counter[_Row]:
    return Counter(_Row(row) for row in table.to_pylist())


def _rows(counted: Counter[_Row]) -> list[dict[str, Any]]:
    return [row.values for row in counted.elements()]


class _Row:
    """A row that can be counted; equal to another if all values are."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self._spelled = json.dumps(values, default=repr, sort_keys=True, cls=_Encoder)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Row) and self._spelled == other._spelled

    def __hash__(self) -> int:
        return hash(self._spelled)


class _Encoder(json.JSONEncoder):
    """JSON with floating-point values to so many digits."""

    def encode(self, value: Any) -> str:
        return super().encode(rounded(value))
