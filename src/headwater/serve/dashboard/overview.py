"""The overview: golden figures, what feeds what, each view in a line, and how it has gone for the last hour."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from nicegui import ui

from headwater.operate.status import Status, ViewStatus
from headwater.serve.dashboard import charts, spelling
from headwater.serve.dashboard.frame import chart, columns, draw, fill, page, panel, strip
from headwater.serve.dashboard.history import FINELY, KEPT, History, Moment, rates, recent_rate
from headwater.serve.dashboard.lineage import LineagePanel
from headwater.serve.dashboard.theme import colours, health_of
from headwater.serve.dashboard.visit import Visit
from headwater.serve.status import lineage_of

FIGURES = ("events in", "rows out", "lag", "end to end", "batch", "state", "watermark", "late", "dead", "remainder")
CHARTS = ("events in and rows out, per second", "lag in commits", "end to end, p50", "batch time, p50",
          "watermark behind the clock", "late and dead")  # fmt: skip
LINES = 8
"""A chart has lines for so many views: those that are worst."""
_LINK = """
<q-td :props="props"><a :href="'/dashboard/views/' + props.row.view" class="accent flex items-center no-wrap gap-2">
  <span :class="'dot ' + props.row.health"></span><span class="cut">{{ props.row.view }}</span>
  <span class="swatch" :style="{background: props.row.colour}"></span></a></q-td>
"""
_NUMBERS = ("in/s", "out/s", "lag", "p50", "p99", "batch p50", "batch p99", "state size", "watermark", "late")


def overview(visit: Visit) -> None:
    """Build the page."""
    history, graph = visit.history, lineage_of(visit.service.project)
    with page(visit, "overview", "/"):
        labels = strip(*FIGURES)
        with panel("lineage"):
            lineage = LineagePanel(graph, history)
        with panel("views"):
            views = ui.table(rows=[], row_key="view", columns=columns("view", "state", *_NUMBERS, right=_NUMBERS))
            views.classes("w-full").props("dense flat").add_slot("body-cell-view", _LINK)
            views.style("border: 0").mark("views")
        with ui.row().classes("w-full items-center justify-end"):
            span = ui.toggle({5: "5 min", 60: "1 h"}, value=5).props("dense flat size=sm no-caps toggle-color=primary")
        with ui.grid(columns="repeat(auto-fit, minmax(360px, 1fr))").classes("w-full gap-3"):
            drawn = [_titled(title) for title in CHARTS]

        def tints() -> dict[str, str]:
            return colours([view.view for view in history.status.views]) if history.status else {}

        def refresh() -> None:
            if history.status is None:
                return
            fill(labels, figures_of(history))
            lineage.refresh()
            views.rows = [row_of(view, history.status.at, tints()[view.view]) for view in history.status.views]

        def redraw() -> None:
            moments = history.moments(FINELY if span.value == 5 else KEPT)
            for chart, options in zip(drawn, charts_of(moments, tints()), strict=True):
                draw(chart, options)

        refresh()
        redraw()
        ui.timer(1.0, refresh)
        ui.timer(2.0, redraw)
        span.on_value_change(redraw)


def _titled(title: str) -> ui.echart:
    with panel(title):
        return chart()


def figures_of(history: History) -> dict[str, tuple[str, str]]:
    """The golden figures of the whole, each with what is said below it."""
    status, moments = history.status, history.moments()
    assert status is not None
    figures = [view.figures for view in status.views if view.figures]
    worst = max(status.views, key=lambda view: view.lag, default=None)
    written = sum(each.rates(status.at)[1] for each in figures)
    late = max((view.ledger for view in status.views if view.ledger), key=lambda ledger: ledger.late, default=None)
    remainder = sum(abs(view.ledger.remainder) for view in status.views if view.ledger)
    dead, rows = moments[-1].dead, moments[-1].rows
    return {
        "events in": (spelling.per_second(recent_rate(moments)), f"{spelling.count(rows)} in all"),
        "rows out": (spelling.per_second(written), f"{spelling.count(sum(each.rows for each in figures))} in all"),
        "lag": (spelling.count(worst.lag if worst else 0), worst.view if worst and worst.lag else "commits behind"),
        "end to end": _times([(each.freshness(0.5), each.freshness(0.99)) for each in figures]),
        "batch": _times([(each.batch_time(0.5), each.batch_time(0.99)) for each in figures]),
        "state": (spelling.size(sum(each.state_bytes for each in figures)), f"of {len(status.views)} views"),
        "watermark": _watermark(status),
        "late": (spelling.count(late.late if late else 0), _late_share(late)),
        "dead": (spelling.count(dead), spelling.share(dead, dead + rows)),
        "remainder": (spelling.count(remainder), "adds up" if not remainder else "look at ledgers"),
    }


def _late_share(late: Any) -> str:
    return f"{spelling.share(late.late, late.rows_in)} of {late.view}" if late and late.late else "none"


def _times(times: list[tuple[float | None, float | None]]) -> tuple[str, str]:
    """The middle of what half of the time suffices for, and the worst of what nearly always does."""
    middle = sorted(half for half, _ in times if half is not None)
    worst = [most for _, most in times if most is not None]
    return spelling.seconds(
        middle[len(middle) // 2] if middle else None
    ), f"p99 {spelling.seconds(max(worst, default=None))}"


def _watermark(status: Status) -> tuple[str, str]:
    topic = min(
        (topic for topic in status.topics if topic.watermark.year > 1970), key=lambda it: it.watermark, default=None
    )
    if topic is None:
        return spelling.NONE, "no events yet"
    holds = [source.name for source in topic.sources if source.holds]
    return spelling.behind(status.at, topic.watermark), f"held by {holds[0]}" if holds else topic.topic


def row_of(view: ViewStatus, now: datetime, colour: str) -> dict[str, Any]:
    """A view in the table, with the colour that its lines have."""
    figures, ledger = view.figures, view.ledger
    coming, going = figures.rates(now) if figures else (None, None)
    return {
        "view": view.view, "colour": colour, "health": health_of(view.state, ledger.remainder if ledger else 0),
        "state": view.state,
        "in/s": spelling.rate(coming), "out/s": spelling.rate(going), "lag": f"{view.lag:,}",
        "p50": spelling.seconds(figures.freshness(0.5) if figures else None),
        "p99": spelling.seconds(figures.freshness(0.99) if figures else None),
        "batch p50": spelling.seconds(figures.batch_time(0.5) if figures else None),
        "batch p99": spelling.seconds(figures.batch_time(0.99) if figures else None),
        "state size": spelling.size(figures.state_bytes if figures else None),
        "watermark": spelling.behind(now, view.watermark), "late": spelling.count(ledger.late if ledger else None),
    }  # fmt: skip


def charts_of(moments: list[Moment], tints: Mapping[str, str]) -> list[charts.Options]:
    """The charts of the history; each view has its colour."""
    written = [
        (moment.at, sum(view.figures.get("rows_per_second", 0.0) for view in moment.views.values()))
        for moment in moments
    ]
    lost = {
        "late": [(moment.at, float(moment.late)) for moment in moments],
        "dead": [(moment.at, float(moment.dead)) for moment in moments],
    }
    return [
        charts.lines({"events in": rates(moments), "rows out": written}, legend=True),
        charts.lines(_by_view(moments, "lag"), tints=tints),
        charts.lines(_by_view(moments, "freshness_p50"), "s", tints=tints),
        charts.lines(_by_view(moments, "batch_p50"), "s", tints=tints),
        charts.lines(_by_view(moments, "delay"), "s", tints=tints),
        charts.lines(lost, legend=True),
    ]


def _by_view(moments: list[Moment], figure: str) -> dict[str, list[tuple[datetime, float]]]:
    """A figure of each view; of many views, of those that have most of it now."""
    by_name: dict[str, list[tuple[datetime, float]]] = {}
    for moment in moments:
        for name, view in moment.views.items():
            value = float(view.lag) if figure == "lag" else view.figures.get(figure)
            if value is not None:
                by_name.setdefault(name, []).append((moment.at, value))
    worst = sorted(by_name, key=lambda name: -by_name[name][-1][1])[:LINES]
    return {name: by_name[name] for name in sorted(worst)}
