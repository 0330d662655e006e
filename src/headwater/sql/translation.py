"""Translations: queries that are spelled as another system has them, read as what is written for them here.

A translation changes the tree of a query where it is parsed, and leaves word of it there: `check` says it in a caution,
with the query as it is written today.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from headwater.sql.nodes import WindowFunction

_TRANSLATED = "translated"
"""In the `meta` of a query that was written in another way: what was, in the order of the text."""
_GRACE = "grace"
"""In the `meta` of a query whose windows say how long they take rows after their end: the interval."""
ROWTIME = "rowtime"
"""The name of the event time of an input, where a query leaves open which column that is."""


@dataclass(frozen=True)
class Translation:
    """A part of a query that was written in another way: how it is called, what it is read as, and where it stands."""

    query: exp.Query
    spelling: str
    detail: str
    start: int | None


def note(query: exp.Expr, spelling: str, detail: str, at: exp.Expr | int | None) -> None:
    """Leave word of a translation with the query, or another node that will be part of it."""
    start = at if isinstance(at, int) or at is None else at.meta_get("start")
    query.meta.setdefault(_TRANSLATED, []).append((spelling, detail, start))


def translations(tree: exp.Expr, times: Mapping[str, str] | None = None) -> Iterator[Translation]:
    """The parts of a tree written in another way. `times` are the event times that `rowtime` stands for."""
    for node in tree.walk():
        if isinstance(node, exp.Select) and _TRANSLATED not in node.meta and times:
            yield from _row_times(node, times)
        for spelling, detail, start in node.meta.get(_TRANSLATED, ()):
            query = node if isinstance(node, exp.Select) else node.find_ancestor(exp.Select) or tree
            assert isinstance(query, exp.Query)
            yield Translation(query, spelling, detail, start)


def keep_grace(query: exp.Expr, grace: exp.Expr | None) -> None:
    """Keep how long the windows of a query take rows after their end."""
    if grace is not None:
        query.meta[_GRACE] = grace


def grace_of(tree: exp.Expr) -> exp.Expr | None:
    """The interval for which the windows or the joins of a query take rows after their end, where it says so itself."""
    return next((query.meta[_GRACE] for query in tree.find_all(exp.Select) if _GRACE in query.meta), None)


def with_times(query: exp.Query, times: Mapping[str, str]) -> exp.Query:
    """The query with the event times of what it reads by their names, in place of `rowtime`."""
    named = query.copy()
    read = {table.alias_or_name.lower(): table.name.lower() for table in named.find_all(exp.Table)}
    for node in list(named.find_all(exp.Column, WindowFunction)):
        time = node.args["time"] if isinstance(node, WindowFunction) else node.this
        of = node.this.name if isinstance(node, WindowFunction) else _input_of(node, read)
        if time.name.lower() == ROWTIME and of.lower() in times:
            time.set("this", times[of.lower()])
    return named


def _input_of(column: exp.Expr, read: Mapping[str, str]) -> str:
    """The name of what a column is read from; of the only input, if it doesn't say so."""
    only = next(iter(read.values())) if len(read) == 1 else ""
    return read.get(column.text("table").lower(), "") if column.text("table") else only


def _row_times(query: exp.Select, times: Mapping[str, str]) -> Iterator[Translation]:
    """The first place at which a query leaves open which column is the event time."""
    named = (node for node in query.find_all(exp.Identifier) if node.name.lower() == ROWTIME)
    first = next((node for node in named if node.find_ancestor(exp.Select) is query), None)
    if first is not None and with_times(query, times) != query:
        detail = "It is read as the event time of its input."
        yield Translation(query, "ROWTIME, as ksqlDB has it", detail, first.meta_get("start"))
