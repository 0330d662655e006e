"""NOT NULL inside a type: an element, a value or a field that is NULL makes its event a dead letter."""

from __future__ import annotations

from pathlib import Path

import headwater as hw

STREAM = """
CREATE STREAM baskets (
  id STRING NOT NULL, items ARRAY<INT NOT NULL>, prices MAP<STRING, DOUBLE NOT NULL>,
  parts STRUCT<name: STRING NOT NULL, sizes: ARRAY<INT NOT NULL>, day: DATE NOT NULL, price: DECIMAL(5, 2) NOT NULL,
    on: BOOLEAN NOT NULL, place: STRUCT<x: TIMESTAMP NOT NULL> NOT NULL>,
  at TIMESTAMP
);
"""
PARTS = {
    "name": "x",
    "sizes": [3],
    "day": "2026-01-01",
    "price": "1.50",
    "on": True,
    "place": {"x": "2026-01-01T00:00:00Z"},
}


def test_nothing_that_may_not_be_null_is_null_in_the_log(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text('name = "shop"\n', encoding="utf-8")
    (tmp_path / "baskets.sql").write_text(STREAM, encoding="utf-8")
    whole = {"id": "1", "items": [1, 2], "prices": {"a": 1.5}, "parts": PARTS}
    rows = [
        whole,
        {**whole, "id": "2", "items": [1, None]},
        {**whole, "id": "3", "prices": {"a": 1.0, "b": None}},
        {**whole, "id": "4", "parts": {**PARTS, "name": None}},
        {**whole, "id": "5", "parts": {**PARTS, "sizes": [None]}},
        {"id": "6", "items": None, "prices": None, "parts": None},
        {**whole, "id": "7", "items": [], "prices": {}},
    ]
    with hw.open(tmp_path) as project:
        receipt = project.append("baskets", rows)
        assert (receipt.rows, project.dead("baskets").num_rows) == (3, 4)
        held = project.read("baskets", columns=["id", "items", "prices"]).to_pylist()
    assert held == [
        {"id": "1", "items": [1, 2], "prices": [("a", 1.5)]},
        {"id": "6", "items": None, "prices": None},
        {"id": "7", "items": [], "prices": []},
    ]
