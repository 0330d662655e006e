"""Status: where each store of a view is, from the stores themselves, without Spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

import headwater as hw
from headwater.cli.app import app
from headwater.project import Project
from headwater.store import Batch, Position, Target

SETTINGS = """
name = "shop"
[stores.main]
url = "sqlite:///views.db"
[stores.lake]
url = "delta://lake"
[stores.away]
url = "redis://127.0.0.1:1/0"
"""
SQL = """
CREATE STREAM sales (shop STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW here WITH (store = 'main, lake') AS SELECT shop FROM sales;
CREATE MATERIALIZED VIEW there WITH (store = 'main, away') AS SELECT shop FROM sales;
CREATE MATERIALIZED VIEW plain AS SELECT shop FROM sales;
"""
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "headwater.toml").write_text(SETTINGS)
    (tmp_path / "shop.sql").write_text(SQL)
    return tmp_path


def served(project: Project, view: str, batches: dict[str, int]) -> None:
    """A version of a view of which each store has so many batches, one for each commit."""
    views, planned = project.views.opened(), project.plan().view(view)
    target = Target(view, 1, planned.columns, planned.identity, planned.emit)
    rows = target.schema.empty_table()
    for name, count in batches.items():
        store = views.catalog.stores.named(name)
        epoch = store.open(target, planned.fingerprint)
        for number in range(count):
            store.apply(target, epoch, Batch(rows, rows.select([]), Position(number, (("sales", number + 1),), NOON)))
        store.promote(view, 1)


def test_each_store_of_a_view_has_a_position_and_a_lag_of_its_own(folder: Path) -> None:
    with hw.open(folder) as project:
        for _ in range(3):
            project.append("sales", [{"shop": "a", "at": NOON}])
        served(project, "here", {"main": 3, "lake": 1})
        served(project, "there", {"main": 2})
        here, there, plain = project.status().views
    assert [(found.store, dict(found.commits), found.lag, found.error) for found in here.stores] == [
        ("main", {"sales": 3}, 0, None),
        ("lake", {"sales": 1}, 2, None),
    ]
    assert (here.lag, here.stores[1].watermark) == (0, NOON)
    assert [(found.store, found.lag) for found in there.stores] == [("main", 1), ("away", 3)]
    assert there.stores[1].error == 'the store "redis://127.0.0.1:1/0" could not be read'
    assert [(found.store, found.lag) for found in plain.stores] == [("main", 3)]


def test_the_command_shows_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hw.open(folder) as project:
        project.append("sales", [{"shop": "a", "at": NOON}])
        served(project, "here", {"main": 1, "lake": 0})
        served(project, "there", {"main": 1})
    monkeypatch.chdir(folder)
    told = json.loads(CliRunner().invoke(app, ["status", "--json"]).stdout.splitlines()[-1])
    shown = CliRunner().invoke(app, ["status"]).stdout
    assert [(store["store"], store["lag"]) for store in told["views"][0]["stores"]] == [("main", 0), ("lake", 1)]
    assert "could not be read" in shown


def test_a_view_whose_store_is_away_is_told_of_beside_the_others(folder: Path) -> None:
    with (folder / "shop.sql").open("a") as declarations:
        declarations.write("CREATE MATERIALIZED VIEW lost WITH (store = 'away') AS SELECT shop FROM sales;")
    with hw.open(folder) as project:
        project.append("sales", [{"shop": "a", "at": NOON}])
        found = {view.view: view for view in project.status().views}
    assert (found["lost"].state, found["lost"].lag, found["plain"].state) == ("unreachable", 1, "empty")
    assert found["lost"].stores[0].error == 'the store "redis://127.0.0.1:1/0" could not be read'
    told = CliRunner().invoke(app, ["status", "--project", str(folder)])
    assert told.exit_code == 0
    assert "unreachable" in told.stdout
