"""The overview: golden figures, what feeds what, and how it has gone for the last hour."""

from __future__ import annotations

from nicegui import ui

from headwater.serve.dashboard import charts
from headwater.serve.dashboard.frame import figure, page
from headwater.serve.dashboard.history import History, rates
from headwater.serve.service import Service
from headwater.serve.status import lineage_of


def overview(service: Service, history: History) -> None:
    """Build the page."""
    graph = lineage_of(service.project)
    plan = service.project.plan()
    views, streams = set(plan.views), set(plan.topics)
    with page(service, "overview"):
        with ui.row().classes("gap-3"):
            labels = {
                name: figure(name)
                for name in ("events", "events/s", "behind", "fresh within", "late", "dead", "remainder")
            }
        with ui.card().classes("w-full").props("flat bordered"):
            chart = ui.echart(
                charts.lineage(graph, history.status), on_point_click=lambda found: _open(found.name, views, streams)
            )
            chart.classes("w-full").style(f"height: {max(260, 60 * len(graph['nodes']))}px").mark("lineage")
        with ui.row().classes("gap-4"):
            for name in (node["name"] for node in graph["nodes"] if node["kind"] == "view"):
                ui.link(name, f"/dashboard/views/{name}")
        with ui.grid(columns=2).classes("w-full gap-4"):
            drawn = [ui.echart({}).classes("w-full h-64") for _ in range(4)]

        def refresh() -> None:
            status, moments = history.status, history.moments()
            if status is None or not moments:
                return
            chart.options.clear()
            chart.options.update(charts.lineage(graph, status))
            chart.update()
            for name, text in _figures(history).items():
                labels[name].set_text(text)
            for place, options in zip(drawn, _charts(history), strict=True):
                place.options.clear()
                place.options.update(options)
                place.update()

        refresh()
        ui.timer(1.0, refresh)


def _open(name: str, views: set[str], streams: set[str]) -> None:
    if name in views:
        ui.navigate.to(f"/dashboard/views/{name}")
    elif name in streams:
        ui.navigate.to(f"/dashboard/streams/{name}")


def _figures(history: History) -> dict[str, str]:
    status, moments = history.status, history.moments()
    assert status is not None
    recent = [rate for _, rate in rates(moments)[-10:]]
    fresh = sorted(moments[-1].freshness.values())
    ledgers = [view.ledger for view in status.views if view.ledger]
    return {
        "events": f"{moments[-1].rows:,}",
        "events/s": f"{sum(recent) / len(recent):,.0f}" if recent else "·",
        "behind": f"{max(moments[-1].lag.values(), default=0):,} commits",
        "fresh within": f"{fresh[len(fresh) // 2]:.2f} s" if fresh else "·",
        "late": f"{max(moments[-1].late.values(), default=0):,}",
        "dead": f"{moments[-1].dead:,}",
        "remainder": f"{sum(abs(found.remainder) for found in ledgers):,}",
    }


def _charts(history: History) -> list[charts.Options]:
    moments = history.moments()
    names = sorted(moments[-1].lag)
    lag = {name: [(found.at, float(found.lag.get(name, 0))) for found in moments] for name in names}
    fresh = {
        name: [(found.at, found.freshness[name]) for found in moments if name in found.freshness] for name in names
    }
    lost = {
        "late": [(found.at, float(max(found.late.values(), default=0))) for found in moments],
        "dead": [(found.at, float(found.dead)) for found in moments],
    }
    return [
        charts.lines("events a second", {"events": rates(moments)}),
        charts.lines("commits behind", lag),
        charts.lines("seconds from arrival to store, p50", fresh),
        charts.lines("late and dead", lost),
    ]
