"""The columns of a change: those that a declared table has something of, and those that a change leaves out."""

from __future__ import annotations

import base64
from collections.abc import Collection
from typing import Any

from headwater.model import Mysql, Postgres, Table

UNCHANGED = "__headwater_unchanged__"
"""The text in place of a long value that WAL doesn't repeat, because an update has left it as it was."""
_UNCHANGED_BYTES = base64.b64encode(UNCHANGED.encode()).decode()


def missing_columns(topic: Table, names: Collection[str]) -> list[str]:
    """The columns that a table declares and that aren't among these names."""
    assert isinstance(topic.intake, Postgres | Mysql)
    beside = {topic.intake.message_time, topic.intake.transaction, topic.keeps_in}
    return [
        column.name
        for column in topic.columns
        if column.name not in beside and not any(name in names for name in (column.name, *column.aliases))
    ]


def is_unchanged(value: Any) -> bool:
    """Tells whether WAL has left a value out, because an update has left it as it was.

    >>> is_unchanged([UNCHANGED]), is_unchanged("x"), is_unchanged(None)
    (True, False, False)
    """
    if isinstance(value, list):
        return len(value) == 1 and is_unchanged(value[0])
    return isinstance(value, str) and value in (UNCHANGED, _UNCHANGED_BYTES)
