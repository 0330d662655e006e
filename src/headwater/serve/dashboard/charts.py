"""Charts: the options of ECharts for what the dashboard draws. Pure functions of figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from headwater.operate import Ledger, Status

Options = dict[str, Any]
Points = Sequence[tuple[datetime, float]]
FATES = {"used": "#2e9e6b", "filtered": "#4a7fd1", "late": "#e0a100", "duplicates": "#9b6bd3", "dead": "#d64545"}
STATES = {"following": "#2e9e6b", "waiting": "#e0a100", "stopped": "#d64545", "starting": "#4a7fd1"}
RESTING = "#8a94a6"
_GRID = {"left": 56, "right": 16, "top": 40, "bottom": 28}
_PALE = {"lineStyle": {"color": "#8a94a6", "opacity": 0.25}}
_WORDS = {"color": RESTING}
_TIME: Options = {"type": "time", "axisLabel": _WORDS}


def lines(title: str, series: Mapping[str, Points]) -> Options:
    """Lines over time."""
    many = {"top": 2, "right": 8, "left": 230, "type": "scroll", "textStyle": _WORDS}
    return {
        "title": _title(title),
        "animation": False,
        "tooltip": {"trigger": "axis"},
        "legend": many if len(series) > 1 else {"show": False},
        "grid": _GRID,
        "xAxis": _TIME,
        "yAxis": _numbers(),
        "series": [
            {"name": name, "type": "line", "showSymbol": False, "data": [[_time(at), value] for at, value in points]}
            for name, points in series.items()
        ],
    }


def bars(names: Sequence[str], column: str, values: Sequence[float]) -> Options:
    """A bar for each name."""
    return {
        "animation": False,
        "tooltip": {},
        "grid": _GRID,
        "xAxis": {"type": "category", "data": list(names), "axisLabel": _WORDS},
        "yAxis": _numbers(column),
        "series": [{"type": "bar", "data": list(values)}],
    }


def _numbers(name: str = "") -> Options:
    return {"type": "value", "name": name, "nameTextStyle": _WORDS, "axisLabel": _WORDS, "splitLine": _PALE}


def ledger(found: Ledger) -> Options:
    """One bar that has to add up: every event has a fate."""
    rest = {"remainder": abs(found.remainder)} if found.remainder else {}
    counts = {fate: getattr(found, fate) for fate in FATES} | rest
    return {
        "title": _title(f"ledger: {found.rows_in:,} events in, remainder {found.remainder}"),
        "animation": False,
        "tooltip": {},
        "legend": {"bottom": 0, "textStyle": _WORDS},
        "grid": {"left": 16, "right": 24, "top": 36, "bottom": 52},
        "xAxis": {"type": "value", "max": "dataMax", "axisLabel": _WORDS, "splitLine": _PALE},
        "yAxis": {"type": "category", "data": [""], "show": False},
        "series": [
            {"name": f"{fate} {count:,}", "type": "bar", "stack": "all", "data": [count],
             "itemStyle": {"color": FATES.get(fate, "#000000")}}
            for fate, count in counts.items()
        ],
    }  # fmt: skip


def scatter(points: Mapping[str, Sequence[tuple[datetime, float]]], limit: Points) -> Options:
    """Each event by when it arrived and how old it was then; what is above the line of the watermark is late."""
    series: list[Options] = [
        {"name": source, "type": "scatter", "symbolSize": 5, "data": [[_time(at), age] for at, age in found]}
        for source, found in points.items()
    ]
    line = {"name": "watermark", "type": "line", "showSymbol": False, "step": "end", "lineStyle": {"width": 2},
            "data": [[_time(at), age] for at, age in limit]}  # fmt: skip
    return {
        "title": _title("how old events are when they arrive, in seconds"),
        "animation": False,
        "tooltip": {},
        "legend": {"top": 2, "right": 8, "textStyle": _WORDS},
        "grid": _GRID,
        "xAxis": _TIME,
        "yAxis": _numbers(),
        "series": [*series, line],
    }


def lineage(graph: Mapping[str, Any], status: Status | None) -> Options:
    """Streams, views, stores and outlets from left to right, each with its figures and the colour of its state."""
    told = _told(status)
    places = _places(graph)
    nodes = [
        {
            "name": node["name"], "x": places[node["name"]][0], "y": places[node["name"]][1],
            "symbol": "rect", "symbolSize": [190, 60],
            "itemStyle": {"color": told.get(node["name"], ("", RESTING))[1] if node["kind"] != "store" else "#5b6b86"},
            "label": {"formatter": f"{node['name']}\n{told.get(node['name'], (node['kind'], ''))[0]}"},
        }
        for node in graph["nodes"]
    ]  # fmt: skip
    return {
        "animation": False,
        "series": [
            {
                "type": "graph", "layout": "none", "roam": False, "data": nodes, "left": 100, "right": 100, "top": 30,
                "bottom": 30, "edgeSymbol": ["none", "arrow"], "edgeSymbolSize": 8,
                "label": {"show": True, "color": "#fff", "fontSize": 11, "lineHeight": 15},
                "lineStyle": {"color": "#8a94a6", "width": 1.5, "curveness": 0.08},
                "links": [{"source": edge["from"], "target": edge["to"]} for edge in graph["edges"]],
            }
        ],
    }  # fmt: skip


def _told(status: Status | None) -> dict[str, tuple[str, str]]:
    """What is said of each topic, view and outlet, and its colour."""
    if status is None:
        return {}
    found = {topic.topic: (f"{topic.rows:,} events", "#2f6fb0") for topic in status.topics}
    for view in status.views:
        fresh = view.figures.freshness(0.5) if view.figures else None
        said = f"{view.lag} behind" + (f", {fresh:.1f} s" if fresh is not None else "")
        found[view.view] = (
            said if view.state in ("following", "at rest") else view.state,
            STATES.get(view.state, RESTING),
        )
    for outlet in status.outlets:
        sent = outlet.sent
        said = f"{sent.changes:,} sent, {outlet.lag} behind" if sent.state in ("sending", "at rest") else sent.state
        found[sent.outlet] = (said, STATES.get("following" if sent.state == "sending" else sent.state, RESTING))
    return found


def _places(graph: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Where each node is: one column for each step that it is away from a stream."""
    depths: dict[str, int] = {}

    def depth(name: str) -> int:
        if name not in depths:
            before = [edge["from"] for edge in graph["edges"] if edge["to"] == name]
            depths[name] = 1 + max((depth(found) for found in before), default=-1)
        return depths[name]

    columns: dict[int, list[str]] = {}
    for node in graph["nodes"]:
        columns.setdefault(depth(node["name"]), []).append(node["name"])
    return {
        name: (float(column * 320), (place - (len(names) - 1) / 2) * 70)
        for column, names in columns.items()
        for place, name in enumerate(names)
    }


def _title(text: str) -> Options:
    return {"text": text, "left": 8, "textStyle": {"fontSize": 13, "fontWeight": "normal", "color": RESTING}}


def _time(at: datetime) -> int:
    return int(at.timestamp() * 1000)
