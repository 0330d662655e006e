"""Stacked bars as SVG: what a benchmark's time is made of, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

COLOURS = ("#4c8bf5", "#8a94a6", "#2fa671", "#e5a00d", "#a678de")
WIDTH, LEFT, BAR, PITCH, TOP = 860, 190, 22, 38, 44


def stacked(bars: Mapping[str, Mapping[str, float]], unit: str) -> str:
    """A bar for each name, made of its parts; the same parts have the same colour.

    >>> drawn = stacked({"one": {"wait": 10, "run": 30}, "two": {"wait": 5, "run": 5}}, "ms")
    >>> drawn.count("<rect"), "40 ms" in drawn
    (6, True)
    """
    names = list(next(iter(bars.values()), {}))
    longest = max((sum(parts.values()) for parts in bars.values()), default=1) or 1
    scale = (WIDTH - LEFT - 110) / longest
    drawn = [_legend(place, name) for place, name in enumerate(names)]
    for row, (name, parts) in enumerate(bars.items()):
        drawn += _bar(TOP + row * PITCH, name, parts, scale, unit)
    height = TOP + len(bars) * PITCH
    style = "text { font: 12px system-ui, sans-serif; fill: #667085 }"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
        f"<style>{style}</style>{''.join(drawn)}</svg>\n"
    )


def _legend(place: int, name: str) -> str:
    x = LEFT + place * 90
    return (
        f'<rect x="{x}" y="12" width="11" height="11" fill="{COLOURS[place]}"/><text x="{x + 16}" y="22">{name}</text>'
    )


def _bar(y: float, name: str, parts: Mapping[str, float], scale: float, unit: str) -> list[str]:
    middle, x = y + BAR - 7, float(LEFT)
    drawn = [f'<text x="{LEFT - 10}" y="{middle}" text-anchor="end">{escape(name)}</text>']
    for place, value in enumerate(parts.values()):
        width = value * scale
        drawn.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{COLOURS[place]}"/>')
        x += width
    drawn.append(f'<text x="{x + 8:.1f}" y="{middle}">{sum(parts.values()):,.0f} {unit}</text>')
    return drawn
