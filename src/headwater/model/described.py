"""A described table: one whose columns and key are those that its database has, and are not written out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headwater.model.intake import Intake


@dataclass(frozen=True)
class Description:
    """The columns of a table of a database, each with the type that takes its values, and its primary key."""

    columns: tuple[tuple[str, str], ...]
    primary_key: tuple[str, ...]


Describe = Callable[[str, Intake], Description]
"""The description of the table that an intake reads, for the topic of this name; a `HeadwaterError` if it can't be had.
"""
