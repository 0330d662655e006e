"""Changes of rows as Debezium tells them, and the transactions that they are of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Change(NamedTuple):
    """A change of a row. `operation` is Debezium's: `c`, `u`, `d`, `r` of a snapshot, or `t` for all rows at once.

    `made_at` counts microseconds since 1970; `content` is JSON with the row `before` and `after`.
    """

    operation: str
    made_at: int
    transaction: str
    content: bytes

    @property
    def inserted(self) -> dict[str, Any] | None:
        """The row, if it was inserted, or if a snapshot has it."""
        if self.operation not in ("c", "r"):
            return None
        row: dict[str, Any] = json.loads(self.content)["after"]
        return row

    @classmethod
    def read(cls, parts: Sequence[bytes]) -> Change:
        """The change of a line of Debezium's process, behind the name of its table."""
        operation, made_at, transaction, content = parts
        return cls(operation.decode(), int(made_at), transaction.decode(), content)


@dataclass(frozen=True)
class Transaction:
    """The changes of one table in a transaction that ended at a position, in their order; `made_at` is that of each."""

    end: int
    made_at: int
    changes: Sequence[Change]


@dataclass(frozen=True)
class Cut:
    """A place between two transactions at which the commits of all tables of a slot end.

    `newest` is the newest time of a commit up to there; `stands` has the position that the log of each topic has there.
    """

    position: int
    newest: int
    stands: Mapping[str, int]


@dataclass(frozen=True)
class Share:
    """The transactions of one table from the cut before up to a cut."""

    transactions: Sequence[Transaction]
    cut: Cut
