"""Verification: what a store holds against what the log says, row for row.

Everything is compared exactly but floating-point values, whose last digits may depend on the order of additions: they
are compared to `DIGITS` significant digits.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

DIGITS = 9


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
        """Whether nothing differs, and every row is accounted for."""
        return not (self.missing or self.extra or self.miscounted or self.remainder)


def differences(held: pa.Table, expected: pa.Table) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows that are missing and those that are extra, as many times as they differ.

    >>> differences(pa.table({"n": [1, 2, 2]}), pa.table({"n": [2, 3]}))
    ([{'n': 3}], [{'n': 1}, {'n': 2}])
    """
    mine, theirs = _counted(held), _counted(expected)
    return list(_rows(theirs - mine)), list(_rows(mine - theirs))


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
        return super().encode(_rounded(value))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if isinstance(value, dict):
        return {str(key): _rounded(found) for key, found in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(found) for found in value]
    return value
