"""A version of which Spark dropped rows: it is found in the batch in which it happens, and never served again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest
from pyspark.sql import functions as F
from typer.testing import CliRunner

from headwater.cli.app import app
from headwater.engine import live
from headwater.errors import RowsDropped
from headwater.operators.lowering.ledger import Count, observed
from headwater.operators.lowering.rooms import Lowering
from headwater.operators.lowering.stamp import MARKED
from headwater.serve.dashboard.theme import health_of
from headwater.serve.dashboard.view import trouble_of
from headwater.testing import Scenario, scenario
from tests.operate.test_run import running
from tests.patience import eventually

START = datetime(2026, 1, 1, tzinfo=UTC)
PROJECT = """
CREATE STREAM labels (id STRING, player STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '1' SECOND);
CREATE STREAM scores (id STRING, player STRING, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '1' SECOND);
CREATE MATERIALIZED VIEW scored WITH (emit = 'final') AS
SELECT l.id, l.at, count(s.id) AS n FROM labels l LEFT JOIN scores s
ON s.player = l.player AND s.at BETWEEN l.at - INTERVAL '2' MINUTE AND l.at GROUP BY l.id, l.at;
"""
EVERY_WAY = ["rows", "query", "changes", "cut", "verify"]


def arrive(world: Scenario, first: int, count: int = 6) -> None:
    """Labels and scores, one of each a minute, in commits of their own."""
    for number in range(first, first + count):
        at = (START + timedelta(minutes=number)).isoformat()
        for topic in ("scores", "labels"):
            world.append(topic, [{"id": f"{topic[0]}{number}", "player": "p", "at": at}])


@contextmanager
def unsound_lowering() -> Iterator[None]:
    """Groups are marked as if they had ended long ago, as it once was behind outer joins: Spark drops their rows."""
    with patch.object(Lowering, "_end_behind", lambda *_: F.lit(START)):
        yield


def refused(world: Scenario) -> list[str]:
    """The ways to read the view that are refused because of what was dropped."""
    ways = {
        "rows": lambda: world.project.rows("scored"),
        "query": lambda: world.project.query("SELECT count(*) AS n FROM scored"),
        "changes": lambda: list(world.project.changes("scored")),
        "cut": lambda: world.project.views.rows_at_cut("scored"),
        "verify": lambda: world.project.verify("scored"),
    }
    found = []
    for name, way in ways.items():
        try:
            way()
        except RowsDropped as error:
            assert "headwater replay scored" in str(error)
            found.append(name)
    return found


def test_a_version_of_which_rows_were_dropped_is_never_served_again() -> None:
    with scenario(PROJECT) as world:
        assert world.project.plan().view("scored").execution.kind == "live"
        arrive(world, 1)
        world.run(per_batch=2)
        before = world.rows("scored").num_rows
        assert before > 0 and refused(world) == [] and world.project.status().views[0].unsound is None

        arrive(world, 7)
        with unsound_lowering(), pytest.raises(RowsDropped, match='view "scored" version 1 is unsound') as dropped:
            world.run(per_batch=1)
        assert refused(world) == EVERY_WAY

        for _ in range(2):  # no restart forgets it, and no run goes on with it
            world.restart()
            with pytest.raises(RowsDropped) as again:
                world.run()
            assert again.value.fields["dropped"] == dropped.value.fields["dropped"]
            assert refused(world) == EVERY_WAY
        status = world.project.status().views[0]
        counted = status.ledger
        assert counted is not None and counted.remainder == counted.dropped == dropped.value.fields["dropped"]
        assert (status.state, health_of(status.state)) == ("unsound", "bad")
        assert "headwater replay" in (trouble_of(status) or "")
        told = world.project.status().as_dict()["views"][0]
        assert told["unsound"] == {"version": 1, "dropped": counted.dropped} and told["ledger"]["dropped"]

        shown = CliRunner().invoke(app, ["status", "--project", str(world.folder)])
        assert shown.exit_code == 1 and "unsound: view" in shown.stdout

        done = world.project.admin.replay("scored")
        assert [found.error for found in done] == [None] and done[0].version == 2
        world.expect("scored", world.batch("scored"))
        assert refused(world) == [] and world.project.status().views[0].state == "at rest"


def test_what_is_dropped_under_a_run_stops_the_view_in_that_batch() -> None:
    with scenario(PROJECT) as world, unsound_lowering():
        arrive(world, 1)
        with running(world.project) as done:
            eventually(lambda: world.project.status().views[0].version, 1)
            arrive(world, 7)
            eventually(lambda: world.project.status().views[0].state, "unsound")
            assert refused(world) == EVERY_WAY
            eventually(lambda: len(done), 1)
        assert [isinstance(found.error, RowsDropped) for found in done] == [True]


def test_what_goes_astray_between_operators_is_a_remainder() -> None:
    """A count at a barrier that is less than the operator below it gave, as a loss between them would leave it."""

    def fewer(execution: object) -> dict[str, Count]:
        counts = observed(execution)
        return {name: Count(count.rows // 2, 0) if name.startswith(MARKED) else count for name, count in counts.items()}

    with scenario(PROJECT) as world:
        arrive(world, 1)
        with patch.object(live, "observed", fewer):
            world.run()
        counted = world.project.views.ledger("scored")
        assert counted.remainder == counted.dropped > 0
        assert world.project.status().views[0].unsound is None, "Spark dropped nothing"
