"""The page of a stream: its commits, how late its events are, which source holds the watermark, its dead letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from fastapi.concurrency import run_in_threadpool
from nicegui import ui

from headwater.errors import HeadwaterError
from headwater.log.read import Commit
from headwater.operate.status import TopicStatus
from headwater.project import Project
from headwater.serve.dashboard import charts, spelling
from headwater.serve.dashboard.action import action
from headwater.serve.dashboard.frame import chart, columns, draw, fill, page, panel, shown, strip
from headwater.serve.dashboard.history import History, recent_rate
from headwater.serve.dashboard.rest import Rest
from headwater.serve.dashboard.visit import Visit

COMMITS, POINTS, LETTERS, LISTED = 60, 1500, 100, 4
FIGURES = ("events in", "events", "commits", "watermark", "held by", "sources", "dead")
_WIDTHS = ("80px", "150px", "90px", "420px", "auto")
_STATE = """<q-td :props="props"><span class="flex items-center no-wrap gap-2"><span :class="'dot ' + props.row.health">
</span>{{ props.value }}</span></q-td>"""


def stream_page(visit: Visit, name: str) -> None:
    """Build the page."""
    project, history = visit.service.project, visit.history
    with page(visit, name, f"/dashboard/streams/{name}"):
        topic = project.declarations.topic(name)
        with ui.row().classes("items-center gap-2"):
            ui.label(topic.name).classes("text-lg font-medium")
            ui.label(topic.comment or "").classes("dim")
        labels = strip(*FIGURES)
        with panel("how old events are when they arrive; what is above the watermark is late where nothing waits"):
            drawn = chart(230).mark("scatter")
        with ui.grid(columns="minmax(0, 1fr) minmax(0, 1fr)").classes("w-full gap-3"):
            sources = _sources_panel()
            arriving, commits = _commits_panel()
        letters, rest = _LettersPanel(visit, topic.name), Rest()

        async def ask(dead: int) -> None:
            newest = await run_in_threadpool(project.log.commits, topic.name, COMMITS)
            commits.rows = [_commit(commit) for commit in reversed(newest[-LISTED:])]
            draw(arriving, charts.commits(newest))
            if topic.time is not None:
                points = await run_in_threadpool(_points, project, topic.name, topic.time, newest)
                draw(drawn, charts.scatter(*points))
            await letters.refresh(dead)

        async def refresh() -> None:
            status = history.topic(topic.name)
            if status is None or history.status is None:
                return
            fill(labels, figures_of(status, history))
            sources.rows = sources_of(history, topic.name)
            if rest.is_over:
                with (
                    rest.after(),
                    suppress(HeadwaterError),
                ):  # the storage is away: what is shown stays until it is back
                    await ask(status.dead)

        ui.timer(1.5, refresh)


def _sources_panel() -> ui.table:
    with panel("sources"):
        names = ("source", "newest event", "behind", "last heard of")
        sources = ui.table(rows=[], row_key="source", columns=columns("source", "state", *names[1:], right=names[1:]))
        sources.add_slot("body-cell-source", _STATE)
        return sources.classes("w-full").props("dense flat").style("border: 0").mark("sources")


def _commits_panel() -> tuple[ui.echart, ui.table]:
    numbers = ("commit", "rows", "watermark")
    with panel("commits, with how many rows each has"):
        drawn = chart(110)
        listed = ui.table(
            rows=[], row_key="commit", columns=columns("commit", "kind", "rows", "watermark", "sources", right=numbers)
        )
        return drawn, listed.classes("w-full").props("dense flat").style("border: 0").mark("commits")  # fmt: skip


def figures_of(status: TopicStatus, history: History) -> dict[str, tuple[str, str]]:
    """The figures of a stream, each with what is said below it."""
    assert history.status is not None
    now, known = history.status.at, history.sources(status.topic)
    holds = [source.name for source in status.sources if source.holds]
    idle = sum(is_idle for _, is_idle in known)
    coming = recent_rate(history.moments(), status.topic)
    return {
        "events in": (spelling.per_second(coming), "last ten seconds"),
        "events": (spelling.count(status.rows), "in the log"),
        "commits": (spelling.count(status.head), "the newest"),
        "watermark": (spelling.behind(now, status.watermark), spelling.clock(status.watermark)),
        "held by": (holds[0] if holds else spelling.NONE, "the oldest source"),
        "sources": (spelling.count(len(known)), f"{idle} idle"),
        "dead": (spelling.count(status.dead), spelling.share(status.dead, status.dead + status.rows)),
    }


def sources_of(history: History, topic: str) -> list[dict[str, Any]]:
    """The sources of a stream: where each is, and which holds the watermark back."""
    assert history.status is not None
    now, rows = history.status.at, []
    for source, idle in history.sources(topic):
        state = "idle" if idle else "holds the watermark" if source.holds else "in time"
        rows.append(
            {"source": source.name, "state": state, "newest event": f"{source.newest_at:%H:%M:%S.%f}"[:-3],
             "behind": spelling.ago(now, source.newest_at),
             "last heard of": f"{spelling.ago(now, source.heard_at)} ago",
             "health": "rest" if idle else "warn" if source.holds else "good"}
        )  # fmt: skip
    return rows


def _commit(commit: Commit) -> dict[str, Any]:
    return {"commit": commit.number, "kind": commit.kind, "rows": commit.rows,
            "watermark": spelling.clock(commit.watermark), "sources": ", ".join(commit.sources)}  # fmt: skip


class _LettersPanel:
    """The dead letters of a stream: how many of each class, the newest, and a button that decodes them again."""

    def __init__(self, visit: Visit, topic: str) -> None:
        self._visit, self._topic = visit, topic
        self._seen: int | None = None
        with panel("dead letters") as head:
            with head, ui.row().classes("gap-2 items-center no-wrap"):
                self._kinds = ui.row().classes("gap-1")
                action(visit, "redrive", "replay", self._redrive)
            self._none = ui.label("Every event could be read.").classes("dim py-2")
            named = columns("seen", "error", "source", "reason", "event")
            for column, width in zip(named, _WIDTHS, strict=True):
                column |= {"style": f"width: {width}", "headerStyle": f"width: {width}"}
            self._table = ui.table(rows=[], columns=named, pagination=10).classes("w-full fixed-layout")
            self._table.props("dense flat").style("border: 0").mark("letters")
            self._table.add_slot("body-cell", '<q-td :props="props" :title="props.value">{{ props.value }}</q-td>')

    async def refresh(self, dead: int) -> None:
        """Show the letters, if there are others than before."""
        self._none.set_visibility(not dead)
        self._table.set_visibility(bool(dead))
        if dead == self._seen:
            return
        letters = await run_in_threadpool(self._visit.service.project.dead, self._topic)
        self._seen = dead
        self._kinds.clear()
        with self._kinds:
            for kind, number in Counter(letters["error"].to_pylist()).most_common(5):
                ui.label(f"{kind} {number:,}").classes("pill")
        self._table.rows = letters_of(letters.slice(max(0, letters.num_rows - LETTERS)).to_pylist())

    def _redrive(self) -> str:
        with self._visit.service.appends.taken():
            done = self._visit.service.project.redrive(self._topic)
        self._seen = None
        return f"{done.rows:,} came back, {done.dead:,} are still dead"


def letters_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Dead letters as the table shows them, newest first."""
    return shown(
        [
            {"seen": spelling.clock(letter["_arrived_at"]), "error": letter["error"], "reason": letter["reason"],
             "source": letter["source"], "event": (letter["bytes"] or b"").decode("utf-8", "replace")[:200]}
            for letter in reversed(rows)
        ]
    )  # fmt: skip


def newest_of(commits: Sequence[Commit], rows: int) -> int:
    """The commit from which on there are so many rows, or the first of those given."""
    first = 0
    for commit in reversed(commits):
        first, rows = commit.number, rows - commit.rows
        if rows <= 0:
            break
    return first


def _points(project: Project, topic: str, time: str, commits: Sequence[Commit]) -> Any:
    """The ages of the newest events when they arrived, by source; and the age from which on one was late."""
    names = [time, "_source", "_arrived_at", "_watermark"]
    rows = project.read(topic, since=newest_of(commits, POINTS), columns=names)
    rows = rows.slice(max(0, rows.num_rows - POINTS)).to_pylist()
    by_source: dict[str, list[tuple[datetime, float]]] = {}
    for row in rows:
        age = (row["_arrived_at"] - row[time]).total_seconds()
        by_source.setdefault(row["_source"], []).append((row["_arrived_at"], age))
    limit = [
        (row["_arrived_at"], (row["_arrived_at"] - row["_watermark"]).total_seconds())
        for row in rows[:: max(1, len(rows) // 200)]
        if row["_watermark"].year > 1970
    ]
    return dict(sorted(by_source.items())), limit
