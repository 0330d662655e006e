"""The key of a view: what tells its rows apart in a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Key:
    """The identity of a view's rows: `columns` it declares, groups by or identifies events by; else that in the log."""

    columns: tuple[str, ...]
    kind: Literal["declared", "group", "event", "row"]
