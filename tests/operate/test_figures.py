"""The figures of views that run."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from headwater.errors import ViewFailed
from headwater.log import TopicLog, open_storage
from headwater.model import Column, Stream
from headwater.operate import CaughtUp, Reading
from headwater.operate.figures import Gauge

START = datetime(2026, 1, 1, tzinfo=UTC)


class Wall:
    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime:
        return self.at


def read_up_to(commit: int, head: int, rows: int, events: int) -> Reading:
    return Reading("v", {"words": commit}, {"words": head}, rows, START, version=1, events=events)


def test_a_view_is_as_fresh_as_its_commits_were_old_when_they_were_in_the_store(tmp_path: Path) -> None:
    wall = Wall()
    log = TopicLog(Stream(name="words", columns=(Column("word", pa.string()),)), open_storage(str(tmp_path)), now=wall)
    gauge = Gauge(lambda view, name: log, wall)
    for second in (0, 1, 2):
        wall.at = START + timedelta(seconds=second)
        log.append(pa.table({"word": ["river"]}))
    gauge.take(Reading("v", {}, {"words": 3}, version=1))
    (found,) = gauge.figures()
    assert (found.state, found.lag, found.freshness(0.5)) == ("starting", 3, None)
    gauge.take(read_up_to(1, 3, 10, 1))
    assert (found.state, found.lag, found.freshness(0.5)) == ("following", 2, None), "what was there before is history"
    wall.at = START + timedelta(seconds=2.5)
    gauge.take(read_up_to(3, 3, 30, 2))
    assert (found.lag, found.freshness(0.0), found.freshness(0.99)) == (0, 0.5, 1.5)
    assert (found.batches, found.events, found.rates(wall.at)) == (2, 3, (0.3, 3.0))
    wall.at += timedelta(seconds=20)
    assert found.rates(wall.at) == (0.0, 0.0)


def test_batches_take_from_their_beginning_until_they_are_stored(tmp_path: Path) -> None:
    wall = Wall()
    gauge = Gauge(lambda view, name: None, wall)  # type: ignore[arg-type, return-value]
    gauge.take(read_up_to(1, 1, 0, 0))
    (found,) = gauge.figures()
    assert (found.batch_time(0.5), found.writing_time(0.5), found.state_bytes) == (None, None, 0)
    for second, took in enumerate([0.2, 0.4, 0.9], 1):
        wall.at = START + timedelta(seconds=second)
        batch = replace(read_up_to(1, 1, 0, 0), began_at=wall.at - timedelta(seconds=took))
        gauge.take(replace(batch, writing=timedelta(seconds=took / 2), state_bytes=512 * second))
    told = found.as_dict(wall.at)
    assert (told["batch_p50"], told["batch_p99"], told["writing_p99"]) == (0.4, 0.9, 0.45)
    assert told["state_bytes"] == 1536


def test_a_view_that_waits_or_has_stopped_says_why() -> None:
    gauge = Gauge(lambda view, name: None, Wall())  # type: ignore[arg-type, return-value]
    gauge.take(Reading("v", {}, {}, note="attempt 2 of 5 in 1.0 s: the store is locked"))
    (found,) = gauge.figures()
    assert (found.state, found.note) == ("waiting", "attempt 2 of 5 in 1.0 s: the store is locked")
    gauge.take(read_up_to(1, 1, 0, 0))
    assert (found.state, found.note) == ("following", None)
    gauge.end(CaughtUp("v", 1, error=ViewFailed('view "v" stopped')))
    assert found.state == "stopped"
    assert found.as_dict(START)["error"] == {"error": "view-failed", "summary": 'view "v" stopped'}
