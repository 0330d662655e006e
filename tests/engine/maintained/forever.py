"""Projects of views over all of time, and what is asked of every step that they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import settings

import headwater as hw
from headwater.engine.maintained.arrangement import Arrangement

Queries = Mapping[str, tuple[str, str]]
"""The key that a view declares, if any, and its query, by its name."""
Values = list[tuple[Any, ...]]
COMMITS = max(6, (settings.default.max_examples - 100) // 100)
"""The commits of a random log: few under `make test`, many under `make chaos`."""


def opened(folder: Path, topics: str, queries: Queries, *, forever: bool = True) -> hw.Project:
    """A project of these topics and views; with `forever` every view says that it holds its rows for ever."""
    views = []
    for name, (key, query) in queries.items():
        says = forever or "visits" in query
        options = [*(["retention = 'forever'"] if says else []), *([f"key = '{key}'"] if key else [])]
        declared = f"WITH ({', '.join(options)}) " if options else ""
        views.append(f"CREATE MATERIALIZED VIEW {name} {declared}AS {query};")
    (folder / "headwater.toml").write_text('name = "forever"\n')
    (folder / "views.sql").write_text(topics + "\n".join(views))
    return hw.open(folder)


def step(project: hw.Project, *names: str) -> None:
    """Bring the views to the heads of their topics."""
    assert [str(done.error) for done in project.catch_up(*names) if done.error] == []


def in_order(rows: Values) -> Values:
    return sorted(rows, key=repr)


def shown(project: hw.Project, name: str) -> Values:
    """The rows of a view, in order."""
    return in_order([tuple(row.values()) for row in project.query(f"SELECT * FROM {name}").to_pylist()])


def answers(connection: duckdb.DuckDBPyConnection, queries: Queries) -> dict[str, Values]:
    """The rows of each query in DuckDB, in order."""
    return {name: in_order(connection.sql(query).fetchall()) for name, (_, query) in queries.items()}


def assert_right(project: hw.Project, names: Sequence[str]) -> None:
    """Views hold what the log says, and every row is accounted for."""
    assert [name for name in names if not project.verify(name).identical] == []
    assert [name for name in names if project.views.ledger(name).remainder] == []


def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of rows that each look-up finds from now on."""
    found: list[int] = []
    find = Arrangement.find

    def counted(self: Arrangement, keys: Any) -> Any:
        rows = find(self, keys)
        found.append(0 if rows is None else rows.num_rows)
        return rows

    monkeypatch.setattr(Arrangement, "find", counted)
    return found
