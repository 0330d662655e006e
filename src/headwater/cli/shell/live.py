"""Live results: a statement is asked again whenever what it reads has changed, and the difference is told."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

from headwater.project import Project

POLL = 0.1
Row = tuple[Any, ...]


def follow(project: Project, statement: str, limit: int, stop: threading.Event) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a statement's result as they come (`insert`) and go (`delete`), until `stop` is set."""
    views, tables = project.views.views_of(statement), project.views.tables_of(statement)
    shown: dict[str, dict[str, Any]] = {}
    counts: Counter[str] = Counter()
    stood: object = None
    while not stop.is_set():
        stands = (
            [project.views.served_position(view) for view in views],
            [project.log.head(table) for table in tables],
        )
        if stands == stood:
            stop.wait(POLL)
            continue
        stood = stands
        rows = project.query(statement, limit=limit).to_pylist()
        named = [(repr(row), row) for row in rows]
        now = Counter(key for key, _ in named)
        gone, new = counts - now, now - counts
        for key in gone.elements():
            yield "delete", shown[key]
        for key, row in named:
            shown[key] = row
            if new[key]:
                new[key] -= 1
                yield "insert", row
        shown = {key: shown[key] for key in now}
        counts = now
