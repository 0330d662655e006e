"""Lineage: sources, streams, views, stores and outlets from left to right, each with its rate, its lag and its health.

A node stands in a column: one for each step that it is away from where events come from. Within a column nodes stand in
the order of what they read, so that few edges cross.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from headwater.operate.status import OutletStatus, Status, ViewStatus
from headwater.serve.dashboard import spelling
from headwater.serve.dashboard.history import History, recent_rate
from headwater.serve.dashboard.theme import Health, health_of

PITCH, HEIGHT = 54, 44
SHOWN = 8
"""So many sources of a stream are drawn; the others are told by their number."""
_TOPICS = ("stream", "table")
_FILLED = 0.8
"""The share of a column's width that a node takes."""
_LETTERS = 1.4
"""The letters that a per cent of the width holds, on a screen of usual width."""


@dataclass(frozen=True)
class Node:
    """A node: what it is called, its kind, and the page that it leads to."""

    name: str
    kind: str
    title: str
    page: str | None = None


@dataclass(frozen=True)
class Box:
    """The box of a node: its left edge and its width in per cent, its top in pixels."""

    left: float
    width: float
    top: float


@dataclass(frozen=True)
class Told:
    """The words and the health of a node now."""

    text: str
    health: Health = "rest"


@dataclass(frozen=True)
class Drawing:
    """Nodes, and the edges between them."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str], ...]

    def boxes(self) -> dict[str, Box]:
        """The box of each node."""
        columns = self._columns()
        width, most = 100 / max(1, len(columns)), max((len(names) for names in columns), default=1)
        gap = width * (1 - _FILLED) * len(columns) / max(1, len(columns) - 1) if len(columns) > 1 else 0
        return {
            name: Box(column * (width * _FILLED + gap), width * _FILLED, (most - len(names)) * PITCH / 2 + row * PITCH)
            for column, names in enumerate(columns)
            for row, name in enumerate(names)
        }

    @property
    def height(self) -> int:
        """The height of the drawing, in pixels."""
        return max((len(column) for column in self._columns()), default=1) * PITCH - (PITCH - HEIGHT)

    def _columns(self) -> list[list[str]]:
        """The names of the nodes, column by column."""
        above: dict[str, list[str]] = {node.name: [] for node in self.nodes}
        for start, end in self.edges:
            above[end].append(start)
        kinds = {node.name: node.kind for node in self.nodes}
        beside = int("source" in kinds.values())  # where streams are; also one that nothing was heard of
        depths = {name: beside for name, kind in kinds.items() if kind in _TOPICS}
        for node in self.nodes:
            _depth(node.name, above, depths)
        last = max(depths.values(), default=0)
        depths = {name: last if kinds[name] in ("store", "outlet") else depth for name, depth in depths.items()}
        columns: list[list[str]] = [[] for _ in range(last + 1)]
        ranks: dict[str, float] = {}
        for column, depth in zip(columns, range(last + 1), strict=True):
            names = [node.name for node in self.nodes if depths[node.name] == depth]
            column += sorted(names, key=lambda name: _middle(ranks[start] for start in above[name] if start in ranks))
            ranks |= {name: row - (len(column) - 1) / 2 for row, name in enumerate(column)}
        return [column for column in columns if column]

    def lines(self) -> str:
        """The edges as SVG, in the same measures."""
        boxes, paths = self.boxes(), []
        for start, end in self.edges:
            a, b = boxes[start], boxes[end]
            x, y, right, below = a.left + a.width, a.top + HEIGHT / 2, b.left, b.top + HEIGHT / 2
            half = (x + right) / 2
            paths.append(
                f'<path d="M{x:.2f},{y:.0f} C{half:.2f},{y:.0f} {half:.2f},{below:.0f} {right:.2f},{below:.0f}"/>'
            )
        return f'<svg viewBox="0 0 100 {self.height}" preserveAspectRatio="none">{"".join(paths)}</svg>'  # fmt: skip


def _depth(name: str, above: Mapping[str, list[str]], depths: dict[str, int]) -> int:
    if name not in depths:
        depths[name] = 1 + max((_depth(start, above, depths) for start in above[name]), default=-1)
    return depths[name]


def _middle(ranks: Iterable[float]) -> float:
    known = list(ranks)
    return sum(known) / len(known) if known else 0.0


def drawing_of(graph: Mapping[str, Any], history: History) -> Drawing:
    """The drawing of a project: its graph, and before it the sources that streams have heard of."""
    nodes, edges = [], []
    for stream in (node["name"] for node in graph["nodes"] if node["kind"] in _TOPICS):
        known = history.sources(stream)
        for source, _ in known[:SHOWN]:
            nodes.append(Node(f"{stream} {source.name}", "source", source.name, f"/dashboard/streams/{stream}"))
        if len(known) > SHOWN:
            more = f"{len(known) - SHOWN} more sources"
            nodes.append(Node(f"{stream} …", "source", more, f"/dashboard/streams/{stream}"))
        edges += [(node.name, stream) for node in nodes if node.kind == "source" and node.name.startswith(f"{stream} ")]
    nodes += [Node(node["name"], node["kind"], node["name"], _page(**node)) for node in graph["nodes"]]
    edges += [(edge["from"], edge["to"]) for edge in graph["edges"]]
    return Drawing(tuple(nodes), tuple(edges))


def _page(name: str, kind: str) -> str | None:
    pages = {"stream": "streams", "table": "streams", "view": "views"}
    return f"/dashboard/{pages[kind]}/{name}" if kind in pages else None


def told(history: History) -> dict[str, Told]:
    """The words and the health of each node now."""
    status = history.status
    if status is None:
        return {}
    by_node = _of_topics(status, history)
    by_node |= {view.view: _of_view(view, status) for view in status.views}
    by_node |= _of_stores(status)
    return by_node | {outlet.sent.outlet: _of_outlet(outlet) for outlet in status.outlets}


def _of_topics(status: Status, history: History) -> dict[str, Told]:
    by_node, moments = {}, history.moments()
    for topic in status.topics:
        coming = spelling.per_second(recent_rate(moments, topic.topic))
        said = f"{coming} · watermark {spelling.behind(status.at, topic.watermark)}"
        by_node[topic.topic] = Told(topic.waits or said, "warn" if topic.waits else "good")
        many = len(topic.sources) > 1
        for source, idle in history.sources(topic.topic):
            silent = spelling.ago(status.at, source.heard_at)
            holds = source.holds and many and not idle
            text = f"idle for {silent}" if idle else "holds the watermark" if holds else f"heard {silent} ago"
            by_node[f"{topic.topic} {source.name}"] = Told(text, "rest" if idle else "warn" if holds else "good")
    return by_node


def _of_view(view: ViewStatus, status: Status) -> Told:
    health = health_of(view.state, view.ledger.remainder if view.ledger else 0)
    if view.state not in ("following", "at rest") or view.figures is None:
        return Told(view.state, health)
    coming, _ = view.figures.rates(status.at)
    fresh = view.figures.freshness(0.5)
    said = f"{spelling.per_second(coming)} · {view.lag:,} behind"
    return Told(said if fresh is None else f"{said} · {spelling.seconds(fresh)}", health)


def _of_stores(status: Status) -> dict[str, Told]:
    lags: dict[str, list[int]] = {}
    broken, rows = set(), dict[str, float]()
    for view in status.views:
        for store in view.stores:
            name = f"store {store.store}"
            lags.setdefault(name, []).append(store.lag)
            rows[name] = rows.get(name, 0.0) + (view.figures.rates(status.at)[1] if view.figures else 0.0)
            broken |= {name} if store.error else set()
    return {
        name: Told("can't be asked", "bad")
        if name in broken
        else Told(f"{spelling.rate(rows[name])} rows/s · {max(behind):,} behind", "good")
        for name, behind in lags.items()
    }


def _of_outlet(outlet: OutletStatus) -> Told:
    sent, health = outlet.sent, health_of(outlet.sent.state)
    if sent.state not in ("sending", "at rest"):
        return Told(sent.state, health)
    return Told(f"{spelling.count(sent.changes)} sent · {outlet.lag:,} behind", health)


class LineagePanel:
    """The drawing on a page. It is built anew when a node appears; else only what is said of nodes changes."""

    def __init__(self, graph: Mapping[str, Any], history: History) -> None:
        self._graph, self._history = graph, history
        self._canvas = ui.element("div").classes("w-full")
        self._drawn: Drawing | None = None
        self._labels: dict[str, tuple[ui.element, ui.label, Told]] = {}
        self.refresh()

    def refresh(self) -> None:
        """Show how it is now."""
        drawing = drawing_of(self._graph, self._history)
        if drawing != self._drawn:
            self._drawn = drawing
            self._canvas.clear()
            with self._canvas:
                self._build(drawing)
        for name, now in told(self._history).items():
            if name in self._labels and self._labels[name][2] != now:
                card, label, before = self._labels[name]
                label.set_text(now.text)
                card.classes(remove=before.health, add=now.health)
                self._labels[name] = (card, label, now)

    def _build(self, drawing: Drawing) -> None:
        boxes = drawing.boxes()
        most = int(_LETTERS * max((box.width for box in boxes.values()), default=0))
        self._labels = {}
        with ui.element("div").classes("lineage").style(f"height: {drawing.height}px"):
            ui.html(drawing.lines(), sanitize=False)
            for node in drawing.nodes:
                box = boxes[node.name]
                card = ui.link(target=node.page) if node.page else ui.element("div")
                card.classes("node rest")
                card.props["title"] = node.title
                card.style(f"left: {box.left:.2f}%; width: {box.width:.2f}%; top: {box.top:.0f}px")
                with card:
                    ui.label(spelling.shortened(node.title, most)).classes("cut font-medium")
                    label = ui.label(node.kind).classes("cut dim small figure")
                self._labels[node.name] = (card, label, Told(node.kind))
