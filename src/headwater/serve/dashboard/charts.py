"""Charts: the options of ECharts for what the dashboard draws. Pure functions of figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from headwater.log.read import Commit
from headwater.operate import Ledger
from headwater.serve.dashboard.theme import FATES, GREY, SERIES, colours

Options = dict[str, Any]
Points = Sequence[tuple[datetime, float]]
Unit = Literal["", "s", "B"]
_WORDS = {"color": GREY, "fontSize": 11}
_PALE = {"lineStyle": {"color": GREY, "opacity": 0.18}}
_TIP = {"backgroundColor": "#1c2430", "borderWidth": 0, "padding": [6, 10], "confine": True,
        "textStyle": {"color": "#fff", "fontSize": 11}}  # fmt: skip
_NOTHING: Options = {"title": {"text": "nothing yet", "left": "center", "top": "center", "textStyle": _WORDS},
                     "legend": {"show": False}, "xAxis": {"show": False}, "yAxis": {"show": False}}  # fmt: skip
_UNITS = {
    "": "(v) => v == null ? '–' : Intl.NumberFormat('en', {notation: 'compact', maximumFractionDigits: 1}).format(v)",
    "s": "(v) => v == null ? '–' : v < 1 ? Math.round(v * 1000) + ' ms' : v < 100 ? +v.toPrecision(3) + ' s'"
         " : Math.round(v / 60) + ' m'",
    "B": "(v) => v == null ? '–' : v < 1e6 ? +(v / 1e3).toPrecision(3) + ' kB' : +(v / 1e6).toPrecision(3) + ' MB'",
}  # fmt: skip


def lines(
    series: Mapping[str, Points], unit: Unit = "", *, legend: bool = False, tints: Mapping[str, str] | None = None
) -> Options:
    """Lines over time, each with the colour that is given for its name, or that it has among the others."""
    tints = tints or colours(list(series))
    return _chart(
        [
            {"name": name, "type": "line", "showSymbol": False, "data": _data(points), "color": tints[name],
             "lineStyle": {"width": 1.6}, "emphasis": {"disabled": True}}
            for name, points in series.items()
        ],
        unit,
        legend,
    )  # fmt: skip


def _chart(series: list[Options], unit: Unit = "", legend: bool = False) -> Options:
    return {
        "animation": False,
        "useUTC": True,
        "tooltip": {"trigger": "axis", ":valueFormatter": _UNITS[unit], **_TIP},
        "legend": {"show": legend, "top": 0, "right": 0, "itemWidth": 14, "itemHeight": 8, "textStyle": _WORDS},
        "grid": {"left": 52, "right": 12, "top": 26 if legend else 10, "bottom": 22},
        "xAxis": {"type": "time", "axisLabel": _WORDS | {"hideOverlap": True}, "splitNumber": 4},
        "yAxis": _numbers(unit),
        "series": series,
        **({} if any(part["data"] for part in series) else _NOTHING),  # no axes of nothing
    }


def _numbers(unit: Unit = "") -> Options:
    return {"type": "value", "min": 0, "splitNumber": 3, "splitLine": _PALE,
            "axisLabel": _WORDS | {":formatter": _UNITS[unit]}}  # fmt: skip


def windows(name: str, points: Points) -> Options:
    """A number at each time of a view, as columns."""
    bar = {"name": name, "type": "bar", "data": _data(points), "color": SERIES[0], "barMaxWidth": 14}
    return _chart([bar])


def figures(names: Sequence[str], column: str, values: Sequence[float], kind: Literal["bar", "line"]) -> Options:
    """A bar for each name, or a line through them."""
    return {
        "animation": False,
        "tooltip": {"trigger": "axis", **_TIP},
        "grid": {"left": 60, "right": 12, "top": 14, "bottom": 26},
        "xAxis": {"type": "category", "data": list(names), "axisLabel": _WORDS | {"hideOverlap": True}},
        "yAxis": _numbers() | {"min": None, "scale": kind == "line"},
        "series": [{"name": column, "type": kind, "data": list(values), "color": SERIES[0], "barMaxWidth": 48,
                    "showSymbol": False}],
    }  # fmt: skip


def ledger(counted: Ledger) -> Options:
    """One bar that has to add up: every event has a fate."""
    rest = {"remainder": abs(counted.remainder)} if counted.remainder else {}
    known = {fate: getattr(counted, fate) for fate in FATES}
    counts = {fate: count for fate, count in known.items() if count or fate != "unmatched"} | rest
    return {
        "animation": False,
        "tooltip": _TIP,
        "legend": {"bottom": 0, "left": 0, "itemWidth": 10, "itemHeight": 10, "itemGap": 14, "textStyle": _WORDS,
                   "selectedMode": False},
        "grid": {"left": 0, "right": 0, "top": 6, "height": 22},
        "xAxis": {"type": "value", "max": max(1, sum(counts.values())), "show": False},
        "yAxis": {"type": "category", "data": [""], "show": False},
        "series": [
            {"name": f"{fate} {count:,}", "type": "bar", "stack": "all", "data": [count], "barWidth": 22,
             "barMinHeight": 2 if count else 0, "color": FATES.get(fate, "#000000")}
            for fate, count in counts.items()
        ],
    }  # fmt: skip


def scatter(points: Mapping[str, Points], limit: Points) -> Options:
    """Each event by when it arrived and how old it was then; what is above the line of the watermark is late.

    The line is drawn as far as there are events: after a silence it begins far above them.
    """
    tints = colours(list(points))
    series: list[Options] = [
        {"name": source, "type": "scatter", "symbolSize": 5, "data": _data(seen), "color": tints[source],
         "itemStyle": {"opacity": 0.75}}
        for source, seen in points.items()
    ]  # fmt: skip
    line = {"name": "watermark", "type": "line", "showSymbol": False, "step": "end", "data": _data(limit),
            "color": FATES["dead"], "lineStyle": {"width": 1.6, "type": "dashed"}}  # fmt: skip
    ages = [age for seen in points.values() for _, age in seen] + sorted(age for _, age in limit)[: len(limit) // 2 + 1]
    drawn = _chart([*series, line], "s", legend=True)
    if not ages:
        return drawn
    height = {"max": round(1.2 * max(ages), 1)}
    axis = drawn["yAxis"] | height | {"axisLabel": drawn["yAxis"]["axisLabel"] | {"showMaxLabel": False}}
    return drawn | {"tooltip": _TIP, "yAxis": axis}


def commits(arrived: Sequence[Commit]) -> Options:
    """Commits as they arrived, with how many rows each has."""
    return windows("rows", [(commit.at, commit.rows) for commit in arrived if commit.rows])


def _data(points: Points) -> list[list[float]]:
    return [[int(at.timestamp() * 1000), round(value, 4)] for at, value in points]
