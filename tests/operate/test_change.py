"""What a change would do, told from what is in the folder, the stores and the log before anything of it is done."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import headwater as hw
from headwater.cli import app
from headwater.errors import CheckFailed
from headwater.operate.change import Change
from headwater.store import Batch, Position, Target

STREAM = "CREATE STREAM sales (id STRING, shop STRING, n INT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);\n"
SHOPS = """CREATE MATERIALIZED VIEW shops WITH (emit = 'final') AS SELECT shop, window_end, sum(n) AS n
FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY shop, window_end;\n"""
BEST = """CREATE MATERIALIZED VIEW best AS SELECT window_end AS until, max(n) AS most
FROM TUMBLE(TABLE shops, DESCRIPTOR(window_end), INTERVAL '1' MINUTE) GROUP BY window_end;\n"""
HOOK = "CREATE OUTLET hook FROM shops TO 'https://host/hook';\n"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def declare(folder: Path, *texts: str) -> None:
    (folder / "shop.sql").write_text("".join(texts))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project whose views have been built, by declarations that were kept."""
    (tmp_path / "headwater.toml").write_text('name = "shop"\n')
    declare(tmp_path, STREAM, SHOPS, BEST, HOOK)
    with hw.open(tmp_path) as project:
        project.append("sales", [{"id": f"{n}", "shop": "a", "n": n, "at": NOON} for n in range(3000)])
        project.declarations.keep()
        for name in ("shops", "best"):
            build(project, name)
    return tmp_path


def build(project: hw.Project, view: str, number: int = 1, *, serve: bool = True) -> None:
    """Put a version into the store as a run would have, with no rows."""
    planned, store = project.plan().view(view), project.views.opened().ask.store(view)
    target = Target(planned.name, number, planned.columns, planned.identity, planned.emit)
    epoch, empty = store.open(target, planned.fingerprint), target.schema.empty_table()
    position = Position(0, tuple((name, 1) for name in planned.inputs), NOON)
    store.apply(target, epoch, Batch(empty, empty.select(list(target.key)), position))
    project.declarations.keep(planned)
    if serve:
        store.promote(view, number)


def change(folder: Path) -> Change:
    with hw.open(folder) as project:
        return project.admin.change()


def planned(folder: Path, *arguments: str) -> tuple[int, str]:
    outcome = CliRunner().invoke(app, ["plan", "-p", str(folder), *arguments], env={"COLUMNS": "200", "NO_COLOR": "1"})
    return outcome.exit_code, outcome.output


def test_nothing_would_change_by_another_spelling(folder: Path) -> None:
    declare(folder, "-- all sales\n", STREAM, SHOPS.replace(" AS n\n", "  as n\n"), BEST, HOOK)
    assert change(folder) == Change(unchanged=("shops", "best"))
    assert planned(folder) == (0, "nothing would change: 2 views unchanged\n")


def test_a_view_with_other_rows_is_told_with_its_readers_and_what_is_read(folder: Path) -> None:
    declare(folder, STREAM, SHOPS.replace("window_end;", "window_end HAVING sum(n) > 5;"), BEST, HOOK)
    shops, best = change(folder).views
    assert (shops.view, shops.kind, shops.way, shops.served, shops.version) == ("shops", "other rows", "build", 1, 2)
    assert shops.downstream == {"best": True, "hook": True}
    assert shops.estimate.events == 3000
    assert shops.estimate.bytes > 0
    assert (best.kind, best.why) == ("other rows", ("rows of shops change",))
    code, text = planned(folder)
    assert code == 3
    assert "shops  other rows: having n > 5 added" in text
    assert "v1 → v2, replay of 3.0k events" in text
    assert "downstream: best (rows change), hook (rows change)" in text
    assert "outlet hook  changed: shops is built anew: it begins anew behind what it has sent" in text


def test_a_column_more_leaves_the_rows_of_readers_as_they_are(folder: Path) -> None:
    declare(folder, STREAM, SHOPS.replace(" AS n\n", " AS n, count(*) AS sold\n"), BEST, HOOK)
    shops, best = change(folder).views
    assert (shops.kind, shops.why[0]) == ("additive", "column sold added")
    assert shops.downstream == {"best": False, "hook": False}
    assert (best.kind, best.why) == ("same rows", ("shops is built anew, with the same rows",))


def test_views_topics_and_outlets_that_are_new_or_gone(folder: Path) -> None:
    declare(folder, STREAM.replace("n INT", "n INT, m INT"), STREAM.replace("sales", "visits"), SHOPS, "CREATE ",
            BEST.removeprefix("CREATE ").replace("best", "peak"))  # fmt: skip
    told = change(folder)
    assert [(step.view, step.kind, step.way) for step in told.views] == [
        ("peak", "new", "build"),
        ("best", "gone", "end"),
    ]
    assert [(step.name, step.kind, step.why, step.restart) for step in told.topics] == [
        ("sales", "changed", ("column m added",), True),
        ("visits", "new", (), False),
    ]
    assert [(step.name, step.kind) for step in told.outlets] == [("hook", "gone")]
    assert told.unchanged == ("shops",)


def test_a_version_that_is_there_is_gone_on_with(folder: Path) -> None:
    declare(folder, STREAM, SHOPS.replace("sum(n)", "max(n)"))
    with hw.open(folder) as project:
        build(project, "shops", 2, serve=False)
        project.append("sales", [{"id": "x", "shop": "a", "n": 1, "at": NOON}])
        (step,) = project.admin.change("shops").views
        assert (step.way, step.served, step.version, step.estimate.events) == ("go on", 1, 2, 1)
    declare(folder, STREAM, SHOPS, BEST, HOOK)
    assert not change(folder)


def test_a_version_whose_declaration_was_not_kept_is_told_to_be_another(folder: Path) -> None:
    for kept in (folder / ".headwater" / "declarations" / "views").rglob("*"):
        if kept.is_file():
            kept.unlink()
    declare(folder, STREAM, SHOPS.replace("sum(n)", "max(n)"), BEST, HOOK)
    shops, _ = change(folder).views
    assert (shops.kind, shops.why) == ("other rows", ("what it was built by was not kept",))


def test_time_is_told_by_the_speed_that_was_measured(folder: Path) -> None:
    declare(folder, STREAM, SHOPS.replace("sum(n)", "max(n)"), BEST, HOOK)
    assert "time not known yet" in planned(folder)[1]
    with hw.open(folder) as project:
        project.views.opened().catalog.speeds.measured("shops", 30_000, 60.0)
    assert "3.0k events (" in planned(folder)[1]
    assert "about 6 s" in planned(folder)[1]


def test_the_same_as_json(folder: Path) -> None:
    declare(folder, STREAM, SHOPS.replace("sum(n)", "max(n)"), BEST, HOOK)
    code, text = planned(folder, "--json", "shops")
    record: dict[str, Any] = json.loads(text)
    assert code == 3
    assert record["changes"] is True
    (view,) = record["views"]
    assert {name: view[name] for name in ("view", "kind", "way", "served", "version")} == {
        "view": "shops", "kind": "other rows", "way": "build", "served": 1, "version": 2,
    }  # fmt: skip
    assert view["estimate"]["events"] == 3000


def test_declarations_with_errors_are_refused(folder: Path) -> None:
    declare(folder, STREAM, SHOPS.replace("sum(n)", "sum(m)"))
    with pytest.raises(CheckFailed), hw.open(folder) as project:
        project.admin.change()
    assert planned(folder)[0] == 1
