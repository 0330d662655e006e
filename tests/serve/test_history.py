"""What the dashboard remembers of a project, and what it says of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from headwater.operate import Ledger, Status
from headwater.operate.figures import Figures
from headwater.operate.status import SourceStatus, StoreStatus, TopicStatus, ViewStatus
from headwater.operate.wish import Paused
from headwater.project import Project
from headwater.serve.dashboard.history import KEPT, History, rates, recent_rate
from headwater.serve.dashboard.lineage import Drawing, Node, drawing_of, told
from headwater.serve.dashboard.overview import LINES, charts_of, figures_of, row_of
from headwater.serve.dashboard.theme import colours
from headwater.serve.dashboard.view import trouble_of
from tests.patience import until

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
GRAPH = {
    "nodes": [
        {"name": "payments", "kind": "stream"},
        {"name": "spend", "kind": "view"},
        {"name": "store main", "kind": "store"},
    ],
    "edges": [{"from": "payments", "to": "spend"}, {"from": "spend", "to": "store main"}],
}


def status(second: int, rows: int, sources: tuple[str, ...] = ("till", "phone"), views: int = 1) -> Status:
    """A project at a second: each source's newest event is two seconds older than that of the one before it."""
    now = NOON + timedelta(seconds=second)
    heard = [SourceStatus(name, now - timedelta(seconds=2 * place), now, place == len(sources) - 1)
             for place, name in enumerate(sources)]  # fmt: skip
    topic = TopicStatus("payments", second, rows, 2, now - timedelta(seconds=5), tuple(heard))
    found = []
    for number in range(views):
        name = "spend" if number == 0 else f"spend{number}"
        ledger = Ledger(name, 1, {}, logged=rows, used=rows - 3, filtered=0, late=3, duplicates=0)
        where = StoreStatus("main", {"payments": 1}, now, 4)
        figures = Figures(name, "following", rows=50, state_bytes=2_000_000)
        figures._delays.append(0.25)
        figures._batches.extend([0.1, 0.4 + number])
        found.append(
            ViewStatus(name, "following", "live", "changes", "main", 1, {"payments": 1}, {"payments": 5 + number},
                       now - timedelta(seconds=6), ledger, figures, (where,))
        )  # fmt: skip
    return Status("bank", now, (topic,), tuple(found))


def remembered(*found: Status) -> History:
    history = History(Project.__new__(Project))
    for one in found:
        history.take(one)
    return history


def test_rates_are_told_from_one_moment_to_the_next() -> None:
    moments = remembered(*(status(2 * n, 100 * n) for n in range(3))).moments()
    assert [rate for _, rate in rates(moments)] == [50.0, 50.0]
    assert (recent_rate(moments), recent_rate(moments, "payments"), recent_rate(moments, "none")) == (50.0, 50.0, 0.0)
    assert recent_rate(moments[:1]) is None


class ShakyProject(Project):
    """A project that can't say how it is at first."""

    def __init__(self) -> None:
        self.failures: list[Exception] = [OSError(24, "Too many open files"), KeyError("spend")]

    def status(self) -> Status:
        if self.failures:
            raise self.failures.pop(0)
        return status(0, 100)


def test_a_second_of_which_nothing_is_known_is_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("headwater.serve.dashboard.history.EVERY", timedelta(milliseconds=1))
    with History(ShakyProject()) as history:
        until(history.moments)
    assert "Too many open files" in caplog.text
    assert "please report it" in caplog.text


def test_an_hour_is_kept_coarsely_and_five_minutes_finely() -> None:
    history = remembered(*(status(second, second) for second in range(4000)))
    fine, whole = history.moments(), history.moments(KEPT)
    assert len(fine) == 300
    assert (fine[0].at, fine[-1].at) == (NOON + timedelta(seconds=3700), NOON + timedelta(seconds=3999))
    assert len(whole) <= 242
    assert whole[0].at <= NOON + timedelta(seconds=3999 - 3585)
    assert whole[-1] == fine[-1]


def test_a_source_that_falls_silent_is_remembered_as_idle() -> None:
    history = remembered(status(0, 10), status(9, 10, ("till",)))
    assert [(source.name, idle) for source, idle in history.sources("payments")] == [("phone", True), ("till", False)]
    said = told(history)
    assert (said["payments phone"].text, said["payments phone"].health) == ("idle for 9 s", "rest")
    assert said["payments till"].text == "heard 0 ms ago", "a source that is alone holds nothing back"


def test_lineage_leads_from_sources_to_stores_and_says_how_each_is() -> None:
    history = remembered(status(0, 10), status(10, 430))
    drawing = drawing_of(GRAPH, history)
    lefts = {name: box.left for name, box in drawing.boxes().items()}
    assert lefts["payments till"] == lefts["payments phone"] == 0
    assert lefts["payments till"] < lefts["payments"] < lefts["spend"] < lefts["store main"]
    assert drawing.lines().count("<path") == 4
    assert {name: found.text for name, found in told(history).items()} == {
        "payments": "42/s · watermark −5 s", "payments till": "heard 0 ms ago", "payments phone": "holds the watermark",
        "spend": "0/s · 4 behind · 250 ms", "store main": "0 rows/s · 4 behind",
    }  # fmt: skip


def test_a_stream_that_nothing_was_heard_of_stands_beside_the_others() -> None:
    kinds = (("a x", "source"), ("a", "stream"), ("b", "stream"), ("v", "view"))
    drawing = Drawing(tuple(Node(name, kind, name) for name, kind in kinds), (("a x", "a"), ("b", "v")))
    lefts = {name: box.left for name, box in drawing.boxes().items()}
    assert lefts["a x"] < lefts["a"] == lefts["b"] < lefts["v"]


def test_what_reads_the_same_stands_together() -> None:
    names = [Node(name, "view", name) for name in ("a", "b", "x", "y")]
    drawing = Drawing(tuple(names), (("b", "x"), ("a", "y")))
    tops = {name: box.top for name, box in drawing.boxes().items()}
    assert tops["a"] == tops["y"] and tops["b"] == tops["x"]


def test_the_whole_is_told_in_ten_figures() -> None:
    assert figures_of(remembered(status(0, 100), status(10, 520))) == {
        "events in": ("42/s", "520 in all"), "rows out": ("0/s", "50 in all"), "lag": ("4", "spend"),
        "end to end": ("250 ms", "p99 250 ms"), "batch": ("400 ms", "p99 400 ms"), "state": ("2 MB", "of 1 views"),
        "watermark": ("−5 s", "held by phone"), "late": ("3", "0.58 % of spend"), "dead": ("2", "0.38 %"),
        "remainder": ("0", "adds up"),
    }  # fmt: skip


def test_a_view_is_told_in_a_line_and_the_worst_of_many_are_drawn() -> None:
    many = status(0, 10, views=12)
    row = row_of(many.views[0], many.at, "#000")
    shown = {name: row[name] for name in ("view", "health", "lag", "batch p99", "state size", "watermark", "late")}
    assert shown == {
        "view": "spend", "health": "good", "lag": "4", "batch p99": "400 ms", "state size": "2 MB", "watermark": "−6 s",
        "late": "3",
    }  # fmt: skip
    tints = colours([view.view for view in many.views])
    lag = charts_of(remembered(many).moments(), tints)[1]
    assert all(part["color"] == tints[part["name"]] for part in lag["series"])
    assert len(lag["series"]) == LINES
    assert min(part["data"][-1][1] for part in lag["series"]) == 4 + 12 - LINES


def test_a_view_that_does_not_follow_says_why() -> None:
    follows = status(0, 10).views[0]
    assert follows.figures is not None and trouble_of(follows) is None
    waits = replace(follows.figures, state="waiting", note="attempt 2 of 5 in 1.0 s: the store is locked")
    assert trouble_of(replace(follows, figures=waits)) == "attempt 2 of 5 in 1.0 s: the store is locked"
    error = {"error": "view-failed", "summary": 'view "spend" stopped', "hint": "Run `headwater catch-up`."}
    stopped = replace(follows, figures=replace(follows.figures, state="stopped", error=error))
    assert trouble_of(stopped) == 'view "spend" stopped\nRun `headwater catch-up`.'
    assert trouble_of(replace(follows, paused=Paused(NOON, "cleaning"))) == (
        "paused since 2026-01-01 12:00:00 UTC: cleaning"
    )
