"""The graph of a project: its relations, and which view reads which.

An edge points from what is read to the view that reads it. The *order* puts every view behind what it reads; views that
depend on themselves, directly or through others, are a *cycle* and come last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

RelationKind = Literal["stream", "table", "view", "inline view"]


@dataclass(frozen=True, order=True)
class Edge:
    """`reader` reads `source`."""

    source: str
    reader: str


@dataclass(frozen=True)
class Graph:
    """Every relation by name with its kind, and every edge, both in a stable order."""

    relations: Mapping[str, RelationKind]
    edges: tuple[Edge, ...]

    def sources(self, name: str) -> tuple[str, ...]:
        """The relations that a view reads directly."""
        return tuple(edge.source for edge in self.edges if edge.reader == name)

    def readers(self, name: str) -> tuple[str, ...]:
        """The views that read a relation directly."""
        return tuple(edge.reader for edge in self.edges if edge.source == name)

    def upstream(self, name: str) -> frozenset[str]:
        """Everything that a view depends on, through other views too."""
        return self._closure(name, self.sources)

    def downstream(self, name: str) -> frozenset[str]:
        """Every view that depends on a relation, through other views too."""
        return self._closure(name, self.readers)

    def _closure(self, name: str, step: Callable[[str], Sequence[str]]) -> frozenset[str]:
        reached: set[str] = set()
        waiting = list(step(name))
        while waiting:
            next_name = waiting.pop()
            if next_name not in reached:
                reached.add(next_name)
                waiting += step(next_name)
        return frozenset(reached)

    def order(self) -> tuple[str, ...]:
        """The views, each behind those that it reads; names decide between equals, and cycles come last."""
        views = sorted(name for name, kind in self.relations.items() if kind in ("view", "inline view"))
        done: list[str] = []
        while ready := [name for name in views if name not in done and self._is_ready(name, done, views)]:
            done += ready
        return (*done, *(name for name in views if name not in done))

    def _is_ready(self, name: str, done: Iterable[str], views: Iterable[str]) -> bool:
        return all(source in done for source in self.sources(name) if source in views)

    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """The shortest cycle through each view that depends on itself, each cycle once, from its first name on."""
        cycles: dict[frozenset[str], tuple[str, ...]] = {}
        for name in sorted(self.relations):
            cycle = self._cycle(name)
            if cycle and not any(members <= set(cycle) for members in cycles):
                cycles[frozenset(cycle)] = cycle
        return tuple(cycles.values())

    def _cycle(self, name: str) -> tuple[str, ...] | None:
        """The shortest way from a view along what it reads back to itself."""
        ways: list[tuple[str, ...]] = [(name,)]
        seen: set[str] = set()
        while ways:
            way = ways.pop(0)
            for source in self.sources(way[-1]):
                if source == name:
                    return (*way, name)
                if source not in seen:
                    seen.add(source)
                    ways.append((*way, source))
        return None
