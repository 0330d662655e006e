"""Views end to end: the same rows whatever the batching, the crash or the replay, and in batch.

Each case is a view over a small log with late rows, duplicates, ticks and gaps; the expected rows are written by hand.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.errors import CheckFailed, StoreDamaged
from headwater.project import Project
from headwater.store import Batch, Position
from headwater.testing import scenario

START = datetime(2026, 1, 1, tzinfo=UTC)
STREAMS = """
CREATE STREAM sales (id STRING, shop STRING, amount DECIMAL(10,2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH (key = 'shop');
CREATE STREAM events (id STRING, shop STRING, amount DECIMAL(10,2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH (key = 'shop', unique = 'id');
CREATE TABLE rates (code STRING, rate DOUBLE, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at, PRIMARY KEY (code));
"""
ROWS = [
    # id, shop, amount, second of event time; one commit per list
    [("1", "a", "1.00", 1), ("2", "b", "2.00", 3)],
    [("3", "a", "4.00", 12), ("3", "a", "4.00", 12), ("4", "a", "8.00", 9)],  # 3 comes twice; 4 is in time
    [("5", None, "16.00", 14), ("6", "a", "32.00", 31)],
    [("7", "b", "64.00", 8), ("8", "a", "128.00", 21)],  # 7 is late for [0, 10): the watermark is at 26
    [("9", "a", "256.00", 62)],
]


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


@dataclass(frozen=True)
class Case:
    """A view and its rows: once everything is read, and those that are final."""

    sql: str
    rows: list[tuple[Any, ...]]


CASES = {
    "filter and projection": Case(
        "CREATE MATERIALIZED VIEW v AS SELECT id, amount * 2 AS twice FROM sales WHERE amount > 60",
        [("7", Decimal("128.00")), ("8", Decimal("256.00")), ("9", Decimal("512.00"))],
    ),
    "tumbling, final": Case(
        "CREATE MATERIALIZED VIEW v WITH (emit = 'final') AS"
        " SELECT shop, window_end, count(*) AS n, sum(amount) AS total"
        " FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY shop, window_end",
        [
            ("a", at(10), 2, Decimal("9.00")),
            ("b", at(10), 1, Decimal("2.00")),
            ("a", at(20), 2, Decimal("8.00")),
            (None, at(20), 1, Decimal("16.00")),
            ("a", at(30), 1, Decimal("128.00")),
            ("a", at(40), 1, Decimal("32.00")),
        ],
    ),
    "tumbling, changes, with grace": Case(
        "CREATE MATERIALIZED VIEW v WITH (emit = 'changes', grace = '20 seconds') AS"
        " SELECT shop, window_end, sum(amount) AS total, avg(amount * 0.25) AS mean"
        " FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY shop, window_end",
        [
            ("a", at(10), Decimal("9.00"), Decimal("1.125")),
            ("b", at(10), Decimal("66.00"), Decimal("8.25")),
            ("a", at(20), Decimal("8.00"), Decimal("1.00")),
            (None, at(20), Decimal("16.00"), Decimal("4.00")),
            ("a", at(30), Decimal("128.00"), Decimal("32.00")),
            ("a", at(40), Decimal("32.00"), Decimal("8.00")),
            ("a", at(70), Decimal("256.00"), Decimal("64.00")),
        ],
    ),
    "having with changes deletes what no longer holds": Case(
        "CREATE MATERIALIZED VIEW v WITH (emit = 'changes') AS SELECT shop, window_end, count(*) AS n"
        " FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY shop, window_end HAVING count(*) < 2",
        [
            ("b", at(10), 1),
            (None, at(20), 1),
            ("a", at(30), 1),
            ("a", at(40), 1),
            ("a", at(70), 1),
        ],
    ),
    "sessions": Case(
        "CREATE MATERIALIZED VIEW v AS SELECT shop, window_start, window_end, count(*) AS n"
        " FROM SESSION(TABLE events PARTITION BY shop, DESCRIPTOR(at), INTERVAL '10' SECOND)"
        " GROUP BY shop, window_start, window_end",
        [
            ("a", at(1), at(41), 5),  # 31 is exactly one gap after 21: the same session
            ("b", at(3), at(13), 1),
            (None, at(14), at(24), 1),
        ],
    ),
}


def make(folder: Path, sql: str) -> Path:
    folder.mkdir()
    (folder / "headwater.toml").write_text('name = "flows"\n[spark]\n"spark.master" = "local[2]"\n')
    (folder / "streams.sql").write_text(STREAMS)
    (folder / "view.sql").write_text(sql)
    return folder


def feed(project: Project, commits: list[list[tuple[Any, ...]]]) -> None:
    for commit in commits:
        rows = [{"id": i, "shop": s, "amount": a, "at": at(second)} for i, s, a, second in commit]
        for topic in ("sales", "events"):
            project.append(topic, rows)


def held(project: Project) -> list[tuple[Any, ...]]:
    rows = project.query("SELECT * FROM v").to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


def caught_up(project: Project, **options: str) -> None:
    (done,) = project.catch_up(options=options)
    if done.error:
        raise done.error


@pytest.fixture
def home(tmp_path: Path, spark: object) -> Iterator[Path]:
    """A folder for projects, once Spark is there."""
    assert spark
    yield tmp_path


@pytest.mark.parametrize("name", ["tumbling, final", "having with changes deletes what no longer holds", "sessions"])
def test_a_view_is_the_same_whatever_the_execution(home: Path, name: str) -> None:
    case = CASES[name]
    expected = sorted(case.rows, key=repr)
    folder = make(home / "project", case.sql)
    with hw.open(folder) as project:
        feed(project, ROWS[:2])
        caught_up(project, max_commits="1")
    with hw.open(folder) as project:  # another process, other batches
        feed(project, ROWS[2:])
        caught_up(project, max_commits="2")
        assert held(project) == expected, "in small batches, restarted in the middle"
        assert project.verify("v").identical
        caught_up(project)
        assert held(project) == expected, "nothing new changes nothing"
    shutil.rmtree(folder / ".headwater" / "state")
    with hw.open(folder) as project:
        (done,) = project.catch_up()
        assert (done.version, done.rebuilt) == (2, "its checkpoint is gone")
        assert held(project) == expected, "rebuilt from the log, all at once"
        assert project.verify("v").identical


@pytest.mark.parametrize("execution", ["live", "settle"])
@pytest.mark.parametrize("lost", ["the store", "the newest rows of the store"])
def test_a_store_that_has_lost_rows_gets_them_again(home: Path, lost: str, execution: str) -> None:
    """What a settled view goes on from is where its store is; of a live one the checkpoint is further by then."""
    case = CASES["tumbling, final"]
    folder = make(home / "project", case.sql.replace("emit = 'final'", f"emit = 'final', execution = '{execution}'"))
    with hw.open(folder) as project:
        feed(project, ROWS[:2])
        caught_up(project)
    shutil.copytree(folder, home / "earlier", ignore=shutil.ignore_patterns("data", ".headwater"))
    with hw.open(folder) as project:
        feed(project, ROWS[2:])
        caught_up(project)
    for file in folder.glob("views.db*"):
        file.unlink()
    if lost != "the store":
        for file in (home / "earlier").glob("views.db*"):
            shutil.copy(file, folder)
    with hw.open(folder) as project:
        (done,) = project.catch_up()
        goes_on = lost == "the store" or execution == "settle"
        assert done.rebuilt == (None if goes_on else "its store is behind its checkpoint")
        assert held(project) == sorted(case.rows, key=repr)


def test_late_rows_are_a_query_on_the_log(home: Path) -> None:
    with hw.open(make(home / "project", CASES["tumbling, final"].sql)) as project:
        feed(project, ROWS)
        (row,) = project.views.late("v").to_pylist()
    assert (row["shop"], row["window_end"], row["late_by"]) == ("b", at(10), timedelta(seconds=16))


def test_a_changed_declaration_is_built_anew_and_an_unchanged_one_is_not(home: Path) -> None:
    folder = make(home / "project", CASES["filter and projection"].sql)
    with hw.open(folder) as project:
        feed(project, ROWS)
        caught_up(project)
    (folder / "view.sql").write_text("-- a comment\n" + CASES["filter and projection"].sql.replace("> 60", ">  60"))
    with hw.open(folder) as project:
        assert [(done.version, done.rebuilt) for done in project.catch_up()] == [(1, None)]
    (folder / "view.sql").write_text(CASES["filter and projection"].sql.replace("> 60", "> 100"))
    with hw.open(folder) as project:
        assert [(done.version, done.rebuilt) for done in project.catch_up()] == [(2, "its declaration has changed")]
        assert len(held(project)) == 2


def test_a_view_whose_expression_fails_stops_alone_and_says_why(home: Path) -> None:
    sql = (
        "CREATE MATERIALIZED VIEW bad AS SELECT id, 1 / CAST(amount - 4 AS INT) AS x FROM sales;\n"
        "CREATE MATERIALIZED VIEW good AS SELECT id FROM sales;"
    )
    with hw.open(make(home / "project", sql)) as project:
        feed(project, ROWS)
        bad, good = project.catch_up()
        assert bad.error is not None
        assert bad.error.code() == "view-failed"
        assert "DIVIDE_BY_ZERO" in str(bad.error)
        assert good.error is None
        assert project.query("SELECT count(*) AS n FROM good").to_pylist() == [{"n": 10}]


def test_verify_shows_the_exact_difference(home: Path) -> None:
    with hw.open(make(home / "project", CASES["tumbling, changes, with grace"].sql)) as project:
        feed(project, ROWS)
        caught_up(project)
        views = project.views.opened()
        store = views.catalog.stores.named("main")
        (version,) = store.versions("v")
        assert version.position is not None
        epoch = store.open(version.target, version.fingerprint)
        wrong = store.read("v").slice(0, 1).to_pylist()[0] | {"total": Decimal("0.01")}
        table = type(store.read("v")).from_pylist([wrong], schema=version.target.schema)
        position = Position(version.position.batch + 1, version.position.commits, version.position.watermark)
        gone = version.target.schema.empty_table().select(list(version.target.key))
        assert store.apply(version.target, epoch, Batch(table, gone, position))
        found = project.verify("v")
    assert not found.identical
    assert [row["total"] for row in found.extra] == [Decimal("0.01")]
    assert len(found.missing) == 1


def test_an_empty_log_gives_an_empty_view_with_the_right_columns(home: Path) -> None:
    with hw.open(make(home / "project", CASES["tumbling, final"].sql)) as project:
        caught_up(project)
        rows = project.query("SELECT * FROM v")
        assert (rows.num_rows, rows.column_names) == (0, ["shop", "window_end", "n", "total"])
        assert project.verify("v").identical


def test_what_cannot_be_executed_yet_is_refused_by_name(home: Path) -> None:
    windows = "TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' HOUR) AS s"
    joined = "JOIN events AS e ON e.id = s.id AND e.at BETWEEN s.at AND s.at + INTERVAL '1' HOUR"
    view = f"CREATE MATERIALIZED VIEW v AS SELECT s.id FROM {windows} {joined}"
    with hw.open(make(home / "project", view)) as project:
        with pytest.raises(CheckFailed) as refused:
            project.catch_up("v")
        assert [found.code() for found in refused.value.findings] == ["not-supported-yet"]


@pytest.mark.parametrize("options", ["emit = 'final'", "emit = 'final', execution = 'settle'"])
def test_a_view_whose_table_was_dropped_is_built_anew_by_a_replay(spark: object, options: str) -> None:
    assert spark
    view = f"CREATE MATERIALIZED VIEW per_shop WITH ({options}) AS SELECT shop, window_end, count(*) AS n FROM"
    view += " TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' SECOND) GROUP BY shop, window_end;"
    with scenario(STREAMS + view) as found:
        sales = [{"id": "1", "shop": "a", "amount": "1.00", "at": at(second).isoformat()} for second in (1, 2, 31)]
        found.append("sales", sales, commits=[2, 1])
        found.run()
        with closing(sqlite3.connect(found.folder / "views.db")) as other, other:
            other.execute("DROP TABLE per_shop__v1")
        found.append("sales", [sales[-1]])
        (stopped,) = found.project.catch_up()
        assert isinstance(stopped.error, StoreDamaged)
        assert "headwater replay" in str(stopped.error.hint)
        (built,) = found.project.admin.replay()
        assert (built.version, built.rebuilt, built.error) == (2, "a replay was asked for", None)
        found.expect("per_shop", [{"shop": "a", "window_end": at(10).isoformat(), "n": 2}])
        assert found.project.verify("per_shop").identical
