"""The page of a stream: its commits, how late its events are, which source holds the watermark, its dead letters."""

from __future__ import annotations

from typing import Any

from fastapi.concurrency import run_in_threadpool
from nicegui import ui

from headwater.errors import HeadwaterError
from headwater.project import Project
from headwater.serve.dashboard import charts
from headwater.serve.dashboard.frame import figure, page, shown
from headwater.serve.dashboard.history import History
from headwater.serve.service import Service

COMMITS, POINTS, LETTERS = 60, 1500, 50


def stream_page(service: Service, history: History, name: str) -> None:
    """Build the page."""
    project = service.project
    with page(service, f"stream {name}"):
        topic = project.topic(name)
        with ui.row().classes("gap-3"):
            labels = {found: figure(found) for found in ("events", "commits", "dead", "watermark")}
        drawn = ui.echart({}).classes("w-full h-80").mark("scatter")
        with ui.grid(columns=2).classes("w-full gap-4"):
            sources = ui.table(
                title="sources",
                rows=[],
                row_key="source",
                columns=_columns("source", "newest event", "last heard of", "holds the watermark"),
            )
            commits = ui.table(
                title="commits",
                rows=[],
                row_key="commit",
                columns=_columns("commit", "kind", "rows", "watermark", "sources"),
            )
        letters = ui.table(title="dead letters", rows=[], columns=_columns("error", "reason", "source", "event"))
        letters.classes("w-full").mark("letters")

        async def refresh() -> None:
            status = (
                next((found for found in history.status.topics if found.topic == topic.name), None)
                if history.status
                else None
            )
            if status is None:
                return
            labels["events"].set_text(f"{status.rows:,}")
            labels["commits"].set_text(f"{status.head:,}")
            labels["dead"].set_text(f"{status.dead:,}")
            labels["watermark"].set_text(f"{status.watermark:%H:%M:%S}")
            sources.rows = [
                {"source": found.name, "newest event": f"{found.newest_at:%H:%M:%S.%f}"[:-3],
                 "last heard of": f"{found.heard_at:%H:%M:%S}", "holds the watermark": "yes" if found.holds else ""}
                for found in status.sources
            ]  # fmt: skip
            try:
                commits.rows, letters.rows = await run_in_threadpool(_tables, project, topic.name)
                points = await run_in_threadpool(_points, project, topic.name, topic.time)
            except HeadwaterError:
                return
            if points is not None:
                drawn.options.clear()
                drawn.options.update(charts.scatter(*points))
                drawn.update()

        ui.timer(1.5, refresh)


def _columns(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "label": name, "field": name, "align": "left"} for name in names]


def _tables(project: Project, topic: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    commits = [
        {"commit": found.number, "kind": found.kind, "rows": found.rows, "watermark": f"{found.watermark:%H:%M:%S}",
         "sources": ", ".join(found.sources)}
        for found in reversed(project.log(topic, 8))
    ]  # fmt: skip
    dead = project.dead(topic)
    letters = dead.slice(max(0, dead.num_rows - LETTERS)).to_pylist()
    return commits, shown(
        [
            {"error": found["error"], "reason": found["reason"], "source": found["source"],
             "event": (found["bytes"] or b"").decode("utf-8", "replace")[:200]}
            for found in reversed(letters)
        ]
    )  # fmt: skip


def _points(project: Project, topic: str, time: str | None) -> Any:
    """How old the newest events were when they arrived, by source; and how old one had to be to be late."""
    if time is None:
        return None
    columns = [time, "_source", "_arrived_at", "_watermark"]
    rows = project.read(topic, since=max(0, project.head(topic) - COMMITS), columns=columns)
    rows = rows.slice(max(0, rows.num_rows - POINTS)).to_pylist()
    found: dict[str, list[Any]] = {}
    for row in rows:
        age = (row["_arrived_at"] - row[time]).total_seconds()
        found.setdefault(row["_source"], []).append((row["_arrived_at"], age))
    limit = [
        (row["_arrived_at"], (row["_arrived_at"] - row["_watermark"]).total_seconds())
        for row in rows[:: max(1, len(rows) // 200)]
        if row["_watermark"].year > 1970
    ]
    return found, limit
