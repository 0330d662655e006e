"""Columns that are added with a DEFAULT: views over rows from before them, built at any moment."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import headwater as hw

BEFORE = """
CREATE STREAM sales (id STRING NOT NULL, at TIMESTAMP, WATERMARK FOR at AS at);
"""
AFTER = """
CREATE STREAM sales (id STRING NOT NULL, country STRING DEFAULT 'AT', at TIMESTAMP, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW streamed AS SELECT id, country FROM sales;
CREATE MATERIALIZED VIEW settled AS
  SELECT id, country, count(*) OVER (PARTITION BY country ORDER BY at RANGE BETWEEN INTERVAL 1 DAY PRECEDING
  AND CURRENT ROW) AS n FROM sales;
"""
VIEWS = ("streamed", "settled")


def sale(name: str, minute: int) -> dict[str, str]:
    return {"id": name, "at": f"2026-01-01T12:{minute:02}:00Z"}


def until(minute: int) -> datetime:
    return datetime(2026, 1, 1, 12, minute, tzinfo=UTC)


def rows(project: hw.Project, view: str) -> set[tuple[str, ...]]:
    return {(row["id"], row["country"]) for row in project.rows(view).to_pylist()}


def test_views_over_rows_from_before_a_column_have_its_default_whenever_they_are_built(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text('name = "shop"\n')
    (tmp_path / "shop.sql").write_text(BEFORE)
    with hw.open(tmp_path) as project:
        project.append("sales", [sale("a", 0), sale("b", 1)])
        project.log.tick("sales", until(2))
    (tmp_path / "shop.sql").write_text(AFTER)
    with hw.open(tmp_path) as project:
        project.catch_up(*VIEWS)
        for view in VIEWS:
            assert rows(project, view) == {("a", "AT"), ("b", "AT")}, f"{view}, before anything is appended"
        project.append("sales", [sale("c", 3) | {"country": "DE"}, sale("d", 4)])
        project.log.tick("sales", until(5))
        project.catch_up(*VIEWS)
        expected = {("a", "AT"), ("b", "AT"), ("c", "DE"), ("d", "AT")}
        for view in VIEWS:
            assert rows(project, view) == expected, f"{view}, after"
            assert project.verify(view).identical
            assert {(row["id"], row["country"]) for row in project.views.batch(view).to_pylist()} == expected
    (tmp_path / "shop.sql").write_text(AFTER.replace("DEFAULT 'AT'", "DEFAULT 'CH'"))
    with hw.open(tmp_path) as project:
        project.catch_up(*VIEWS)
        for view in VIEWS:
            assert rows(project, view) == {("a", "CH"), ("b", "CH"), ("c", "DE"), ("d", "AT")}, "it is built anew"
