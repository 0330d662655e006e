"""The page about Nexmark says how each query is executed, as its plan does."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import headwater as hw

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "nexmark.md"
BELOW = {"q4": ["highest"]}
"""The views that a query reads, beside its own."""


def test_the_page_says_how_each_query_is_executed(tmp_path: Path) -> None:
    shutil.copy(HERE / "project.sql", tmp_path)
    (tmp_path / "headwater.toml").write_text('name = "nexmark"\n')
    table, _, _ = PAGE.read_text(encoding="utf-8").partition("## Over all of time")
    told = {row[1]: row[2] for row in re.finditer(r"^\| (q\d+) \|.*\| ([^|]+) \|$", table, re.M)}
    with hw.open(tmp_path) as project:
        views = project.plan().views
    for query, words in told.items():
        if query in views:
            planned = [views[name] for name in (*BELOW.get(query, []), query)]
            assert re.findall("live|settle", words) == [view.execution.kind for view in planned], query
            step = planned[-1].physical.step
            assert ("in parts" in words) == (step is not None and step.adds == "parts"), query
    assert not set(views) - set(told) - {name for names in BELOW.values() for name in names}
