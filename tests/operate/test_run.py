"""Views that follow their topics: live, settled and on other views, until they are stopped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.operate import CaughtUp
from headwater.operate.wish import Wishes
from headwater.project import Project
from tests.patience import PATIENCE, Rounds, eventually, until

pytestmark = pytest.mark.timeout(900)  # each follows many batches, and one may take many seconds
PROJECT = """
CREATE STREAM sales (id STRING, shop STRING, amount DECIMAL(10, 2), at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '1' SECOND) WITH (idle = '1 second', unique = 'id');
CREATE MATERIALIZED VIEW totals WITH (emit = 'changes') AS
SELECT shop, window_end, sum(amount) AS total, count(*) AS n
FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '2' SECOND) GROUP BY shop, window_end;
CREATE MATERIALIZED VIEW best WITH (emit = 'final') AS
SELECT window_end AS until, max(total) AS most, count(*) AS n
FROM TUMBLE(TABLE totals, DESCRIPTOR(window_end), INTERVAL '2' SECOND) GROUP BY window_end;
CREATE MATERIALIZED VIEW pairs WITH (execution = 'live') AS
SELECT a.id AS first, b.id AS second, b.at FROM sales a JOIN sales b
ON a.shop = b.shop AND a.id < b.id AND b.at BETWEEN a.at AND a.at + INTERVAL '1' SECOND;
"""
BAD = "CREATE MATERIALIZED VIEW bad AS SELECT id, 1 / CAST(amount - 4 AS INT) AS x FROM sales;"


@contextmanager
def running(project: Project) -> Iterator[list[CaughtUp]]:
    """The project runs meanwhile; afterwards what became of its views is in the list."""
    stop, done = threading.Event(), list[CaughtUp]()
    thread = threading.Thread(target=lambda: done.extend(project.run(stop=stop)))
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join(PATIENCE)
    assert not thread.is_alive()


def counted(project: Project, view: str, what: str = "count(*)") -> Any:
    if not any(found.view == view and found.version for found in project.status().views):
        return None
    return project.query(f"SELECT {what} AS n FROM {view}").to_pylist()[0]["n"]


def state_of(project: Project, view: str) -> int:
    """The bytes that Spark keeps for a view, as its last batch has told."""
    return sum(found.figures.state_bytes for found in project.status().views if found.view == view and found.figures)


def sell(project: Project, number: int, amount: str = "1.50", times: int = 1) -> None:
    """Two sales in a commit, which comes so many times."""
    at = datetime.now(UTC)
    rows = [{"id": f"{number}-{shop}", "shop": shop, "amount": amount, "at": at} for shop in ("a", "b")]
    for _ in range(times):
        project.append("sales", rows)


def test_views_follow_their_topics_and_one_that_fails_stops_alone(tmp_path: Path, spark: SparkSession) -> None:
    assert spark
    (tmp_path / "headwater.toml").write_text('name = "followed"\n[spark]\n"spark.master" = "local[2]"\n')
    (tmp_path / "project.sql").write_text(PROJECT + BAD)
    with hw.open(tmp_path) as project:
        sell(project, 0)
        with running(project) as done:
            eventually(lambda: counted(project, "totals", "sum(n)"), 2)
            for number in range(1, 6):
                sell(project, number, times=2)
                eventually(lambda: counted(project, "totals", "sum(n)"), 2 * number + 2)
            sell(project, 6, "4.00")
            eventually(lambda: counted(project, "totals", "sum(n)"), 14)
            # nothing more comes: ticks close the last window, and what is final goes on to the view that reads it
            windows = counted(project, "totals", "count(DISTINCT window_end)")
            eventually(lambda: counted(project, "best"), windows)
            eventually(lambda: {view.view: view.state for view in project.status().views}["bad"], "stopped")
            figures = {view.view: view for view in project.status().views}
            assert figures["totals"].state == "following"
            assert figures["totals"].figures is not None
            assert figures["totals"].figures.freshness(0.5) is not None
            assert 0 < (figures["totals"].figures.batch_time(0.5) or 0) < 60
            until(lambda: state_of(project, "pairs") > 0)
        errors = {found.view: found.error.code() if found.error else None for found in done}
        assert errors == {"totals": None, "best": None, "pairs": None, "bad": "view-failed"}
        caught_up = {found.view: found for found in project.catch_up("totals", "best", "pairs")}
        assert [found.rebuilt for found in caught_up.values()] == [None, None, None], "each goes on from its checkpoint"
        for view in caught_up:
            verified = project.verify(view)
            assert (view, verified.identical, verified.remainder) == (view, True, 0)


def test_a_running_view_is_paused_resumed_and_replayed(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark
    (tmp_path / "headwater.toml").write_text('name = "administered"\n[spark]\n"spark.master" = "local[2]"\n')
    stream, _, _ = PROJECT.partition("CREATE MATERIALIZED VIEW")
    (tmp_path / "project.sql").write_text(stream + "CREATE MATERIALIZED VIEW ids AS SELECT id FROM sales;")

    def state(project: Project) -> tuple[str, int | None]:
        (view,) = project.status().views
        return view.state, view.version

    with hw.open(tmp_path) as project, hw.open(tmp_path) as operator:
        sell(project, 0)
        operator.admin.pause("ids")
        with running(project) as done:
            eventually(lambda: state(project), ("paused", None))
            operator.admin.resume("ids")
            eventually(lambda: counted(project, "ids"), 2)
            operator.admin.pause("ids")
            eventually(lambda: state(project), ("paused", 1))
            looks = Rounds(monkeypatch, Wishes, "paused")
            sell(project, 1)
            looks.pass_by()
            assert counted(project, "ids") == 2, "what it has is served, and nothing more comes"
            (left,) = operator.admin.replay()
            assert left.paused is not None
            operator.admin.resume("ids")
            eventually(lambda: (counted(project, "ids"), state(project)), (4, ("following", 2)))
            (left,) = operator.admin.replay()
            assert "process " in str(left.left_to)
            eventually(lambda: state(project), ("following", 3))
            sell(project, 2)
            eventually(lambda: counted(project, "ids"), 6)
        assert [(found.version, found.error) for found in done] == [(3, None)]
        assert project.verify("ids").identical


def test_changed_declarations_take_effect_when_they_are_promoted_and_others_go_on(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark
    (tmp_path / "headwater.toml").write_text('name = "promoted"\n[spark]\n"spark.master" = "local[2]"\n')
    stream, _, _ = PROJECT.partition("CREATE MATERIALIZED VIEW")
    (tmp_path / "stream.sql").write_text(stream)
    (tmp_path / "kept.sql").write_text("CREATE MATERIALIZED VIEW kept AS SELECT id FROM sales;")
    view = "CREATE MATERIALIZED VIEW big AS SELECT id, amount FROM sales WHERE amount > {};"
    (tmp_path / "view.sql").write_text(view.format(2) + "CREATE MATERIALIZED VIEW gone AS SELECT shop FROM sales;")
    told: list[tuple[str, int]] = []
    with hw.open(tmp_path) as project:
        sell(project, 0)
        stop, done = threading.Event(), list[CaughtUp]()
        run = threading.Thread(
            target=lambda: done.extend(
                project.run(
                    stop=stop, listeners=hw.Listeners(progress=lambda found: told.append((found.view, found.version)))
                )
            )
        )
        run.start()
        try:
            eventually(lambda: (counted(project, "kept"), counted(project, "big"), counted(project, "gone")), (2, 0, 2))
            (tmp_path / "view.sql").write_text(
                view.format(1)
                + "CREATE STREAM visits (id STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at);"
                + "CREATE MATERIALIZED VIEW seen AS SELECT id FROM visits;"
            )
            Rounds(monkeypatch, Wishes, "promotion").pass_by()
            assert counted(project, "big") == 0, "never by surprise"
            with hw.open(tmp_path) as operator:
                number = operator.wishes.ask_promotion(only_tell=False)
                outcome = operator.wishes.promoted(number, timedelta(seconds=PATIENCE))
            assert outcome == {
                "promotion": {
                    "added": ["seen"], "changed": ["big"], "removed": ["gone"], "unchanged": ["kept"],
                    "topics": ["visits"], "outlets": [],
                }
            }  # fmt: skip
            eventually(lambda: counted(project, "big"), 2)
            project.append("visits", [{"id": "v", "at": datetime.now(UTC)}])
            eventually(lambda: counted(project, "seen"), 1)
            sell(project, 1)
            eventually(lambda: (counted(project, "kept"), counted(project, "big")), (4, 4))
        finally:
            stop.set()
            run.join(PATIENCE)
        assert told.count(("kept", 1)) == len([found for found in told if found[0] == "kept"])
        starts = [version for name, version in told if name == "big"]
        assert sorted(set(starts)) == [1, 2]
        assert {found.view: found.error for found in done} == {"kept": None, "big": None, "seen": None}
        assert all(project.verify(name).identical for name in ("kept", "big", "seen"))


def test_a_view_that_is_behind_is_served_once_it_has_caught_up(tmp_path: Path, spark: SparkSession) -> None:
    assert spark
    (tmp_path / "headwater.toml").write_text('name = "behind"\n[spark]\n"spark.master" = "local[2]"\n')
    stream, _, _ = PROJECT.partition("CREATE MATERIALIZED VIEW")
    (tmp_path / "stream.sql").write_text(stream)
    (tmp_path / "view.sql").write_text("CREATE MATERIALIZED VIEW big AS SELECT id, amount FROM sales WHERE amount > 0;")
    with hw.open(tmp_path) as project:
        sell(project, 0)
        assert [found.error for found in project.catch_up()] == [None]
    (tmp_path / "view.sql").write_text("CREATE MATERIALIZED VIEW big AS SELECT id, amount FROM sales WHERE amount > 1;")
    seen: list[int | None] = []
    with hw.open(tmp_path) as project:
        for number in range(1, 4):
            sell(project, number)
        store, stop = project.views.opened().ask.store("big"), threading.Event()

        def watch(reading: Any) -> None:
            seen.append(store.promoted("big"))
            if reading.commits.get("sales", 0) >= 4:
                stop.set()

        (done,) = project.run(options={"max_commits": "1"}, listeners=hw.Listeners(progress=watch), stop=stop)
        assert (done.version, done.error) == (2, None)
        assert seen[0] == seen[1] == 1, "the rows of before are served until the new ones are complete"
        assert seen[-1] == 2
        (status,) = project.status().views
        assert (status.version, status.state) == (2, "stopped")
